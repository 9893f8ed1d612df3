package compiler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/external"
)

// recordType is a Remote type whose resources require the zone of their attribute zone, and have a key from a Secret.
func recordType(t testing.TB) *definition.Definition {
	t.Helper()
	text := func(s string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(s)} }
	e := &v1alpha1.ExternalType{}
	e.Name = "dnsrecords"
	e.Spec = v1alpha1.ExternalTypeSpec{
		Kind: "DNSRecord", Version: "1", Description: "A record of a DNS service.", Scope: v1alpha1.ScopeRemote,
		Attributes: []v1alpha1.ExternalAttribute{
			{Name: "name", Description: "Its name.", Behaviour: v1alpha1.BehaviourNamevar, Schema: text(`{"type":"string"}`)},
			{Name: "zone", Description: "Its zone.", Schema: text(`{"type":"string"}`)},
			{Name: "key", Description: "The key of the service.", Behaviour: v1alpha1.BehaviourParameter, Sensitive: true, Schema: text(`{"type":"string"}`)},
		},
		Relations: []v1alpha1.ExternalRelation{{Relation: "require", Kind: "DNSRecord", Name: "$zone"}},
		Providers: []v1alpha1.ExternalProvider{{Name: "python", Command: []string{"./main.py"}}},
		Source:    v1alpha1.ExternalSource{Files: map[string]string{"main.py": "#!/usr/bin/python3\n"}},
	}
	d, err := definition.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func record(name, properties string, adjust ...func(*v1alpha1.External)) *v1alpha1.External {
	r := &v1alpha1.External{}
	r.APIVersion, r.Kind, r.Name, r.Generation = v1alpha1.ExternalGroupVersion.String(), "DNSRecord", name, 1
	r.Spec.NodeSelector = everywhere()
	r.Spec.Properties = &runtime.RawExtension{Raw: []byte(properties)}
	for _, a := range adjust {
		a(r)
	}
	return r
}

// able returns nodes whose agents can act.
func able(nodes ...compiler.Node) []compiler.Node {
	for i := range nodes {
		nodes[i].Placement.Eligible = true
	}
	return nodes
}

func remoteInput(t *testing.T, nodes []compiler.Node, resources ...v1alpha1.Resource) compiler.Input {
	t.Helper()
	d := recordType(t)
	return compiler.Input{
		Nodes: nodes, Resources: resources, Kinds: append(kinds(), external.Kind(d, nil)),
		External: map[string]compiler.ExternalKind{"DNSRecord": {Type: d.Ref(), Remote: true}},
		Secret: func(v1alpha1.KeyRef) compiler.SecretValue {
			return compiler.SecretValue{Exposed: true, Found: true, Value: []byte("hidden"), Version: "1"}
		},
		Seal: func(n *compiler.Node, _ v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
			return v1alpha1.SealedValue{Attribute: attribute, From: from, Key: n.PublicKey}, nil
		},
	}
}

func TestResourcesOfRemoteTypes(t *testing.T) {
	t.Parallel()

	leaving := func(r *v1alpha1.External) {
		r.DeletionTimestamp, r.Spec.Ensure = &metav1.Time{}, resource.Absent
	}
	holding := func(n compiler.Node, ref v1alpha1.ResourceRef, h placement.Assignment) compiler.Node {
		n.Placement.Assignments = map[v1alpha1.ResourceRef]placement.Assignment{ref: h}
		return n
	}
	for name, tt := range map[string]struct {
		nodes     []compiler.Node
		resources []v1alpha1.Resource
		want      outline
	}{
		"are on one node of those that they select": {
			nodes: able(node("a", "dns"), node("b", "web"), factless("c", "dns")),
			resources: []v1alpha1.Resource{record("www", "{}", func(r *v1alpha1.External) {
				r.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"role": "web"}}
			})},
			want: outline{Nodes: map[string]string{"a": "", "b": "DNSRecord/www", "c": ""}},
		},
		"are on the node of those that they require": {
			nodes: able(node("a", "dns"), holding(node("b", "dns"), "DNSRecord/x", placement.Acting), node("c", "dns"), node("d", "dns")),
			resources: []v1alpha1.Resource{
				record("1", `{"zone":"x"}`), record("2", `{"zone":"x"}`), record("x", "{}"),
				record("3", "{}", func(r *v1alpha1.External) { r.Spec.Require = []v1alpha1.ResourceRef{"DNSRecord/1"} }),
			},
			want: outline{Nodes: map[string]string{"a": "", "b": "DNSRecord/1 DNSRecord/2 DNSRecord/3 DNSRecord/x", "c": "", "d": ""}},
		},
		"move once the node before has stopped": {
			nodes: able(holding(node("a", "web"), "DNSRecord/www", placement.Acting), node("b", "dns")),
			resources: []v1alpha1.Resource{record("www", "{}", func(r *v1alpha1.External) {
				r.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"role": "dns"}}
			})},
			want: outline{
				Nodes: map[string]string{"a": "", "b": ""}, Withheld: map[string]string{"a": "DNSRecord/www:Moving"},
				Problems: []string{"DNSRecord/www||Moving|node b takes over once a has stopped acting for it"},
			},
		},
		"need a node": {
			nodes:     able(node("a", "web")),
			resources: []v1alpha1.Resource{record("www", "{}", func(r *v1alpha1.External) { r.Spec.When = "false" })},
			want: outline{
				Nodes:    map[string]string{"a": ""},
				Problems: []string{"DNSRecord/www||NoNodesSelected|no node matches its nodeSelector and when, so none acts for it: select at least one"},
			},
		},
		"need a node with an agent": {
			nodes:     []compiler.Node{node("a", "web"), node("b", "web")},
			resources: []v1alpha1.Resource{record("www", "{}")},
			want: outline{
				Nodes:    map[string]string{"a": "", "b": ""},
				Problems: []string{"DNSRecord/www||NoActingNode|waits for a node: it selects 2 nodes, and none has an agent that is heard and not disabled"},
			},
		},
		"are not on nodes whose when is unknown": {
			nodes:     able(factless("a", "web")),
			resources: []v1alpha1.Resource{record("www", "{}", func(r *v1alpha1.External) { r.Spec.When = `facts.os.family == "Debian"` })},
			want: outline{
				Nodes:    map[string]string{"a": ""},
				Problems: []string{"DNSRecord/www||WaitingForFacts|waits for the facts of node a, which its agent has not reported yet"},
			},
		},
		"conflict on whatever nodes they are, also beside other kinds, and those that are leaving give way": {
			nodes: able(node("a", "web"), node("b", "dns")),
			resources: []v1alpha1.Resource{
				file("0", "/0"), record("1", `{"name":"www"}`, func(r *v1alpha1.External) { r.Spec.When = `node.name == "a"` }), record("2", `{"name":"www"}`, func(r *v1alpha1.External) { r.Spec.When = `node.name == "b"` }),
				record("3", `{"name":"ftp"}`, func(r *v1alpha1.External) { r.Spec.When = `node.name == "a"` }), record("4", `{"name":"ftp"}`, leaving, func(r *v1alpha1.External) { r.Spec.When = `node.name == "b"` }),
			},
			want: outline{
				Nodes: map[string]string{"a": "DNSRecord/3 File/0", "b": "File/0"}, Withheld: map[string]string{"a": "DNSRecord/1:Conflict", "b": "DNSRecord/2:Conflict DNSRecord/4:Conflict"},
				Problems: []string{
					`DNSRecord/1||Conflict|name "www" is also claimed by DNSRecord/2, and identifies one thing whichever node acts for it: keep one`,
					`DNSRecord/2||Conflict|name "www" is also claimed by DNSRecord/1, and identifies one thing whichever node acts for it: keep one`,
					`DNSRecord/4||Conflict|name "ftp" is also claimed by DNSRecord/3, and identifies one thing whichever node acts for it: keep one`,
				},
			},
		},
		"cannot be restored": {
			nodes:     able(node("a", "web")),
			resources: []v1alpha1.Resource{record("www", "{}", func(r *v1alpha1.External) { r.Spec.DeletionPolicy = v1alpha1.DeletionRestore })},
			want: outline{
				Nodes: map[string]string{"a": ""}, Withheld: map[string]string{"a": "DNSRecord/www:InvalidSpec"},
				Problems: []string{"DNSRecord/www||InvalidSpec|deletionPolicy Restore needs what a node has saved, and another node may act by then: use Delete or Orphan"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.want.Withheld == nil {
				tt.want.Withheld = map[string]string{}
			}
			if diff := cmp.Diff(tt.want, outlineOf(t, compiler.Compile(remoteInput(t, tt.nodes, tt.resources...)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyTheActingNodeGetsSecretsAndNoNodeADeletionPolicy(t *testing.T) {
	t.Parallel()

	result := compiler.Compile(remoteInput(t, able(node("a", "dns"), node("b", "dns")), record("www", "{}", func(r *v1alpha1.External) {
		r.Spec.AcceptSelfLabelledNodes, r.Spec.DeletionPolicy = true, v1alpha1.DeletionDelete
		r.Spec.PropertiesFrom = []v1alpha1.PropertyFrom{{Name: "key", SecretSource: v1alpha1.SecretSource{SecretKeyRef: v1alpha1.KeyRef{Namespace: "a", Name: "b", Key: "c"}}}}
	})))
	selected := result.Selected["DNSRecord/www"]
	if len(selected) != 1 || len(result.Catalogs) != 0 {
		t.Fatalf("selected %v, and there are %d shared catalogs", selected, len(result.Catalogs))
	}
	for name, n := range result.Nodes {
		switch {
		case name != selected[0] && len(n.Spec.Entries) > 0:
			t.Errorf("node %s, which does not act, has %v", name, n.Spec.Entries)
		case name == selected[0] && (len(n.Spec.Entries) != 1 || n.Spec.Entries[0].Sealed[0].Key != "key of "+name || n.Spec.Entries[0].DeletionPolicy != ""):
			t.Errorf("the acting node has %+v", n.Spec.Entries)
		}
	}
}

func TestDeletedResourcesAreRemovedInReverseOrder(t *testing.T) {
	t.Parallel()

	leaving := func(r *v1alpha1.External) {
		r.DeletionTimestamp, r.Spec.Ensure = &metav1.Time{}, resource.Absent
	}
	requires := func(name string) func(*v1alpha1.External) {
		return func(r *v1alpha1.External) {
			r.Spec.Require = []v1alpha1.ResourceRef{v1alpha1.ResourceRef("DNSRecord/" + name)}
		}
	}
	result := compiler.Compile(remoteInput(t, able(node("a", "dns")),
		record("1", `{"zone":"x"}`, leaving), record("2", "{}", leaving, requires("x"), requires("x")), record("3", "{}", leaving, requires("stays")),
		record("x", "{}", leaving), record("stays", "{}"), record("4", `{"zone":"x"}`)))
	got := map[string]*v1alpha1.Edges{}
	for _, e := range result.Nodes["a"].Spec.Entries {
		got[e.Name] = e.Edges
	}
	want := map[string]*v1alpha1.Edges{
		"1": {Before: []v1alpha1.ResourceRef{"DNSRecord/x"}}, "2": {Before: []v1alpha1.ResourceRef{"DNSRecord/x"}},
		"3": {Require: []v1alpha1.ResourceRef{"DNSRecord/stays"}}, "4": nil, "x": nil, "stays": nil,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithoutAClusterTheMachineActsForRemoteTypes(t *testing.T) {
	t.Parallel()

	in := remoteInput(t, []compiler.Node{{Name: "here"}}, record("www", `{}`), record("ftp", `{"zone":"www"}`))
	entries, problems := compiler.Local(in)
	if len(entries) != 2 || len(problems) > 0 {
		t.Errorf("got %d entries and %v", len(entries), problems)
	}
	in.Nodes[0].Labels = map[string]string{"role": "web"}
	in.Resources[0].GetTargeting().NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"role": "dns"}}
	items, _, problems := compiler.Prepare(in)
	if len(items) != 1 || len(problems) > 0 {
		t.Errorf("with labels, got %d items and %v", len(items), problems)
	}
}
