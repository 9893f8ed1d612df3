package glance

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
)

// A state is what the cluster knows of the fleet.
type state struct {
	overview.Status
	counts map[string]v1alpha1.NodeCounts // in the statuses of resources, by kind and name
	drift  map[string]int                 // how often resources drifted, by kind and name
	nodes  map[string]bool                // that should have drifted
	noop   map[string]bool                // nodes that should only report something
}

// diff is how a state differs from another one; "" if it does not.
func (s state) diff(want state) string {
	return cmp.Diff(want.Status, s.Status) + cmp.Diff(want.counts, s.counts) + cmp.Diff(want.drift, s.drift)
}

// state reads the state. The error is that a resource has changed and its status has not yet.
func (f *Fleet) state(ctx context.Context) (state, error) {
	s := state{counts: map[string]v1alpha1.NodeCounts{}, drift: map[string]int{}}
	for _, r := range f.resources {
		if err := f.admin.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
			return s, err
		}
		status := r.GetStatus()
		if status.ObservedGeneration != r.GetGeneration() || status.Nodes == nil {
			return s, fmt.Errorf("the status of %s is out of date", v1alpha1.RefOf(r))
		}
		s.counts[string(v1alpha1.RefOf(r))] = *status.Nodes
	}
	nodes, err := f.overviews.NodeCatalogs(ctx)
	if err != nil {
		return s, err
	}
	s.Status = overview.StatusOf(nodes, time.Now())
	s.Problems, s.Others = nil, nil // their times differ, and the counts have their number
	for _, d := range overview.Drifts(nodes, overview.Query{By: overview.ByResource}) {
		s.drift[d.Resource] = int(d.Count)
	}
	return s, nil
}

// applied is the state after every node has applied its resources.
func (f *Fleet) applied() state {
	all := f.Nodes()
	s := state{counts: map[string]v1alpha1.NodeCounts{}, drift: map[string]int{}, nodes: map[string]bool{}, noop: map[string]bool{}}
	nodes := int32(all) //nolint:gosec // there are fewer
	s.Nodes = v1alpha1.FleetNodes{Total: nodes, InSync: nodes - 1, Failed: 1}
	total := int64(perNodeResources*all + perMachineResources*machines)
	s.Resources = overview.ResourceCounts{Total: total, Counts: nodestate.Counts{InSync: total - 1, Failed: 1}}
	everyNode := v1alpha1.NodeCounts{Selected: nodes, InSync: nodes}
	for _, ref := range []string{"File/motd", "File/issue"} {
		s.counts[ref] = everyNode
	}
	everyNode.InSync, everyNode.Failed, everyNode.OutOfSync = everyNode.InSync-1, 1, 1
	s.counts["File/ntp"] = everyNode
	for _, ref := range []string{"File/site", "Package/site-tools", "SystemService/site", "User/deploy"} {
		s.counts[ref] = v1alpha1.NodeCounts{Selected: machines, InSync: machines}
	}
	return s
}

// corrected adds drift of a resource on some nodes, once on each, that was corrected.
func (s *state) corrected(ref string, nodes ...string) {
	if s.drift[ref] == 0 {
		s.Drift.Resources++
	}
	s.drift[ref] += len(nodes)
	for _, n := range nodes {
		s.nodes[n] = true
	}
	s.Drift.Nodes = len(s.nodes)
}

// reported adds drift that was not.
func (s *state) reported(ref string, nodes ...string) {
	s.corrected(ref, nodes...)
	s.Drift.Uncorrected += len(nodes)
	s.Resources.InSync -= int64(len(nodes))
	s.Resources.Noop += int64(len(nodes))
	for _, n := range nodes {
		if !s.noop[n] {
			s.noop[n] = true
			s.Nodes.InSync--
			s.Nodes.OutOfSync++
		}
	}
	counts := s.counts[ref]
	counts.InSync -= int32(len(nodes))    //nolint:gosec // a few
	counts.Noop += int32(len(nodes))      //nolint:gosec // a few
	counts.OutOfSync += int32(len(nodes)) //nolint:gosec // a few
	s.counts[ref] = counts
}
