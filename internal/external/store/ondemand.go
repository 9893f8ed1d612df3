package store

import (
	"context"
	"errors"
	"sync"

	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/host"
)

// OnDemand is a store for a program that runs once: each missing image is tried to be pulled once. Safe for concurrent use.
type OnDemand struct {
	*Store
	from Registry

	mu    sync.Mutex
	tried map[string]error // by image
}

// NewOnDemand returns a store that pulls from a registry.
func NewOnDemand(s *Store, from Registry) *OnDemand {
	return &OnDemand{Store: s, from: from, tried: map[string]error{}}
}

// Prepare pulls the images of types. Dir returns the error of one that cannot be pulled.
func (s *OnDemand) Prepare(ctx context.Context, types ...*definition.Definition) {
	var group sync.WaitGroup
	for _, d := range types {
		group.Go(func() { _, _ = s.Dir(ctx, nil, d) })
	}
	group.Wait()
}

// Dir is [Store.Dir], after pulling a missing image.
func (s *OnDemand) Dir(ctx context.Context, h host.Reader, d *definition.Definition) (string, error) {
	dir, err := s.Store.Dir(ctx, h, d)
	if _, missing := errors.AsType[*MissingError](err); !missing {
		return dir, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	failure, tried := s.tried[d.Spec.Source.Image]
	if !tried {
		failure = s.Pull(ctx, s.from, d)
		s.tried[d.Spec.Source.Image] = failure
	}
	if failure != nil {
		return "", failure
	}
	return s.Store.Dir(ctx, h, d)
}
