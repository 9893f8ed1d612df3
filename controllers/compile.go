package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
	"github.com/fettle-dev/fettle/internal/fleet/acting"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/fleet/sources"
)

// A compilation is the desired state of the fleet.
type compilation struct {
	compiler.Result
	problems    map[v1alpha1.ResourceRef][]compiler.Problem
	generations map[v1alpha1.ResourceRef]int64
	removals    map[v1alpha1.ResourceRef]bool // resources that are being deleted, and compiled as absent
	types       []externalkinds.Type
	revision    int // of Fleet.edits
}

// compile compiles a snapshot, and notes what that changes for nodes.
func (r *Fleet) compile(ctx context.Context, s *snapshot) (err error) {
	ctx, span := r.Traces.Start(ctx, "compile")
	defer func() { span.End(err) }()
	reader := r.sources.Reader(ctx, r.Client, r.Live)
	seals := sources.Sealer{Reader: reader, Existing: func(node string) []v1alpha1.CatalogEntry { return r.entriesOf(node, s) }}
	resources, removals := slices.Collect(maps.Values(s.live)), s.removals()
	r.remote.Store(s.external.HasRemote())
	r.placeAt = time.Time{}
	input := compiler.Input{
		Nodes: s.compilerNodes(r.lostIn(s), r.actsIn(s)), Resources: slices.Concat(resources, removals),
		Kinds: slices.Concat(r.Kinds, s.external.Kinds), External: s.external.External, Refused: s.external.Refused,
		ConfigMap: reader.ConfigMap, Secret: reader.Secret, Seal: seals.Seal,
	}
	result := r.compiler.Compile(input)
	if err := reader.Close(); err != nil {
		return fmt.Errorf("cannot compile: %w", err)
	}
	next := &compilation{
		Result:      result,
		problems:    map[v1alpha1.ResourceRef][]compiler.Problem{},
		generations: make(map[v1alpha1.ResourceRef]int64, len(resources)),
		removals:    map[v1alpha1.ResourceRef]bool{},
		types:       s.external.Types,
		revision:    r.edits.Observe(resources),
	}
	for _, p := range result.Problems {
		next.problems[p.Ref] = append(next.problems[p.Ref], p)
	}
	for _, o := range removals {
		next.removals[v1alpha1.RefOf(o)] = true
	}
	for ref, o := range s.live {
		next.generations[ref] = o.GetGeneration()
	}
	r.noteChanges(next)
	r.compiled = next
	r.notePlanBase(input, result, s)
	span.Count("nodes", len(next.Nodes))
	span.Count("resources", len(next.generations))
	span.Count("problems", len(next.Problems))
	return nil
}

// entriesOf returns a node's own entries as they were compiled last, which may not be written
// yet, and as the cluster has them.
func (r *Fleet) entriesOf(node string, s *snapshot) (entries []v1alpha1.CatalogEntry) {
	if r.compiled != nil && r.compiled.Nodes[node] != nil {
		entries = r.compiled.Nodes[node].Spec.Entries
	}
	if nc := s.nodeCatalogs[node]; nc != nil {
		entries = slices.Concat(entries, nc.Spec.Entries)
	}
	return entries
}

// actsIn returns a function that returns what a node can do for resources of Remote types. It notes when that changes because
// time passes.
func (r *Fleet) actsIn(s *snapshot) func(*v1alpha1.NodeCatalog) placement.Node {
	if !s.external.HasRemote() {
		return func(*v1alpha1.NodeCatalog) placement.Node { return placement.Node{} }
	}
	now := r.Clock.Now()
	silences := r.Heartbeats.Silences(now)
	return func(nc *v1alpha1.NodeCatalog) placement.Node {
		spec := r.specs.of(nc)
		var silence *heartbeat.Silence
		if is, silent := silences[nc.Name]; silent {
			silence = &is
		}
		is, next := acting.Node{
			Spec: spec.NodeCatalogSpec, Generation: spec.generation, Applied: spec.applied(spec.digest, nc.Status), Reported: nc,
			Silence: silence, Nodes: len(s.nodeCatalogs), MaxPercent: r.maxPercent(),
		}.Placement(s.external.Remote)
		if at := now.Add(next); next > 0 && (r.placeAt.IsZero() || at.Before(r.placeAt)) {
			r.placeAt = at
		}
		return is
	}
}

// lostIn returns a function that returns the resources of a node that cannot be read, sorted.
func (r *Fleet) lostIn(s *snapshot) func(*v1alpha1.NodeCatalog) []v1alpha1.ResourceRef {
	entries := r.entriesIn(s)
	shared := map[string][]v1alpha1.ResourceRef{} // by name of the Catalog
	lost := func(all []v1alpha1.CatalogEntry) (refs []v1alpha1.ResourceRef) {
		for _, e := range all {
			if ref := e.Ref(); s.external.Lost(ref) {
				refs = append(refs, ref)
			}
		}
		return refs
	}
	return func(nc *v1alpha1.NodeCatalog) []v1alpha1.ResourceRef {
		spec := r.specs.of(nc)
		refs := lost(spec.Entries)
		for _, c := range spec.Catalogs {
			if _, known := shared[c.Name]; !known {
				shared[c.Name] = lost(entries(c.Name))
			}
			refs = append(refs, shared[c.Name]...)
		}
		for _, w := range spec.Withheld {
			if s.external.Lost(w.Ref) {
				refs = append(refs, w.Ref)
			}
		}
		slices.Sort(refs)
		return slices.Compact(refs)
	}
}

// noteChanges tells the progress of nodes what their next desired spec changes.
func (r *Fleet) noteChanges(next *compilation) {
	r.progress.Retain(func(node string) bool { return next.Nodes[node] != nil })
	if r.compiled == nil {
		return
	}
	differ := contents.Differ{Entries: func(name string) []v1alpha1.CatalogEntry {
		for _, c := range []*compilation{next, r.compiled} {
			if found := c.Catalogs[name]; found != nil {
				return found.Entries
			}
		}
		return nil
	}}
	for node, is := range next.Nodes {
		if was := r.compiled.Nodes[node]; was != nil && was.Digest != is.Digest {
			r.progress.Changed(node, is.Digest, differ.Diff(was.Spec, is.Spec).Changed)
		}
	}
}

// vanished reports whether a resource or an ExternalType is missing that was there in the last compilation.
func (r *Fleet) vanished(s *snapshot) bool {
	for ref := range r.compiled.generations {
		if s.live[ref] == nil {
			return true
		}
	}
	return slices.ContainsFunc(r.compiled.types, func(t externalkinds.Type) bool {
		return !slices.ContainsFunc(s.external.Types, func(o externalkinds.Type) bool { return o.Name == t.Name })
	})
}

// ErrNotCompiled is returned before the first compilation of a manager.
var ErrNotCompiled = errors.New("the manager has just started and has not compiled the fleet yet: try again later")

// PlanBase returns what plans are compared with: the last compilation. It is safe for concurrent use. ctx must last until the base is
// closed. The error is ErrNotCompiled.
func (r *Fleet) PlanBase(ctx context.Context) (*planning.Base, error) {
	last := r.planBase.Load()
	if last == nil {
		return nil, ErrNotCompiled
	}
	base := *last
	reader := new(sources.Sources).Reader(ctx, r.Client, r.Live) // apart from that of compilations, which says what they use
	base.Input.ConfigMap, base.Input.Secret, base.Close = reader.ConfigMap, reader.Secret, reader.Close
	return &base, nil
}

// notePlanBase notes what the next plans are compared with.
func (r *Fleet) notePlanBase(in compiler.Input, result compiler.Result, s *snapshot) {
	base := &planning.Base{Input: in, Result: result}
	base.Input.ConfigMap, base.Input.Secret, base.Input.Seal = nil, nil, nil // these belong to the compilation
	for _, t := range s.external.Types {
		base.Types = append(base.Types, t.ExternalType)
	}
	r.planBase.Store(base)
}
