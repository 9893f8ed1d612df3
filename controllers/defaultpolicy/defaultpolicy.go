// Package defaultpolicy creates the RolloutPolicy that Fettle ships.
//
// It is no manifest of an installation: kubectl and Helm look up the kinds of all objects before they create the first one, so that the
// first installation would fail. As it is no part of the installation, an uninstallation does not begin with its deletion either,
// which would release the nodes.
package defaultpolicy

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/rollout"
)

// +kubebuilder:rbac:groups=fettle.dev,resources=rolloutpolicies,verbs=create

// interval is the time between two attempts.
const interval = 10 * time.Second

// A Creator creates the policy if no policy has its name. It changes none, and a policy that is deleted stays away until another manager
// becomes the leader.
type Creator struct {
	writer  client.Writer
	clock   clock.WithTicker
	log     logr.Logger
	shipped *v1alpha1.RolloutPolicy
}

// New returns a Creator.
func New(writer client.Writer, clk clock.WithTicker, log logr.Logger) (*Creator, error) {
	shipped, err := rollout.Default()
	if err != nil {
		return nil, err
	}
	return &Creator{writer, clk, log, shipped}, nil
}

// Start tries until there is a policy with the name, or ctx ends. It implements [manager.Runnable], and needs to be the leader.
//
// [manager.Runnable]: https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/manager#Runnable
func (c *Creator) Start(ctx context.Context) error {
	tick := c.clock.NewTicker(interval)
	defer tick.Stop()
	for failure := ""; ; {
		err := c.create(ctx)
		switch {
		case err == nil:
			return nil
		case err.Error() != failure && ctx.Err() == nil:
			c.log.Error(err, "cannot create the default RolloutPolicy")
			failure = err.Error()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
		}
	}
}

func (c *Creator) create(ctx context.Context) error {
	err := c.writer.Create(ctx, c.shipped.DeepCopy())
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err == nil:
		c.log.Info("created the default RolloutPolicy", "policy", c.shipped.Name)
	}
	return err
}
