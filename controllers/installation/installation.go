// Package installation watches the parts of an installation that a manager depends on: the
// CustomResourceDefinitions, and its own ServiceAccount and permissions.
//
// A manager without its definitions is not ready. A manager whose ServiceAccount or permissions are
// being deleted is being uninstalled: it removes the finalizers that only it would remove, so that
// the deletion of the definitions can complete, and leaves the nodes as they are.
package installation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// checkPeriod is the time between two checks of a running manager, each of four small requests. The
// ServiceAccount is checked every accountPeriod, because its token expires a minute after its
// deletion, and so is everything while the manager is not ready. checkTimeout limits each check.
const checkPeriod, accountPeriod, checkTimeout = time.Minute, 10 * time.Second, 5 * time.Second

// ErrUninstalling is returned while the manager's ServiceAccount or permissions are being deleted.
var ErrUninstalling = errors.New("the manager is being uninstalled")

// errStarting is the state before the first check.
var errStarting = errors.New("starting")

// An Installation is what a manager depends on, as that manager sees it. It is safe for concurrent
// use.
type Installation struct {
	client client.Client // without a cache
	rest   *rest.RESTClient
	http   *http.Client
	clock  clock.WithTicker
	log    logr.Logger
	// recheck has Start check at once.
	recheck chan struct{}

	mu        sync.Mutex
	state     error  // nil if the last check found no problem
	parts     []part // nil before the manager knows its own name
	protected *bool  // nil if that is not known
}

// New returns the installation that a manager with this configuration belongs to. It sends no
// requests.
func New(cfg *rest.Config, scheme *runtime.Scheme, clk clock.WithTicker, log logr.Logger) (*Installation, error) {
	transport, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot set up a connection: %w", err)
	}
	own := rest.CopyConfig(cfg)
	own.GroupVersion, own.APIPath = &v1alpha1.GroupVersion, "/apis"
	own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	raw, err := rest.RESTClientForConfigAndClient(own, transport)
	if err != nil {
		return nil, fmt.Errorf("cannot set up a client for %s: %w", v1alpha1.GroupVersion, err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme, HTTPClient: transport})
	if err != nil {
		return nil, fmt.Errorf("cannot set up a client: %w", err)
	}
	return &Installation{client: c, rest: raw, http: transport, clock: clk, log: log, recheck: make(chan struct{}, 1), state: errStarting}, nil
}

// Ready returns nil, or the reason why the manager cannot work.
func (i *Installation) Ready() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.state
}

// Wait returns nil as soon as the API server answers and serves every definition. It retries with a
// backoff, and logs each attempt. It returns ErrUninstalling, or the error of ctx.
func (i *Installation) Wait(ctx context.Context) error {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 5, Cap: 20 * time.Second}
	for {
		err := i.check(ctx)
		switch {
		case err == nil, errors.Is(err, ErrUninstalling):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		pause := backoff.Step()
		i.log.Info("waiting", "for", err.Error(), "retryAfter", pause.Round(time.Millisecond).String())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-i.clock.After(pause):
		}
	}
}

// Start checks the installation every minute, and its ServiceAccount every ten seconds, until ctx
// ends, or returns ErrUninstalling. It implements [manager.Runnable].
//
// [manager.Runnable]: https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/manager#Runnable
func (i *Installation) Start(ctx context.Context) error {
	tick := i.clock.NewTicker(accountPeriod)
	defer tick.Stop()
	checked := i.clock.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
			if i.clock.Since(checked) < checkPeriod && i.Ready() == nil && i.checkAccount(ctx) == nil {
				continue
			}
		case <-i.recheck:
		}
		checked = i.clock.Now()
		before := i.Ready()
		err := i.check(ctx)
		if errors.Is(err, ErrUninstalling) {
			return err
		}
		if ctx.Err() == nil {
			i.logChange(before, err)
		}
	}
}

// logChange logs that the manager is no longer ready, for another reason, or is again.
func (i *Installation) logChange(before, now error) {
	switch {
	case now != nil && (before == nil || before.Error() != now.Error()):
		i.log.Info("not ready", "reason", now.Error())
	case now == nil && before != nil:
		i.log.Info("ready again")
	}
}

// NeedLeaderElection returns false, because a standby checks the installation, too. It implements
// [manager.LeaderElectionRunnable].
//
// [manager.LeaderElectionRunnable]: https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/manager#LeaderElectionRunnable
func (*Installation) NeedLeaderElection() bool { return false }

// check updates the state and returns it.
func (i *Installation) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := i.findParts(ctx)
	if err == nil {
		err = i.checkParts(ctx)
	}
	if err == nil {
		err = i.checkDefinitions(ctx)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.state = err
	return err
}

// findParts asks the API server, once, who the manager is.
func (i *Installation) findParts(ctx context.Context) error {
	i.mu.Lock()
	known := i.parts != nil
	i.mu.Unlock()
	if known {
		return nil
	}
	self := &authenticationv1.SelfSubjectReview{}
	if err := i.client.Create(ctx, self); err != nil {
		return fmt.Errorf("cannot reach the API server: %w", err)
	}
	parts, err := partsOf(self.Status.UserInfo.Username)
	if err != nil {
		i.log.Info("the manager cannot protect its permissions: an uninstallation may have to remove finalizers by hand", "reason", err.Error())
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.parts = parts
	return nil
}
