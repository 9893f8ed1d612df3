package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// cluster serves two pages of NodeCatalogs with times that are 90 minutes and ten days old, and returns the path of a
// kubeconfig.
func cluster(t *testing.T, recent, old string) string {
	t.Helper()
	drift := func(ref, first, last string, count int, corrected bool) string {
		return fmt.Sprintf(`{"ref":%q,"firstSeen":%q,"lastSeen":%q,"count":%d,"corrected":%v,"properties":["mode","owner"]}`, ref, first, last, count, corrected)
	}
	ready := `{"type":"Ready","status":"%s","reason":"%s","message":"%s","lastTransitionTime":"` + old + `"}`
	node := func(name, condition string, drift ...string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"catalogs":[]},"status":{"facts":{"os":{}},"counts":{"total":3,"inSync":2,"failed":1},"conditions":[%s],"drift":[%s]}}`,
			name, condition, strings.Join(drift, ","))
	}
	pages := map[string]string{
		"": `{"metadata":{"continue":"next"},"items":[` + node("web-1", fmt.Sprintf(ready, "True", "Applied", ""),
			drift("File/motd", old, recent, 3, true), drift("User/ann", old, old, 1, false)) + `]}`,
		"next": `{"metadata":{},"items":[` + node("web-2", fmt.Sprintf(ready, "False", "ResourcesFailed", `1 failed: File/x\u001b[2J`), drift("File/motd", recent, recent, 1, true)) + `]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/fettle.dev/v1alpha1/nodecatalogs" || r.URL.Query().Get("limit") == "" {
			http.Error(w, "unexpected request "+r.URL.String(), http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprint(w, pages[r.URL.Query().Get("continue")])
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	put(t, file, "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: \""+server.URL+"\"}}]}")
	return file
}

func TestFleet(t *testing.T) {
	t.Parallel()

	ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
	recent, old := ago(90*time.Minute), ago(10*24*time.Hour)
	kubeconfig := cluster(t, recent, old)
	for line, want := range map[string]outcome{
		"status": {out: "Nodes          2 total, 1 ready, 1 failed\n" +
			"Resources      6 total, 4 in sync, 2 failed\n" +
			"Drift in 24 h  1 resource on 2 nodes, 0 uncorrected\n" +
			"\n" +
			"NODE   REASON           SINCE  MESSAGE\n" +
			"web-2  ResourcesFailed  10d    1 failed: File/x\\x1b[2J\n"},
		"status -o csv --detailed-exitcodes": {out: "NODE,REASON,SINCE,MESSAGE\nweb-2,ResourcesFailed," + old + ",1 failed: File/x\\x1b[2J\n", code: 2},
		"drift": {out: "RESOURCE   NODES  COUNT  UNCORRECTED  FIRST  LAST\n" +
			"File/motd  2      4      0            10d    90m\n" +
			"User/ann   1      1      1            10d    10d\n"},
		"drift --by node -o wide --since 2h": {out: "NODE   RESOURCES  COUNT  UNCORRECTED  FIRST  LAST  PROPERTIES\n" +
			"web-1  1          3      0            10d    90m   mode,owner\n" +
			"web-2  1          1      0            90m    90m   mode,owner\n"},
		"drift User/ann --by both -o csv --detailed-exitcodes": {out: "RESOURCE,NODE,COUNT,UNCORRECTED,FIRST,LAST,PROPERTIES\n" +
			"User/ann,web-1,1,1," + old + "," + old + ",\"mode,owner\"\n", code: 2},
		"drift User/ann -o yaml": {out: "- count: 1\n  firstSeen: \"" + old + "\"\n  lastSeen: \"" + old + "\"\n  nodes: 1\n" +
			"  properties:\n  - mode\n  - owner\n  resource: User/ann\n  resources: 1\n  uncorrected: 1\n"},
		"drift File/none --detailed-exitcodes": {err: "no drift found\n"},
		"drift File/none -o json":              {out: "[]\n"},
		"drift motd":                           {err: "fettle: \"motd\" is not a resource: use KIND/NAME, such as File/motd\n", code: 1},
		"drift --by day":                       {err: "fettle: --by \"day\" is not one of [resource node kind both]\n", code: 1},
		"drift -o xml":                         {err: "fettle: --output \"xml\" is not one of [table wide json yaml csv]\n", code: 1},
		"drift --top -1":                       {err: "fettle: --top -1 is negative\n", code: 1},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()

			got := fettle(t, "", append(strings.Fields("fleet "+line), "--kubeconfig", kubeconfig)...)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
