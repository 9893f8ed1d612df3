package nodestatus_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/providers"
)

// A report is a random report of a node.
type report struct {
	nc     *v1alpha1.NodeCatalog
	all    bool
	some   map[v1alpha1.ResourceRef]bool
	silent bool
}

func randomReport(r *rand.Rand, refs []v1alpha1.ResourceRef) report {
	if r.IntN(6) == 0 {
		return report{all: true}
	}
	out := report{nc: &v1alpha1.NodeCatalog{}, all: r.IntN(6) == 0, silent: r.IntN(6) == 0, some: map[v1alpha1.ResourceRef]bool{}}
	out.nc.Status.AgentVersion = "test"
	out.nc.Status.Omitted = int32(r.IntN(2) * r.IntN(2))
	states := []v1alpha1.ResourceState{"Failed", "Noop", "Changed", "Skipped", "Unheard"}
	for _, ref := range append(refs, "File/of-nobody") {
		if r.IntN(5) == 0 {
			out.nc.Status.Resources = append(out.nc.Status.Resources, v1alpha1.ResourceReport{Ref: v1alpha1.ReportedRef(ref), State: states[r.IntN(len(states))], Message: "why"})
		}
		if r.IntN(5) == 0 {
			out.some[ref] = true
		}
	}
	return out
}

// naively returns the state of a resource on the node without an index.
func (p report) naively(ref v1alpha1.ResourceRef, result *compiler.NodeResult) v1alpha1.ResourceState {
	if slices.ContainsFunc(result.Spec.Withheld, func(w v1alpha1.Withheld) bool { return w.Ref == ref }) {
		return v1alpha1.StateWithheld
	}
	if p.silent {
		return v1alpha1.StateUnknown
	}
	if p.all || p.some[ref] {
		return v1alpha1.StatePending
	}
	for _, r := range p.nc.Status.Resources {
		if r.Ref == v1alpha1.ReportedRef(ref) {
			return r.State
		}
	}
	if p.nc.Status.Omitted > 0 {
		return v1alpha1.StatePending
	}
	return v1alpha1.StateInSync
}

// unapplied reports whether a silent node had not applied a resource when it was last heard.
func (p report) unapplied(ref v1alpha1.ResourceRef) bool {
	if p.all || p.some[ref] {
		return true
	}
	for _, r := range p.nc.Status.Resources {
		if r.Ref == v1alpha1.ReportedRef(ref) {
			return r.State != v1alpha1.StateChanged && r.State != v1alpha1.StateNoop
		}
	}
	return p.nc.Status.Omitted > 0
}

// counted adds a state to counts.
func counted(c *v1alpha1.NodeCounts, s v1alpha1.ResourceState) {
	c.Selected++
	switch s {
	case v1alpha1.StateInSync, v1alpha1.StateChanged:
		c.InSync++
	case v1alpha1.StateFailed:
		c.Failed++
	case v1alpha1.StateSkipped, v1alpha1.StateWithheld:
		c.Skipped++
	case v1alpha1.StateNoop:
		c.Noop++
	case v1alpha1.StatePending:
		c.Pending++
	case v1alpha1.StateUnknown:
		c.Unknown++
	default:
		c.OutOfSync++
	}
}

func TestSummaryEqualsTheStatesOfEachNode(t *testing.T) {
	t.Parallel()

	r := rand.New(rand.NewPCG(1, 1))
	var resources []v1alpha1.Resource
	var refs []v1alpha1.ResourceRef
	for i := range 8 {
		f := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("f%d", i)}}
		f.Spec.NodeSelector, f.Spec.Path, f.Spec.Content = &metav1.LabelSelector{}, fmt.Sprintf("/f%d", i%7), new("x") // two claim one path
		if i > 4 {
			f.Spec.NodeSelector.MatchLabels = map[string]string{"role": "web"}
		}
		resources, refs = append(resources, f), append(refs, v1alpha1.ResourceRef("File/"+f.Name))
	}
	in := compiler.Input{Kinds: providers.Kinds(), Resources: resources}
	for i := range 30 {
		in.Nodes = append(in.Nodes, compiler.Node{Name: fmt.Sprintf("n%02d", i), Labels: map[string]string{"role": []string{"web", "db"}[i%2]}})
	}
	var compiler compiler.Compiler
	said := map[string]report{}
	for step := range 300 {
		in.Nodes[r.IntN(len(in.Nodes))].Labels = map[string]string{"role": []string{"web", "db"}[r.IntN(2)]}
		now := in
		now.Nodes = in.Nodes[r.IntN(3):]
		result := compiler.Compile(now)
		var index nodestatus.Index
		for name, n := range result.Nodes {
			if _, ok := said[name]; !ok || r.IntN(4) == 0 {
				said[name] = randomReport(r, refs)
				if said[name].nc != nil {
					said[name].nc.ObjectMeta = metav1.ObjectMeta{Name: name, ResourceVersion: fmt.Sprint(step)}
				}
			}
			is := said[name]
			progress := nodestatus.Progress{All: is.all}
			if len(is.some) > 0 {
				progress.Some = [][]v1alpha1.ResourceRef{slices.Sorted(maps.Keys(is.some))}
			}
			index.Add(nodestatus.Node{Name: name, Desired: n, Reported: is.nc, Silent: is.silent, Progress: progress})
		}
		for _, ref := range refs {
			var want v1alpha1.NodeCounts
			var wantUnapplied int32
			for _, name := range result.Selected[ref] {
				is := said[name].naively(ref, result.Nodes[name])
				counted(&want, is)
				if is == v1alpha1.StateUnknown && said[name].unapplied(ref) {
					wantUnapplied++
				}
			}
			got := index.Summarize(ref, result.Selected[ref])
			if diff := cmp.Diff(want, got.Counts); diff != "" || got.Unapplied != wantUnapplied {
				t.Fatalf("step %d, %s: %d nodes are unapplied, want %d; counts (-want +got):\n%s", step, ref, got.Unapplied, wantUnapplied, diff)
			}
			checkSamples(t, got.Samples, want, func(node string) v1alpha1.ResourceState { return said[node].naively(ref, result.Nodes[node]) })
		}
	}
}

// checkSamples checks that there are as many samples as fit, each of another node in its state,
// and the most urgent first.
func checkSamples(t *testing.T, samples []v1alpha1.NodeSample, counts v1alpha1.NodeCounts, state func(string) v1alpha1.ResourceState) {
	t.Helper()
	if want := min(10, int(counts.Selected-counts.InSync)); len(samples) != want {
		t.Errorf("got %d samples, want %d", len(samples), want)
	}
	order := []v1alpha1.ResourceState{"Failed", "Withheld", "Skipped", "Unknown", "Unheard", "Noop", "Pending"}
	seen := map[string]bool{}
	for i, s := range samples {
		if s.State != state(s.Node) || seen[s.Node] {
			t.Errorf("%+v: the node is %s; it was there already: %t", s, state(s.Node), seen[s.Node])
		}
		seen[s.Node] = true
		if i > 0 {
			a, b := samples[i-1], s
			if x, y := slices.Index(order, a.State), slices.Index(order, b.State); x > y || x == y && strings.Compare(a.Node, b.Node) > 0 {
				t.Errorf("%+v comes before %+v", a, b)
			}
		}
	}
}

func TestDisabledNodesCountAsDisabledUnlessTheyReportMore(t *testing.T) {
	t.Parallel()

	var resources []v1alpha1.Resource
	for _, name := range []string{"changed", "failed", "fine", "pending"} {
		f := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name}}
		f.Spec.NodeSelector, f.Spec.Path, f.Spec.Content = &metav1.LabelSelector{}, "/"+name, new("x")
		resources = append(resources, f)
	}
	var c compiler.Compiler
	result := c.Compile(compiler.Input{Kinds: providers.Kinds(), Resources: resources, Nodes: []compiler.Node{{Name: "n1"}}})
	nc := &v1alpha1.NodeCatalog{}
	nc.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "Disabled", Message: "runs are disabled: maintenance"}}
	nc.Status.Resources = []v1alpha1.ResourceReport{{Ref: "File/changed", State: "Changed"}, {Ref: "File/failed", State: "Failed", Message: "disk full"}}
	for silent, want := range map[bool]map[v1alpha1.ResourceRef]v1alpha1.ResourceState{
		false: {"File/changed": "Disabled", "File/failed": "Failed", "File/fine": "Disabled", "File/pending": "Pending"},
		true:  {"File/changed": "Unknown", "File/failed": "Unknown", "File/fine": "Unknown", "File/pending": "Unknown"},
	} {
		var index nodestatus.Index
		index.Add(nodestatus.Node{
			Name: "n1", Desired: result.Nodes["n1"], Reported: nc, Silent: silent,
			Progress: nodestatus.Progress{Some: [][]v1alpha1.ResourceRef{{"File/pending"}}},
		})
		got := map[v1alpha1.ResourceRef]v1alpha1.ResourceState{}
		for ref := range want {
			got[ref] = index.Summarize(ref, []string{"n1"}).Samples[0].State
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("silent %t (-want +got):\n%s", silent, diff)
		}
	}
}
