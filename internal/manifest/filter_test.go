package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/manifest"
)

func TestFilterKeepsFettlesDocumentsOnTheirLines(t *testing.T) {
	t.Parallel()
	const file = "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: a}\n"
	own, ignored, faults := manifest.Filter("f", []byte("# comment\n---\n"+file+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: v}\n---\n"+
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: in-list}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n---\na: [\n---\n"+
		"apiVersion: v1\nkind: List\nitems: [{kind: List, apiVersion: v1, items: [{kind: Secret, apiVersion: v1}]}]\n"))
	want := "\n---\n" + file + "\n\n\n\n\n---\n" + `{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}]}` + "\n"
	if diff := cmp.Diff(want, string(own)); diff != "" {
		t.Errorf("own (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Secret/s in f:7", "Secret/in-list in f:12", "List in f:20"}, ignored); diff != "" {
		t.Errorf("ignored (-want +got):\n%s", diff)
	}
	if len(faults) != 1 || faults[0].Where != "f:18" {
		t.Errorf("faults: %v", faults)
	}
}
