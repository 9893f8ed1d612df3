package controllers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/providers"
)

// A report is what chance has a node say.
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

// naively is the state of a resource on a node, asked for by itself.
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

// unapplied reports whether a node that is silent had yet to apply a resource, or did not
// succeed when it last was heard.
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

// counted is a state as counts have it.
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

// Whatever nodes said before, what is counted is what they say now.
func TestCountsAreThoseOfEveryNodeAskedByItself(t *testing.T) {
	t.Parallel()

	r := rand.New(rand.NewPCG(1, 1))
	var resources []v1alpha1.Resource
	var refs []v1alpha1.ResourceRef
	for i := range 8 {
		f := file(fmt.Sprintf("f%d", i), fmt.Sprintf("/f%d", i%7)) // two claim one path
		if i > 4 {
			on("web")(f)
		}
		resources, refs = append(resources, f), append(refs, v1alpha1.ResourceRef("File/"+f.Name))
	}
	in := compiler.Input{Kinds: providers.Kinds(), Resources: resources}
	for i := range 30 {
		in.Nodes = append(in.Nodes, compiler.Node{Name: fmt.Sprintf("n%02d", i), Labels: map[string]string{"role": []string{"web", "db"}[i%2]}})
	}
	var board controllers.Board
	var compiler compiler.Compiler // gives the same results again, where they are the same
	said := map[string]report{}
	for step := range 300 {
		in.Nodes[r.IntN(len(in.Nodes))].Labels = map[string]string{"role": []string{"web", "db"}[r.IntN(2)]}
		now := in
		now.Nodes = in.Nodes[r.IntN(3):]
		result := compiler.Compile(now)
		board.Keep(result.Nodes)
		for name, n := range result.Nodes {
			if _, ok := said[name]; !ok || r.IntN(4) == 0 {
				said[name] = randomReport(r, refs)
				if said[name].nc != nil {
					said[name].nc.ObjectMeta = metav1.ObjectMeta{Name: name, ResourceVersion: fmt.Sprint(step)}
				}
			}
			board.Bring(name, n, said[name].nc, said[name].all, said[name].some, said[name].silent)
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
			got, unapplied, samples := board.Of(ref, result.Selected[ref])
			if diff := cmp.Diff(want, got); diff != "" || unapplied != wantUnapplied {
				t.Fatalf("step %d, %s: %d unknown had yet to apply it, want %d; (-want +got):\n%s", step, ref, unapplied, wantUnapplied, diff)
			}
			checkSamples(t, samples, want, func(node string) v1alpha1.ResourceState { return said[node].naively(ref, result.Nodes[node]) })
		}
	}
}

// checkSamples holds samples to what they are to be: as many as fit, of nodes that are as
// they say, each once, the most urgent first.
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
