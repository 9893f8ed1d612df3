package compiler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

func TestLocal(t *testing.T) {
	t.Parallel()

	unlabelled := node("here", "")
	unlabelled.Labels = nil
	labelled := node("here", "web")
	for name, tt := range map[string]struct {
		node      compiler.Node
		resources []v1alpha1.Resource
		want      []v1alpha1.ResourceRef
		problems  []compiler.Problem
	}{
		"the order is as written, and nodeSelector is ignored without labels": {
			node:      unlabelled,
			resources: []v1alpha1.Resource{service("z"), file("b", "/b", on("db")), file("a", "/a"), file("n", "/n", func(f *v1alpha1.File) { f.Spec.NodeSelector = nil })},
			want:      []v1alpha1.ResourceRef{"SystemService/z", "File/b", "File/a", "File/n"},
		},
		"labels are matched if there are any": {
			node:      labelled,
			resources: []v1alpha1.Resource{file("b", "/b", on("db")), file("a", "/a", on("web"))},
			want:      []v1alpha1.ResourceRef{"File/a"},
		},
		"when applies in both cases": {
			node:      unlabelled,
			resources: []v1alpha1.Resource{file("b", "/b", when(`facts.os.family == "RedHat"`)), file("a", "/a", when(`facts.os.family == "Debian"`))},
			want:      []v1alpha1.ResourceRef{"File/a"},
		},
		"resources with a problem are left out": {
			node: unlabelled,
			resources: []v1alpha1.Resource{
				file("b", "/x"), file("a", "/x"), file("c", "/c"), file("c", "/d"), file("e", "/e", requires("File/c")), file("f", "/f"),
			},
			want: []v1alpha1.ResourceRef{"File/f"},
			problems: []compiler.Problem{
				{
					Ref: "File/a", Reason: "Conflict",
					Message: `path "/x" is also claimed by File/b on the same node: keep one, or let their nodeSelector or when exclude each other`,
				},
				{
					Ref: "File/b", Reason: "Conflict",
					Message: `path "/x" is also claimed by File/a on the same node: keep one, or let their nodeSelector or when exclude each other`,
				},
				{Ref: "File/c", Reason: "Conflict", Message: "File/c is defined more than once: give each its own metadata.name"},
				{Ref: "File/e", Reason: "DependsOnProblem", Message: "waits for File/c, which is withheld: Conflict"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries, problems := compiler.Local(compiler.Input{Nodes: []compiler.Node{tt.node}, Resources: tt.resources, Kinds: kinds()})
			if diff := cmp.Diff(tt.want, refs(entries)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARefusedResourceAndItsDependentsAreProblems(t *testing.T) {
	t.Parallel()

	entries, problems := compiler.Local(compiler.Input{
		Kinds: kinds(), Resources: []v1alpha1.Resource{file("a", "/a", requires("File/r")), file("b", "/b")},
		Refused: map[v1alpha1.ResourceRef]string{"File/r": "mode 888 is no mode", "Unknown/x": "nothing is known of it"},
	})
	if diff := cmp.Diff([]v1alpha1.ResourceRef{"File/b"}, refs(entries)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	want := []compiler.Problem{
		{Ref: "File/a", Reason: "DependsOnProblem", Message: "waits for File/r, which is withheld: InvalidSpec"},
		{Ref: "File/r", Reason: "InvalidSpec", Message: "mode 888 is no mode"},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestLocalRendersTemplates(t *testing.T) {
	t.Parallel()

	entries, problems := compiler.Local(compiler.Input{
		Nodes:     []compiler.Node{node("here", "")},
		Resources: []v1alpha1.Resource{file("a", "/a", rendering(`{{ range keys .facts }}{{ . }} {{ end }}on {{ .node.name }}`))},
		Kinds:     kinds(),
	})
	want := `{"content":"os processors on here","path":"/a"}`
	if problems != nil || len(entries) != 1 || string(entries[0].Attributes.Raw) != want {
		t.Errorf("got %v and %v, want the attributes %s", entries, problems, want)
	}
}
