package compiler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
)

func TestInvalidMetaparametersAreProblems(t *testing.T) {
	t.Parallel()

	_, problems := compiler.Local(compiler.Input{Kinds: kinds(), Resources: []v1alpha1.Resource{
		file("a", "/a", func(f *v1alpha1.File) { f.Spec.Schedule = &v1alpha1.Schedule{Weekday: []v1alpha1.Weekday{"Caturday"}} }),
		file("b", "/b", func(f *v1alpha1.File) { f.Spec.Schedule = &v1alpha1.Schedule{Weekday: []v1alpha1.Weekday{"Sat"}} }),
		service("c", func(s *v1alpha1.SystemService) { s.Spec.DeletionPolicy = v1alpha1.DeletionDelete }),
		service("d", func(s *v1alpha1.SystemService) { s.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }),
		file("e", "/e", func(f *v1alpha1.File) { f.Spec.DeletionPolicy = v1alpha1.DeletionDelete }),
	}})
	want := []compiler.Problem{
		{Ref: "File/a", Reason: "InvalidSpec", Message: `schedule: invalid weekday "Caturday": write Mon, Tue, Wed, Thu, Fri, Sat or Sun`},
		{Ref: "SystemService/c", Reason: "InvalidSpec", Message: "things of kind SystemService can't be removed: use deletionPolicy Orphan"},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheItemHasTheDeletionPolicy(t *testing.T) {
	t.Parallel()

	for policy, want := range map[v1alpha1.DeletionPolicy]resource.DeletionPolicy{
		"": resource.Orphan, v1alpha1.DeletionOrphan: resource.Orphan, v1alpha1.DeletionDelete: resource.Delete, v1alpha1.DeletionRestore: resource.Restore,
	} {
		entries, problems := compiler.Local(compiler.Input{Kinds: kinds(), Resources: []v1alpha1.Resource{
			file("a", "/a", func(f *v1alpha1.File) { f.Spec.DeletionPolicy = policy }),
		}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := catalog.Items(entries, kinds(), nil)[0].Deletion; got != want {
			t.Errorf("%q: got %q, want %q", policy, got, want)
		}
		if policy == v1alpha1.DeletionOrphan && entries[0].DeletionPolicy != "" {
			t.Errorf("defaults are encoded: %+v", entries[0])
		}
	}
}

func TestTheItemHasAllEdges(t *testing.T) {
	t.Parallel()

	b, c := []v1alpha1.ResourceRef{"File/b"}, []v1alpha1.ResourceRef{"File/c"}
	toB, toC := []resource.Ref{{Kind: "File", Name: "b"}}, []resource.Ref{{Kind: "File", Name: "c"}}
	for name, tt := range map[string]struct {
		edges v1alpha1.Edges
		want  resource.Item
	}{
		"none":                  {v1alpha1.Edges{}, resource.Item{}},
		"require and before":    {v1alpha1.Edges{Require: b, Before: c}, resource.Item{Require: toB, Before: toC}},
		"require and notify":    {v1alpha1.Edges{Require: b, Notify: c}, resource.Item{Require: toB, Notify: toC}},
		"require and subscribe": {v1alpha1.Edges{Require: b, Subscribe: b}, resource.Item{Require: toB, Subscribe: toB}},
		"before":                {v1alpha1.Edges{Before: append(b, b...)}, resource.Item{Before: toB}},
		"notify":                {v1alpha1.Edges{Notify: b}, resource.Item{Notify: toB}},
		"subscribe":             {v1alpha1.Edges{Subscribe: b}, resource.Item{Subscribe: toB}},
	} {
		items, _, problems := compiler.Prepare(compiler.Input{Kinds: kinds(), Resources: []v1alpha1.Resource{
			file("a", "/a", func(f *v1alpha1.File) { f.Spec.Edges = tt.edges }), file("b", "/b"), file("c", "/c"),
		}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		got := resource.Item{Require: items[0].Require, Before: items[0].Before, Notify: items[0].Notify, Subscribe: items[0].Subscribe}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
