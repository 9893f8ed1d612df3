package compiler_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
	"github.com/fettle-dev/fettle/internal/resource"
)

func TestEachNodeGetsTheSameWhicheverOthersAreAssigned(t *testing.T) {
	t.Parallel()

	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 9))
		in := everything(t, r)
		c := &compiler.Compiler{}
		older, newer := c.Draft(in), c.Draft(edited(t, r, in))
		fleet := c.Nodes(in.Nodes)
		for name, revision := range map[string]*compiler.Revision{"older": older, "newer": newer} {
			want := assigned(revision, in)
			var first, second []string
			for _, n := range in.Nodes {
				if r.IntN(2) == 0 {
					first = append(first, n.Name)
				} else {
					second = append(second, n.Name)
				}
			}
			for _, names := range [][]string{first, second} {
				got := fleet.Assign(revision, append(names, "unknown"), in.Seal)
				if len(got.Nodes) != len(names) {
					t.Fatalf("seed %d: got %d nodes, want %v", seed, len(got.Nodes), names)
				}
				for node, n := range got.Nodes {
					if diff := cmp.Diff(encoded(t, want.Nodes[node]), encoded(t, n)); diff != "" {
						t.Fatalf("seed %d: %s of the %s revision has something else than in the whole fleet:\n%s", seed, node, name, diff)
					}
				}
				for ref, selected := range got.Selected {
					of := slices.DeleteFunc(slices.Clone(want.Selected[ref]), func(n string) bool { return !slices.Contains(names, n) })
					if diff := cmp.Diff(len(of), len(selected)); diff != "" {
						t.Errorf("seed %d: %s selects %v, want %v", seed, ref, selected, of)
					}
				}
			}
		}
	}
}

func TestNoNamesAreNoNodes(t *testing.T) {
	t.Parallel()

	c := &compiler.Compiler{}
	in := compiler.Input{Kinds: kinds(), Nodes: webs(2), Resources: []v1alpha1.Resource{file("a", "/a")}}
	if result := c.Nodes(in.Nodes).Assign(c.Draft(in), []string{}, nil); len(result.Nodes)+len(result.Catalogs) > 0 {
		t.Errorf("got %d nodes and %d catalogs", len(result.Nodes), len(result.Catalogs))
	}
}

func TestRevisionsShareTheResultsOfExpressions(t *testing.T) {
	t.Parallel()

	in := compiler.Input{Kinds: kinds(), Nodes: webs(2)}
	var decoded int
	for i := range in.Nodes {
		facts := in.Nodes[i].Facts
		in.Nodes[i].Facts = func() resource.Facts {
			decoded++
			return facts()
		}
	}
	own := func(template string) v1alpha1.Resource { return file("own", "/own", rendering(template)) }
	c := &compiler.Compiler{}
	draft := func(resources ...v1alpha1.Resource) *compiler.Revision {
		in.Resources = slices.Concat(resources, []v1alpha1.Resource{file("when", "/when", when(`facts.os.family == "Debian"`))})
		return c.Draft(in)
	}
	one, another, plain := draft(own("1 {{ .facts.os.family }}")), draft(own("2 {{ .facts.os.family }}")), draft()
	for compilation, want := range []int{4, 0, 0} { // each node once for each template: decoded facts are not retained
		decoded = 0
		fleet := c.Nodes(in.Nodes)
		for text, r := range map[string]*compiler.Revision{"1 Debian": one, "2 Debian": another} {
			for node, n := range fleet.Assign(r, nil, nil).Nodes {
				var got v1alpha1.CatalogEntry
				if len(n.Spec.Entries) == 1 {
					got = n.Spec.Entries[0]
				}
				if got.Attributes == nil || string(got.Attributes.Raw) != `{"content":"`+text+`","path":"/own"}` {
					t.Errorf("%s has %v, want %s", node, n.Spec.Entries, text)
				}
			}
		}
		fleet.Assign(plain, nil, nil)
		if decoded != want {
			t.Errorf("compilation %d: facts were decoded %d times, want %d", compilation, decoded, want)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()

	acting := func(n compiler.Node, is placement.Assignment) compiler.Node {
		n.Placement.Assignments = map[v1alpha1.ResourceRef]placement.Assignment{"DNSRecord/www": is}
		return n
	}
	www := func(zone, role string) v1alpha1.Resource {
		return record("www", `{"zone":"`+zone+`"}`, func(r *v1alpha1.External) { r.Spec.NodeSelector = onRole(role) })
	}
	for name, tt := range map[string]struct {
		nodes        []compiler.Node
		newer, older []v1alpha1.Resource
		want         map[string]string // what nodes have at the newer revision, and at the older one
	}{
		"the node that acts has the entry of its revision": {
			nodes: able(node("a", "web"), acting(node("b", "web"), placement.Acting)),
			newer: []v1alpha1.Resource{www("new", "web")}, older: []v1alpha1.Resource{www("old", "web")},
			want: map[string]string{"a": "|", "b": "new|old"},
		},
		"the newer targeting decides": {
			nodes: able(node("a", "web"), node("b", "dns")),
			newer: []v1alpha1.Resource{www("new", "dns")}, older: []v1alpha1.Resource{www("old", "web")},
			want: map[string]string{"a": "|", "b": "new|old"},
		},
		"a node stops at whatever revision it is": {
			nodes: able(acting(node("a", "web"), placement.Acting), node("b", "dns")),
			newer: []v1alpha1.Resource{www("new", "dns")}, older: []v1alpha1.Resource{www("old", "web")},
			want: map[string]string{"a": "stops|stops", "b": "|"},
		},
		"the next node begins at whatever revision it is": {
			nodes: able(acting(node("a", "web"), placement.Stopped), node("b", "dns")),
			newer: []v1alpha1.Resource{www("new", "dns")}, older: []v1alpha1.Resource{www("old", "web")},
			want: map[string]string{"a": "|", "b": "new|old"},
		},
		"a node has nothing of a resource that its revision lacks": {
			nodes: able(node("b", "dns")),
			newer: []v1alpha1.Resource{www("new", "dns")},
			want:  map[string]string{"b": "new|"},
		},
		"the older revision places what it alone has": {
			nodes: able(node("a", "web"), node("b", "dns")),
			older: []v1alpha1.Resource{www("old", "web")},
			want:  map[string]string{"a": "|old", "b": "|"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := remoteInput(t, tt.nodes)
			c := &compiler.Compiler{}
			in.Resources = tt.older
			older := restored(t, c.Draft(in), in)
			in.Resources = tt.newer
			newer := c.Draft(in)
			fleet := c.Nodes(in.Nodes)
			fleet.Place(newer, older)
			got := map[string]string{}
			for _, n := range in.Nodes {
				got[n.Name] = zoneOn(t, fleet, newer, n.Name, in) + "|" + zoneOn(t, fleet, older, n.Name, in)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// zoneOn returns the zone of the record that a node has at a revision.
func zoneOn(t *testing.T, fleet *compiler.Fleet, r *compiler.Revision, node string, in compiler.Input) (zone string) {
	t.Helper()
	spec := fleet.Assign(r, []string{node}, in.Seal).Nodes[node].Spec
	for _, e := range spec.Entries {
		zone += valueOf(t, e, "zone")
	}
	for range spec.Withheld {
		zone += "stops"
	}
	return zone
}

// No two revisions have two actors, whichever nodes are at which.
func TestOneNodeActsAcrossRevisions(t *testing.T) {
	t.Parallel()

	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 10))
		in := everything(t, r)
		c := &compiler.Compiler{}
		revisions := []*compiler.Revision{c.Draft(in)}
		for range 2 {
			in = edited(t, r, in)
			revisions = append(revisions, c.Draft(in))
		}
		slices.Reverse(revisions)
		fleet := c.Nodes(in.Nodes)
		fleet.Place(revisions...)
		actors := map[v1alpha1.ResourceRef]map[string]bool{}
		for _, revision := range revisions {
			for name, n := range fleet.Assign(revision, nil, in.Seal).Nodes {
				for _, e := range n.Spec.Entries {
					if e.Kind == "DNSRecord" {
						if actors[e.Ref()] == nil {
							actors[e.Ref()] = map[string]bool{}
						}
						actors[e.Ref()][name] = true
					}
				}
			}
		}
		for ref, nodes := range actors {
			if len(nodes) > 1 {
				t.Errorf("seed %d: %v act for %s", seed, nodes, ref)
			}
		}
	}
}
