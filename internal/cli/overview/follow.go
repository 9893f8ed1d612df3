package overview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

const fleetsPath = "/apis/fettle.dev/v1alpha1/fleets"

// Fleet returns the state of the fleet that the manager wrote last.
func (c *Client) Fleet(ctx context.Context) (fleet v1alpha1.Fleet, err error) {
	if err := c.get(ctx, fleetsPath+"/"+v1alpha1.FleetName, "application/json", &fleet); err != nil {
		return fleet, fmt.Errorf("cannot get the Fleet, which the manager creates: %w", err)
	}
	return fleet, nil
}

// Follow calls a function with the state of the fleet, and again whenever the manager writes it. It returns when the API server ends
// the watch, which it does after some minutes, and then nil, or when ctx ends.
func (c *Client) Follow(ctx context.Context, use func(v1alpha1.FleetStatus)) error {
	fleet, err := c.Fleet(ctx)
	if err != nil {
		return err
	}
	use(fleet.Status)
	stream, err := c.rest.Get().AbsPath(fleetsPath).Param("watch", "1").Param("fieldSelector", "metadata.name="+v1alpha1.FleetName).
		Param("resourceVersion", fleet.ResourceVersion).SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return fmt.Errorf("cannot watch the Fleet: %w", err)
	}
	defer func() { _ = stream.Close() }()
	for events := json.NewDecoder(stream); ; {
		var e struct {
			Type   watch.EventType
			Object v1alpha1.Fleet
		}
		switch err := events.Decode(&e); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("cannot watch the Fleet: %w", err)
		case e.Type == watch.Added, e.Type == watch.Modified:
			use(e.Object.Status)
		case e.Type == watch.Error: // the version is too old, for example
			return nil
		}
	}
}
