package compiler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/providers/external"
)

func zoneType(t *testing.T) *definition.Definition {
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
