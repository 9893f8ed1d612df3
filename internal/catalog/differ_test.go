package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

func TestADifferTellsWhatChangedCameAndWent(t *testing.T) {
	t.Parallel()

	in := catalog.Input{Kinds: kinds(), Nodes: []catalog.Node{node("web-1", "web"), node("web-2", "web"), node("db-1", "db")}}
	in.Resources = []v1alpha1.Resource{
		file("changes", "/a", on("web")), file("goes", "/b", on("web")), file("stays", "/c"),
		file("own", "/d", rendering("{{ .node.name }}")), file("rendered", "/e", on("web"), rendering("1 {{ .node.name }}")),
	}
	before := catalog.Compile(in)
	in.Resources = []v1alpha1.Resource{
		file("changes", "/z", on("web")), file("comes", "/b", on("web")), file("stays", "/c"),
		file("own", "/d", rendering("{{ .node.name }}")), file("rendered", "/e", on("web"), rendering("2 {{ .node.name }}")),
	}
	now := catalog.Compile(in)
	var differ catalog.Differ
	changed := []v1alpha1.ResourceRef{"File/changes", "File/comes", "File/goes", "File/rendered"}
	for name, want := range map[string][]v1alpha1.ResourceRef{"web-1": changed, "web-2": changed, "db-1": nil} {
		if diff := cmp.Diff(want, differ.Between(before.Nodes[name], now.Nodes[name])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := differ.Between(now.Nodes[name], now.Nodes[name]); got != nil {
			t.Errorf("%s: %v differ from themselves", name, got)
		}
	}
}
