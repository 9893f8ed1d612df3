package compiler_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/external"
	filetype "github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/providers/purge"
	"github.com/fettle-dev/fettle/providers/systemservice"
)

func zoneType(t testing.TB) *definition.Definition {
	t.Helper()
	e := &v1alpha1.ExternalType{}
	e.Name = "dnszones"
	e.Spec = v1alpha1.ExternalTypeSpec{
		Kind: "DNSZone", Version: "1", Description: "A zone of a DNS service.",
		Attributes: []v1alpha1.ExternalAttribute{{
			Name: "name", Description: "The name of the zone.", Behaviour: v1alpha1.BehaviourNamevar,
			Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string"}`)},
		}},
		Providers: []v1alpha1.ExternalProvider{{Name: "python", Command: []string{"./main.py"}}},
		Source:    v1alpha1.ExternalSource{Files: map[string]string{"main.py": "#!/usr/bin/python3\n"}},
	}
	d, err := definition.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func zone(name string, adjust ...func(*v1alpha1.External)) *v1alpha1.External {
	z := &v1alpha1.External{}
	z.APIVersion, z.Kind, z.Name, z.Generation = v1alpha1.ExternalGroupVersion.String(), "DNSZone", name, 1
	z.Spec.NodeSelector = everywhere()
	for _, a := range adjust {
		a(z)
	}
	return z
}

func TestExternalKinds(t *testing.T) {
	t.Parallel()

	d := zoneType(t)
	usable := map[string]compiler.ExternalKind{"DNSZone": {Type: d.Ref()}}
	requiring := file("a", "/a", func(f *v1alpha1.File) { f.Spec.Require = []v1alpha1.ResourceRef{"DNSZone/example"} })
	requires := func(z *v1alpha1.External) { z.Spec.Require = []v1alpha1.ResourceRef{"File/a"} }
	unknown := func(z *v1alpha1.External) {
		z.Spec.Properties = &runtime.RawExtension{Raw: []byte(`{"serial":1}`)}
	}
	for name, tt := range map[string]struct {
		external  map[string]compiler.ExternalKind
		refused   map[v1alpha1.ResourceRef]string
		retained  []v1alpha1.ResourceRef
		resources []v1alpha1.Resource
		want      outline
	}{
		"they have edges to and from built-in kinds": {
			external: usable, resources: []v1alpha1.Resource{zone("example"), requiring},
			want: outline{Nodes: map[string]string{"dns-1": "DNSZone/example File/a"}},
		},
		"they form cycles with built-in kinds": {
			external: usable, resources: []v1alpha1.Resource{zone("example", requires), requiring},
			want: outline{
				Nodes: map[string]string{"dns-1": ""}, Withheld: map[string]string{"dns-1": "DNSZone/example:DependencyCycle File/a:DependencyCycle"},
				Problems: []string{
					"DNSZone/example||DependencyCycle|DNSZone/example -> File/a -> DNSZone/example is a cycle: remove one of these edges",
					"File/a||DependencyCycle|DNSZone/example -> File/a -> DNSZone/example is a cycle: remove one of these edges",
				},
			},
		},
		"unknown attributes are invalid": {
			external: usable, resources: []v1alpha1.Resource{zone("example", unknown)},
			want: outline{
				Nodes: map[string]string{"dns-1": ""}, Withheld: map[string]string{"dns-1": "DNSZone/example:InvalidSpec"},
				Problems: []string{`DNSZone/example||InvalidSpec|DNSZone has no attribute "serial": use one of ensure, name`},
			},
		},
		"a fault of the kind withholds all resources and their dependents": {
			external:  map[string]compiler.ExternalKind{"DNSZone": {Fault: compiler.NewFault("MissingType", "no type")}},
			resources: []v1alpha1.Resource{zone("example"), requiring, file("b", "/b")},
			want: outline{
				Nodes: map[string]string{"dns-1": "File/b"}, Withheld: map[string]string{"dns-1": "DNSZone/example:MissingType File/a:DependsOnProblem"},
				Problems: []string{"DNSZone/example||MissingType|no type", "File/a||DependsOnProblem|waits for DNSZone/example, which is withheld: MissingType"},
			},
		},
		"a refused resource is invalid": {
			external: usable, refused: map[v1alpha1.ResourceRef]string{"DNSZone/example": "no default"}, resources: []v1alpha1.Resource{zone("example")},
			want: outline{
				Nodes: map[string]string{"dns-1": ""}, Withheld: map[string]string{"dns-1": "DNSZone/example:InvalidSpec"},
				Problems: []string{"DNSZone/example||InvalidSpec|no default"},
			},
		},
		"retained resources are withheld": {
			retained: []v1alpha1.ResourceRef{"DNSZone/example"}, resources: []v1alpha1.Resource{file("b", "/b")},
			want: outline{Nodes: map[string]string{"dns-1": "File/b"}, Withheld: map[string]string{"dns-1": "DNSZone/example:Uninstalled"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := node("dns-1", "dns")
			n.Retained = tt.retained
			got := outlineOf(t, compiler.Compile(compiler.Input{
				Nodes: []compiler.Node{n}, Resources: tt.resources, Kinds: append(kinds(), external.Kind(d, nil)), External: tt.external, Refused: tt.refused,
			}))
			if tt.want.Withheld == nil {
				tt.want.Withheld = map[string]string{}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATypeIsPartOfTheDigest(t *testing.T) {
	t.Parallel()

	d := zoneType(t)
	in := compiler.Input{
		Nodes: []compiler.Node{node("dns-1", "dns")}, Resources: []v1alpha1.Resource{zone("example")}, Kinds: append(kinds(), external.Kind(d, nil)),
	}
	digests := map[string]bool{}
	for _, ref := range []string{"dnszones@sha256-1", "dnszones@sha256-2"} {
		in.External = map[string]compiler.ExternalKind{"DNSZone": {Type: ref}}
		result := compiler.Compile(in)
		digests[result.Nodes["dns-1"].Digest] = true
		for _, c := range result.Catalogs {
			if got := c.Entries[0].Type; got != ref {
				t.Errorf("the entry has the type %q, want %q", got, ref)
			}
		}
	}
	if len(digests) != 2 {
		t.Error("two types give the same digest")
	}
}

// pairs is a type with two Namevars, of which the first one ignores case.
func pairs(t *testing.T, scope v1alpha1.ExternalScope) *definition.Definition {
	t.Helper()
	attribute := func(name string, foldCase bool) v1alpha1.ExternalAttribute {
		return v1alpha1.ExternalAttribute{
			Name: name, Description: "A part.", Behaviour: v1alpha1.BehaviourNamevar, CaseInsensitive: foldCase,
			Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string"}`)},
		}
	}
	e := &v1alpha1.ExternalType{}
	e.Name = "dnszones"
	e.Spec = v1alpha1.ExternalTypeSpec{
		Kind: "DNSZone", Version: "1", Description: "Two parts.", Scope: scope,
		Attributes: []v1alpha1.ExternalAttribute{attribute("left", true), attribute("right", false)},
		Relations:  []v1alpha1.ExternalRelation{{Relation: "require", Kind: "DNSZone", Name: "$right"}},
		Providers:  []v1alpha1.ExternalProvider{{Name: "python", Command: []string{"./main.py"}}},
		Source:     v1alpha1.ExternalSource{Files: map[string]string{"main.py": "#!/usr/bin/python3\n"}},
	}
	d, err := definition.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSpellingsOfOneNameConflict(t *testing.T) {
	t.Parallel()

	pair := func(name, left, right string) v1alpha1.Resource {
		return zone(name, func(z *v1alpha1.External) {
			raw, err := json.Marshal(map[string]string{"left": left, "right": right})
			if err != nil {
				t.Fatal(err)
			}
			z.Spec.Properties = &runtime.RawExtension{Raw: raw}
		})
	}
	const onNode, fix = " on the same node", ": keep one, or let their nodeSelector or when exclude each other"
	for name, tt := range map[string]struct {
		scope     v1alpha1.ExternalScope
		resources []v1alpha1.Resource
		problems  []string
	}{
		"another case": {
			resources: []v1alpha1.Resource{pair("a", "WEB", "x"), pair("b", "Web", "x"), pair("c", "WEB", "X")},
			problems: []string{
				`DNSZone/a||Conflict|left "WEB", right "x" (canonically "web/x") is also claimed by DNSZone/b` + onNode + fix,
				`DNSZone/b||Conflict|left "Web", right "x" (canonically "web/x") is also claimed by DNSZone/a` + onNode + fix,
			},
		},
		"another case of a Remote type": {
			scope: v1alpha1.ScopeRemote, resources: []v1alpha1.Resource{pair("a", "WEB", "x"), pair("b", "web", "x")},
			problems: []string{
				`DNSZone/a||Conflict|left "WEB", right "x" (canonically "web/x") is also claimed by DNSZone/b, and identifies one thing whichever node acts for it: keep one`,
				`DNSZone/b||Conflict|left "web", right "x" is also claimed by DNSZone/a, and identifies one thing whichever node acts for it: keep one`,
			},
		},
		"tuples that are joined alike are not": {
			resources: []v1alpha1.Resource{pair("a", "a/b", "c"), pair("b", "a", "b/c"), pair("c", `a\`, "c"), pair("d", "", "a/b/c")},
		},
		"slashes of a path": {
			resources: []v1alpha1.Resource{file("a", "/etc//motd/"), file("b", "/etc/motd")},
			problems: []string{
				`File/a||Conflict|path "/etc/motd" is also claimed by File/b` + onNode + fix,
				`File/b||Conflict|path "/etc/motd" is also claimed by File/a` + onNode + fix,
			},
		},
		"the suffix of a unit": {
			resources: []v1alpha1.Resource{unit("a", "nginx"), unit("b", "nginx.service")},
			problems: []string{
				`SystemService/a||Conflict|name "nginx" is also claimed by SystemService/b` + onNode + fix,
				`SystemService/b||Conflict|name "nginx" is also claimed by SystemService/a` + onNode + fix,
			},
		},
		"a Purge of a Remote type": {
			scope: v1alpha1.ScopeRemote, resources: []v1alpha1.Resource{purgeOf("DNSZone"), pair("a", "a", "b")},
			problems: []string{`Purge/all||InvalidSpec|kind "DNSZone" describes devices or services, and no node knows what the others manage there: remove this Purge`},
		},
		"a Purge of another type": {resources: []v1alpha1.Resource{purgeOf("DNSZone"), pair("a", "a", "b")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := pairs(t, tt.scope)
			n := node("dns-1", "dns")
			n.Placement.Eligible = true
			got := outlineOf(t, compiler.Compile(compiler.Input{
				Nodes: []compiler.Node{n}, Resources: tt.resources, External: map[string]compiler.ExternalKind{"DNSZone": {Type: d.Ref(), Remote: d.IsRemote()}},
				Kinds: []resource.Kind{bound.Kind(filetype.Type(nil)), bound.Kind(systemservice.Type()), bound.Kind(purge.Type()), external.Kind(d, nil)},
			}))
			if diff := cmp.Diff(tt.problems, got.Problems); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func unit(name, unit string) *v1alpha1.SystemService {
	s := &v1alpha1.SystemService{}
	s.Name, s.Spec.Name, s.Spec.NodeSelector = name, unit, everywhere()
	return s
}

func purgeOf(kind string) *v1alpha1.Purge {
	p := &v1alpha1.Purge{}
	p.Name, p.Spec.Kind, p.Spec.Confirm, p.Spec.NodeSelector = "all", kind, &kind, everywhere()
	return p
}
