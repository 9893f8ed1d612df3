package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
	"github.com/fettle-dev/fettle/internal/fleet/acting"
	"github.com/fettle-dev/fettle/internal/fleet/deselection"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/fleet/sources"
	"github.com/fettle-dev/fettle/internal/fleet/traces"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A compilation is the desired state of the fleet. It is immutable.
type compilation struct {
	compiler.Result // of the newest revision
	revised
	problems    map[v1alpha1.ResourceRef][]compiler.Problem
	generations map[v1alpha1.ResourceRef]int64
	removals    map[v1alpha1.ResourceRef]bool // resources that are being deleted, and compiled as absent
	policies    []string                      // names of the RolloutPolicies
	types       []externalkinds.Type
	edits       deselection.Edits
	reassignAt  time.Time      // when a silent node has stopped acting for resources of Remote types; zero for never
	base        *planning.Base // what plans are compared with
}

// vanished reports whether a resource, a RolloutPolicy or an ExternalType is missing that was there in this compilation, which a manager that has not
// compiled yet cannot tell.
func (c *compilation) vanished(s *snapshot) bool {
	if c == nil {
		return true
	}
	for ref := range c.generations {
		if s.live[ref] == nil {
			return true
		}
	}
	for _, name := range c.policies {
		if !slices.ContainsFunc(s.policies, func(p *v1alpha1.RolloutPolicy) bool { return p.Name == name }) {
			return true
		}
	}
	return slices.ContainsFunc(c.types, func(t externalkinds.Type) bool {
		return !slices.ContainsFunc(s.external.Types, func(o externalkinds.Type) bool { return o.Name == t.Name })
	})
}

// A catalogCompiler compiles the fleet. It keeps what makes the next compilation cheap: the versions of ConfigMaps and Secrets that it
// has read, and the results of expressions.
type catalogCompiler struct {
	client, live client.Reader
	clock        clock.PassiveClock
	metrics      *Metrics
	traces       *traces.Recorder
	kinds        []resource.Kind
	heartbeats   *heartbeat.Monitor
	maxPercent   int // of the nodes that may fall silent at once before others stop taking over from them

	sources   *sources.Sources
	compiler  *compiler.Compiler
	revisions *revisionStore
}

// compile compiles what a reconciliation has gathered, given the newest known specs of all NodeCatalogs. last is the compilation before,
// nil if there is none.
func (c *catalogCompiler) compile(ctx context.Context, sc *scope, specs map[string]spec, last *compilation) (next *compilation, err error) {
	ctx, span := c.traces.Start(ctx, "compile")
	defer func() { span.End(err) }()
	begin := c.clock.Now()
	placements, reassignAt := placementsOf(sc, specs, c.heartbeats.Silences(begin), c.maxPercent, begin)
	reader := c.sources.Reader(ctx, c.client, c.live)
	seals := sources.Sealer{Reader: reader, Existing: func(node string) []v1alpha1.CatalogEntry { return ownEntries(sc.snapshot, last, node) }}
	live, removals := slices.Collect(maps.Values(sc.live)), sc.removals()
	input := compiler.Input{
		Nodes: compilerNodes(sc, placements, retainedBy(sc, specs, last)), Resources: slices.Concat(live, removals),
		Kinds: slices.Concat(c.kinds, sc.external.Kinds), External: sc.external.External, Refused: sc.external.Refused,
		ConfigMap: reader.ConfigMap, Secret: reader.Secret, Seal: seals.Seal,
	}
	result, revised, err := c.revise(ctx, sc, specs, input)
	if closed := reader.Close(); err != nil || closed != nil {
		return nil, fmt.Errorf("cannot compile: %w", errors.Join(err, closed))
	}
	next = &compilation{
		Result: result, revised: revised, problems: map[v1alpha1.ResourceRef][]compiler.Problem{},
		generations: make(map[v1alpha1.ResourceRef]int64, len(live)), removals: map[v1alpha1.ResourceRef]bool{},
		types: sc.external.Types, edits: last.editsAfter(live), reassignAt: reassignAt, base: planBase(input, result, revised, sc.external.Types),
	}
	for _, p := range sc.policies {
		next.policies = append(next.policies, p.Name)
	}
	for _, p := range result.Problems {
		next.problems[p.Ref] = append(next.problems[p.Ref], p)
	}
	for _, o := range removals {
		next.removals[v1alpha1.RefOf(o)] = true
	}
	for ref, o := range sc.live {
		next.generations[ref] = o.GetGeneration()
	}
	span.Count("nodes", len(next.Nodes))
	span.Count("resources", len(next.generations))
	span.Count("problems", len(next.Problems))
	c.metrics.compile.Observe(c.clock.Since(begin).Seconds())
	return next, nil
}

// revise compiles the newest revision and, with RolloutPolicies, what older ones give to nodes that have them or may get them.
func (c *catalogCompiler) revise(ctx context.Context, sc *scope, specs map[string]spec, in compiler.Input) (compiler.Result, revised, error) {
	if sc.policySet.Empty() {
		c.revisions.known = nil
		return c.compiler.Compile(in), revised{}, nil
	}
	nodes, draft := c.compiler.Nodes(in.Nodes), c.compiler.Draft(in)
	known := revised{assigned: map[string]map[string]*compiler.NodeResult{}, gone: map[string]bool{}, changed: map[[2]string]map[v1alpha1.ResourceRef]bool{}}
	if base := sc.policySet.Completed(); base != "" {
		restored, err := c.revisions.restore(ctx, c.compiler, in, sc, []string{base})
		if err != nil {
			return compiler.Result{}, revised{}, err
		}
		if restored[base] != nil {
			known.base = restored[base]
			draft, known.kept = nodes.KeepFrom(draft, known.base, in.Seal)
		}
	}
	known.newest = draft.Store()
	needed := neededRevisions(sc, specs, known.newest.Name)
	older, err := c.revisions.restore(ctx, c.compiler, in, sc, slices.Sorted(maps.Keys(needed)))
	if err != nil {
		return compiler.Result{}, revised{}, err
	}
	if sc.external.HasRemote() {
		nodes.Place(append([]*compiler.Revision{draft}, slices.Collect(maps.Values(older))...)...)
	}
	result := nodes.Assign(draft, nil, in.Seal)
	for name, names := range needed {
		if !sc.hasRevision(name) {
			known.gone[name] = true
		}
		var assigned compiler.Result // nothing of one that is gone
		if r := older[name]; r != nil {
			assigned = nodes.Assign(r, names, in.Seal)
		}
		known.assigned[name] = assigned.Nodes
		maps.Copy(result.Catalogs, assigned.Catalogs)
	}
	known.stored = older
	known.stored[known.newest.Name] = draft
	c.revisions.known = known.stored
	return result, known, nil
}

// editsAfter returns the edits up to these resources.
func (c *compilation) editsAfter(live []v1alpha1.Resource) deselection.Edits {
	if c == nil {
		return deselection.Edits{}.Observe(live)
	}
	return c.edits.Observe(live)
}

// compilerNodes returns the nodes with the facts and keys that their agents reported, with what they mean for resources of Remote types,
// and with the resources that they retain.
func compilerNodes(sc *scope, placements map[string]placement.Candidate, retained map[string][]v1alpha1.ResourceRef) []compiler.Node {
	all := make([]compiler.Node, 0, len(sc.nodes))
	for name, o := range sc.nodes {
		n := compiler.Node{Name: name, Labels: o.Labels, Annotations: o.Annotations, Placement: placements[name], Retained: retained[name]}
		if nc := sc.nodeCatalogs[name]; nc != nil {
			n.PublicKey = nc.Status.PublicKey
			if raw := nc.Status.Facts; raw != nil && len(raw.Raw) > 0 {
				n.Facts, n.FactsKey = func() resource.Facts { return decodeFacts(raw.Raw) }, string(raw.Raw)
			}
		}
		all = append(all, n)
	}
	return all
}

// decodeFacts returns nil if a node reported something else than an object, as if it had not
// reported any.
func decodeFacts(raw []byte) (facts resource.Facts) {
	if json.Unmarshal(raw, &facts) != nil {
		return nil
	}
	return facts
}

// ownEntries returns a node's own entries as they were compiled last, which may not be written
// yet, and as the cluster has them.
func ownEntries(s *snapshot, last *compilation, node string) (entries []v1alpha1.CatalogEntry) {
	if last != nil && last.Nodes[node] != nil {
		entries = last.Nodes[node].Spec.Entries
	}
	if nc := s.nodeCatalogs[node]; nc != nil {
		entries = slices.Concat(entries, nc.Spec.Entries)
	}
	return entries
}

// placementsOf returns what nodes mean for resources of Remote types, and when that changes because time passes; zero for never.
func placementsOf(sc *scope, specs map[string]spec, silences map[string]heartbeat.Silence, maxPercent int, now time.Time) (all map[string]placement.Candidate, next time.Time) {
	if !sc.external.HasRemote() {
		return nil, time.Time{}
	}
	all = make(map[string]placement.Candidate, len(sc.nodeCatalogs))
	for name, nc := range sc.nodeCatalogs {
		spec := specs[name]
		n := acting.Observation{
			Spec: spec.NodeCatalogSpec, Generation: spec.generation, Applied: spec.applied(spec.digest, nc.Status), Reported: nc,
			Nodes: len(sc.nodeCatalogs), MaxPercent: maxPercent,
		}
		if silence, silent := silences[name]; silent {
			n.Silence = &silence
		}
		is, changes := n.Placement(sc.external.Remote)
		if at := now.Add(changes); changes > 0 && (next.IsZero() || at.Before(next)) {
			next = at
		}
		all[name] = is
	}
	return all, next
}

// retainedBy returns the resources, by node and sorted, that a node has and that cannot be read.
func retainedBy(sc *scope, specs map[string]spec, last *compilation) map[string][]v1alpha1.ResourceRef {
	entries := sc.entries(last)
	lost := func(all []v1alpha1.CatalogEntry) (refs []v1alpha1.ResourceRef) {
		for _, e := range all {
			if ref := e.Ref(); sc.external.Lost(ref) {
				refs = append(refs, ref)
			}
		}
		return refs
	}
	shared := map[string][]v1alpha1.ResourceRef{} // by name of the Catalog
	retained := map[string][]v1alpha1.ResourceRef{}
	for node := range sc.nodeCatalogs {
		spec := specs[node]
		refs := lost(spec.Entries)
		for _, c := range spec.Catalogs {
			if _, known := shared[c.Name]; !known {
				shared[c.Name] = lost(entries(c.Name))
			}
			refs = append(refs, shared[c.Name]...)
		}
		for _, w := range spec.Withheld {
			if sc.external.Lost(w.Ref) {
				refs = append(refs, w.Ref)
			}
		}
		slices.Sort(refs)
		retained[node] = slices.Compact(refs)
	}
	return retained
}
