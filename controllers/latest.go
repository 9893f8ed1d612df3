package controllers

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/fleet/sources"
)

// latest is what others may know of the last compilation, while reconciliations go on.
type latest struct {
	client, live client.Reader
	base         atomic.Pointer[planning.Base]
	managed      atomic.Pointer[Managed]
}

// Managed counts what a fleet has.
type Managed struct{ Resources, Nodes int }

// Managed returns what the fleet had when it was last published. It is safe for concurrent use.
func (r *Reconciler) Managed() Managed {
	if m := r.latest.managed.Load(); m != nil {
		return *m
	}
	return Managed{}
}

// ErrNotCompiled is returned before the first compilation of a manager.
var ErrNotCompiled = errors.New("the manager has just started and has not compiled the fleet yet: try again later")

// PlanBase returns what plans are compared with: the last compilation. It is safe for concurrent use. ctx must last until the base is
// closed. The error is ErrNotCompiled.
func (r *Reconciler) PlanBase(ctx context.Context) (*planning.Base, error) {
	last := r.latest.base.Load()
	if last == nil {
		return nil, ErrNotCompiled
	}
	base := *last
	reader := new(sources.Sources).Reader(ctx, r.latest.client, r.latest.live) // not the reader of compilations, which records what they use
	base.Input.ConfigMap, base.Input.Secret, base.Close = reader.ConfigMap, reader.Secret, reader.Close
	return &base, nil
}

// setBase sets what the next plans are compared with: the newest revision. Nodes that are to have another one cannot answer.
func (l *latest) setBase(d desired) {
	base := *d.base
	base.Waiting = d.assignments.waiting(d.compilation)
	l.base.Store(&base)
}

// planBase returns what plans are compared with, as far as rollouts don't matter.
func planBase(in compiler.Input, result compiler.Result, known revised, types []externalkinds.Type) *planning.Base {
	base := &planning.Base{Input: in, Result: result, Keep: known.base}
	base.Result.Problems = slices.Concat(result.Problems, compiler.KeptProblems(known.kept))
	base.Input.ConfigMap, base.Input.Secret, base.Input.Seal = nil, nil, nil // these belong to the compilation
	for _, t := range types {
		base.Types = append(base.Types, t.ExternalType)
	}
	return base
}
