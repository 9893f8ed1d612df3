package controllers

import (
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

// A node is what a reconciliation knows of a compiled node once everything is published.
type node struct {
	nodestatus.Node
	spec spec // the newest known; zero without a NodeCatalog
}

// A nodeTracker follows what nodes report: what they have yet to apply, and their drift.
type nodeTracker struct {
	heartbeats *heartbeat.Monitor
	progress   nodestatus.ProgressTracker
	records    drift.Records
}

// track records what a decision changes for nodes. last is what was desired before it.
func (t *nodeTracker) track(last desired, d decision) {
	t.progress.Retain(func(node string) bool { return d.Nodes[node] != nil })
	if last.compilation != nil {
		t.trackChanges(last, d.desired)
	}
	// A manager that starts would else take all of a spec that a held node keeps for unapplied.
	for _, u := range d.held {
		if name := u.node.Name; u.has != nil && u.before.digest == u.has.Status.AppliedDigest && t.progress.Start(name, u.before.digest) {
			t.progress.Changed(name, u.want.Digest, u.diff.Changed)
		}
	}
}

// trackChanges records what the next desired spec of each node changes.
func (t *nodeTracker) trackChanges(last, next desired) {
	differ := contents.Differ{Entries: func(name string) []v1alpha1.CatalogEntry {
		for _, c := range []*compilation{next.compilation, last.compilation} {
			if found := c.Catalogs[name]; found != nil {
				return found.Entries
			}
		}
		return nil
	}}
	for name := range next.Nodes {
		if was, is := last.want(name), next.want(name); was != nil && was.Digest != is.Digest {
			t.progress.Changed(name, is.Digest, differ.Diff(was.Spec, is.Spec).Changed)
		}
	}
}

// observe takes in what the compiled nodes report, and returns what is known of each, given what was published.
func (t *nodeTracker) observe(sc *scope, d desired, published *publisher, now time.Time) map[string]node {
	t.records.Retain(func(node string) bool { return sc.nodeCatalogs[node] != nil })
	all := make(map[string]node, len(d.Nodes))
	for name := range d.Nodes {
		want := d.want(name)
		n := node{Node: nodestatus.Node{
			Name: name, Desired: want, Waiting: d.assignments.byNode[name].waiting, Progress: nodestatus.Progress{All: true},
			Silent: t.heartbeats.Silent(name), Held: d.marks[name], Refused: published.refusals.Error(name),
		}}
		if nc := sc.nodeCatalogs[name]; nc != nil {
			n.Reported, n.spec = nc, published.specs.of(nc)
			n.Progress = t.progress.Observe(name, nc.Status.AppliedDigest, n.spec.applied(want.Digest, nc.Status))
			t.records.Observe(name, nc.Status.Drift, now)
		}
		all[name] = n
	}
	return all
}
