package compiler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// A node must know where a withheld resource manages something, whatever the reason.
func TestWithheldResourcesHaveTheirLocations(t *testing.T) {
	t.Parallel()

	recursive := func(f *v1alpha1.File) { f.Spec.Recurse = new(true) }
	invalidOn := func(f *v1alpha1.File) { f.Spec.NodeSelector = onRole("web"); f.Spec.When = "facts.rack" }
	for name, tt := range map[string]struct {
		node      compiler.Node
		resources []v1alpha1.Resource
		refused   map[v1alpha1.ResourceRef]string
		want      string
	}{
		"Conflict":           {resources: []v1alpha1.Resource{file("a", "/a"), file("b", "/a/", recursive)}, want: "Conflict /a, Conflict /a/"},
		"MissingReference":   {resources: []v1alpha1.Resource{file("a", "/a", requires("File/z"))}, want: "MissingReference /a"},
		"DependencyCycle":    {resources: []v1alpha1.Resource{file("a", "/a", requires("File/b")), file("b", "/b", requires("File/a"))}, want: "DependencyCycle /a, DependencyCycle /b"},
		"DependsOnProblem":   {resources: []v1alpha1.Resource{file("a", "/a", requires("File/b")), file("b", "/b", when("x"))}, want: "DependsOnProblem /a, InvalidWhen /b"},
		"InvalidWhen":        {resources: []v1alpha1.Resource{file("a", "/a", when("1 +"))}, want: "InvalidWhen /a"},
		"InvalidWhen there":  {resources: []v1alpha1.Resource{file("a", "/a", invalidOn)}, want: "InvalidWhen /a"},
		"InvalidSpec":        {resources: []v1alpha1.Resource{file("a", "/a", content("refused"))}, want: "InvalidSpec /a"},
		"InvalidTemplate":    {resources: []v1alpha1.Resource{file("a", "/a", rendering("{{ fail `no` }}"))}, want: "InvalidTemplate /a"},
		"an unread template": {resources: []v1alpha1.Resource{file("a", "/a", rendering("{{"))}, want: "InvalidTemplate /a"},
		"TooLarge":           {resources: []v1alpha1.Resource{file("a", "/a", content(strings.Repeat("x", 600<<10)))}, want: "TooLarge /a"},
		"MissingSource":      {resources: []v1alpha1.Resource{file("a", "/a", from("motd", "text"))}, want: "MissingSource /a"},
		"UnexposedSecret":    {resources: []v1alpha1.Resource{file("a", "/a", fromSecret("none", "text"))}, want: "UnexposedSecret /a"},
		"WaitingForKey":      {node: keyless("web-1", "web"), resources: []v1alpha1.Resource{file("a", "/a", fromSecret("token", "text"))}, want: "WaitingForKey /a"},
		"WaitingForFacts":    {node: factless("web-1", "web"), resources: []v1alpha1.Resource{file("a", "/a", when("facts.x == 1"))}, want: "WaitingForFacts /a"},
		"UnprotectedTargeting": {resources: []v1alpha1.Resource{file("a", "/a", fromSecret("token", "text"), func(f *v1alpha1.File) {
			f.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"role": "web"}}
		})}, want: "UnprotectedTargeting /a"},
		"refused":              {resources: []v1alpha1.Resource{file("a", "/a", recursive)}, refused: map[v1alpha1.ResourceRef]string{"File/a": "no"}, want: "InvalidSpec /a/"},
		"a kind without paths": {resources: []v1alpha1.Resource{service("s", func(s *v1alpha1.SystemService) { s.Spec.When = "x" })}, want: "InvalidWhen "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.node.Name == "" {
				tt.node = node("web-1", "web")
			}
			result := compiler.Compile(compiler.Input{Kinds: kinds(), Secret: secrets, Nodes: []compiler.Node{tt.node}, Resources: tt.resources, Refused: tt.refused})
			var got []string
			for _, w := range result.Nodes["web-1"].Spec.Withheld {
				got = append(got, w.Reason+" "+w.Location)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Nothing is purged where a location may be that has no room.
func TestLocationsOfWithheldResourcesAreBounded(t *testing.T) {
	t.Parallel()

	var resources []v1alpha1.Resource
	for i := range 100 {
		resources = append(resources, file(fmt.Sprintf("f%02d", i), fmt.Sprintf("/%02d%s", i, strings.Repeat("x", 1019)), when("x")))
	}
	result, _ := compiledFor(t, resources...)
	located := 0
	for _, w := range result.Nodes["web-1"].Spec.Withheld {
		if w.Location != "" {
			located++
		}
	}
	if located != 64 {
		t.Errorf("%d locations have room, want 64", located)
	}
}
