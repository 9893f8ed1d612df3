package compiler_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
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

func TestPrepareReturnsLocationsOfWithheldResources(t *testing.T) {
	t.Parallel()

	fragment := func(name, path string) *v1alpha1.File { return file(name, path) }
	_, withheld, _ := compiler.Prepare(compiler.Input{
		Nodes: []compiler.Node{node("here", "")}, Kinds: kinds(),
		Resources: []v1alpha1.Resource{file("a", "/a", requires("File/z")), file("b", "/b"), file("c", "/c", requires("File/x"))},
		Refused:   map[v1alpha1.ResourceRef]string{"File/x": "mode 888 is no mode", "File/y": "it is there twice", "File/n": "nothing is known of it"},
		Fragments: []v1alpha1.Resource{fragment("x", "/x"), fragment("y", "/y1"), fragment("y", "/y2")},
	})
	at := func(name, location, why string) resource.Withheld {
		return resource.Withheld{Ref: resource.Ref{Kind: "File", Name: name}, Location: location, Why: why}
	}
	want := []resource.Withheld{
		at("a", "/a", "MissingReference: require names File/z, which does not exist; the node has File/a, File/b, File/c, File/n, File/x and 1 more"),
		at("c", "/c", "DependsOnProblem: waits for File/x, which is withheld: InvalidSpec"), at("n", "", "InvalidSpec: nothing is known of it"),
		at("x", "/x/", "InvalidSpec: mode 888 is no mode"), at("y", "/y1/", "InvalidSpec: it is there twice"), at("y", "/y2/", "InvalidSpec: it is there twice"),
	}
	if diff := cmp.Diff(want, withheld); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProblemsWithReferencesNameThem(t *testing.T) {
	t.Parallel()

	_, problems := compiler.Local(compiler.Input{
		Nodes: []compiler.Node{node("here", "")}, Kinds: kinds(),
		Resources: []v1alpha1.Resource{
			file("a", "/a", requires("File/x"), notifies("File/y")), file("b", "/b", requires("File/b")),
			file("c", "/c", notifies("File/d")), file("d", "/d", notifies("File/e", "File/c")), file("e", "/e"), file("f", "/e"),
		},
	})
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s %s: %s %s", p.Ref, p.Reason, p.Edge.Attribute, p.Edge.Ref))
	}
	if diff := cmp.Diff([]string{
		"File/a MissingReference: notify File/y", "File/a MissingReference: require File/x", "File/b DependencyCycle: require File/b",
		"File/c DependencyCycle: notify File/d", "File/d DependencyCycle: notify File/c", "File/e Conflict:  ", "File/f Conflict:  ",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyTheFirstMissingReferencesAreExplained(t *testing.T) {
	t.Parallel()

	var refs []v1alpha1.ResourceRef
	for i := range 128 {
		refs = append(refs, v1alpha1.ResourceRef(fmt.Sprintf("File/x%d", i)))
	}
	_, problems := compiler.Local(compiler.Input{Nodes: []compiler.Node{node("here", "")}, Kinds: kinds(), Resources: []v1alpha1.Resource{file("a", "/a", requires(refs...))}})
	if len(problems) != 10 {
		t.Errorf("%d problems, want 10", len(problems))
	}
}
