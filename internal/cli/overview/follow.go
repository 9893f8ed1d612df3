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
	of := watched{path: fleetsPath, name: v1alpha1.FleetName, version: fleet.ResourceVersion, what: "Fleet"}
	return follow(ctx, c, of, func(event watch.EventType, fleet v1alpha1.Fleet) (done bool) {
		if event == watch.Added || event == watch.Modified {
			use(fleet.Status)
		}
		return false
	})
}

// A watched object is one that is followed from a version on.
type watched struct{ path, name, version, what string }

// follow calls a function with each event of an object, until it returns true, the API server ends the watch, or ctx ends.
func follow[T any](ctx context.Context, c *Client, of watched, use func(watch.EventType, T) (done bool)) error {
	stream, err := c.rest.Get().AbsPath(of.path).Param("watch", "1").Param("fieldSelector", "metadata.name="+of.name).
		Param("resourceVersion", of.version).SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return fmt.Errorf("cannot watch the %s: %w", of.what, err)
	}
	defer func() { _ = stream.Close() }()
	for events := json.NewDecoder(stream); ; {
		var e struct {
			Type   watch.EventType
			Object json.RawMessage
		}
		switch err := events.Decode(&e); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("cannot watch the %s: %w", of.what, err)
		case e.Type == watch.Error: // the version is too old, for example
			return nil
		}
		var object T
		if err := json.Unmarshal(e.Object, &object); err != nil {
			return fmt.Errorf("cannot watch the %s: %w", of.what, err)
		}
		if use(e.Type, object) {
			return nil
		}
	}
}
