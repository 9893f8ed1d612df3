package fleet_test

import (
	"fmt"
	"maps"
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
		author := ""
		if corrected {
			author = `,"author":{"executable":"/usr/bin/vi\u001b[2J","pid":7,"uid":0}`
		}
		return fmt.Sprintf(`{"ref":%q,"firstSeen":%q,"lastSeen":%q,"count":%d,"corrected":%v,"properties":["mode","owner"]%s}`, ref, first, last, count, corrected, author)
	}
	ready := `{"type":"Ready","status":"%s","reason":"%s","message":"%s","lastTransitionTime":"` + old + `"}`
	node := func(name, condition, counts string, drift ...string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"catalogs":[]},"status":{"facts":{"os":{}},"counts":{"total":3,%s},"conditions":[%s],"drift":[%s]}}`,
			name, counts, condition, strings.Join(drift, ","))
	}
	pages := map[string]string{
		"": `{"metadata":{"continue":"next"},"items":[` + node("web-1", fmt.Sprintf(ready, "True", "Applied", ""), `"inSync":3`,
			drift("File/motd", old, recent, 3, true), drift("User/ann", old, old, 1, false)) + `]}`,
		"next": `{"metadata":{},"items":[` + node("web-2", fmt.Sprintf(ready, "False", "ResourcesFailed", `1 failed: File/x\u001b[2J`), `"inSync":2,"failed":1`, drift("File/motd", recent, recent, 1, true)) + `]}`,
	}
	const web1, web3 = `{"metadata":{"name":"web-1","labels":{"role":"web"}}}`, `{"metadata":{"name":"web-3"}}`
	answers := map[string]string{
		"/api/v1/nodes":                         `{"metadata":{},"items":[` + web1 + `,` + strings.ReplaceAll(web1, "web-1", "web-2") + `,` + web3 + `]}`,
		"/api/v1/nodes/web-3":                   web3,
		"/apis/fettle.dev/v1alpha1":             `{"resources":[{"name":"files","kind":"File","shortNames":["fl"],"singularName":"file"},{"name":"files/status","kind":"File"},{"name":"nodecatalogs","kind":"NodeCatalog"}]}`,
		"/apis/fettle.dev/v1alpha1/files":       `{"metadata":{},"items":[{"metadata":{"name":"issue"}},{"metadata":{"name":"motd"}},{"metadata":{"name":"bad\u001b[2J"}}]}`,
		"/apis/fettle.dev/v1alpha1/files/issue": `{"kind":"File","metadata":{"name":"issue"},"spec":{"nodeSelector":{"matchLabels":{"role":"db"}}}}`,
		"/apis/fettle.dev/v1alpha1/files/motd": `{"kind":"File","metadata":{"name":"motd"},"spec":{"path":"/etc/motd","nodeSelector":{"matchLabels":{"role":"web"}},"require":["Package/a","User/b"]},` +
			`"status":{"conditions":[{"type":"Ready","status":"True","reason":"InSync","message":"in sync on 2 of 2 nodes"},` +
			`{"type":"Contended","status":"True","reason":"RepeatedDrift","message":"changed again and again by vi\u001b[2J on node web-1"}]}}`,
	}
	maps.Copy(answers, nodeAnswers())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		if r.URL.Path == "/apis/fettle.dev/v1alpha1/nodecatalogs" && r.URL.Query().Get("limit") != "" {
			answer, known = pages[r.URL.Query().Get("continue")], true
		}
		w.Header().Set("Content-Type", "application/json")
		if !known {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`
		}
		_, _ = fmt.Fprint(w, answer)
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
		"status": {out: "Nodes          2 total, 1 in sync, 1 failed\n" +
			"Resources      6 total, 5 in sync, 1 failed\n" +
			"Drift in 24 h  1 resource on 2 nodes, 0 uncorrected\n" +
			"\n" +
			"STATE   NODES  WHICH  SINCE  MESSAGE\n" +
			"Failed  1      web-2  10d    1 failed: File/x\\x1b[2J\n"},
		"status -o csv --detailed-exitcodes": {out: "NODE,STATE,REASON,SINCE,MESSAGE\nweb-2,Failed,ResourcesFailed," + old + ",1 failed: File/x\\x1b[2J\n", code: 4},
		"drift": {out: "RESOURCE   NODES  COUNT  UNCORRECTED  FAILED  FIRST  LAST\n" +
			"File/motd  2      4      0            0       10d    90m\n" +
			"User/ann   1      1      1            0       10d    10d\n"},
		"drift --since 1w1d": {out: "RESOURCE   NODES  COUNT  UNCORRECTED  FAILED  FIRST  LAST\n" +
			"File/motd  2      4      0            0       10d    90m\n"},
		"drift --by node -o wide --since 2h": {out: "NODE   RESOURCES  COUNT  UNCORRECTED  FAILED  FIRST  LAST  PROPERTIES  AUTHOR\n" +
			"web-1  1          3      0            0       10d    90m   mode,owner  /usr/bin/vi\\x1b[2J (PID 7, UID 0)\n" +
			"web-2  1          1      0            0       90m    90m   mode,owner  /usr/bin/vi\\x1b[2J (PID 7, UID 0)\n"},
		"drift User/ann --by both -o csv --detailed-exitcodes": {out: "RESOURCE,NODE,COUNT,UNCORRECTED,FAILED,FIRST,LAST,PROPERTIES,AUTHOR\n" +
			"User/ann,web-1,1,1,0," + old + "," + old + ",\"mode,owner\",unknown\n", code: 2},
		"drift User/ann -o yaml": {out: "- count: 1\n  failed: 0\n  firstSeen: \"" + old + "\"\n  lastSeen: \"" + old + "\"\n  nodes: 1\n" +
			"  properties:\n  - mode\n  - owner\n  resource: User/ann\n  resources: 1\n  uncorrected: 1\n"},
		"drift files/motd --node web-2": {out: "RESOURCE   NODES  COUNT  UNCORRECTED  FAILED  FIRST  LAST\n" +
			"File/motd  1      1      0            0       90m    90m\n"},
		"drift fl/motd --since 1m --detailed-exitcodes": {err: "no drift found\n"},
		"drift fl/motd --since 1m -o json":              {out: "[]\n"},
		"drift File/mots":                               {err: "fettle: cannot get File mots: not found; did you mean motd?\n", code: 1},
		"drift File/none":                               {err: "fettle: cannot get File none: not found\n", code: 1},
		"drift Fil/motd":                                {err: "fettle: the cluster has no kind \"Fil\" of Fettle; did you mean File?\n", code: 1},
		"drift Zone/motd":                               {err: "fettle: the cluster has no kind \"Zone\" of Fettle: see kubectl api-resources --categories=fettle\n", code: 1},
		"drift File[motd]":                              {err: "fettle: \"File[motd]\" is how Puppet writes it: write File/motd\n", code: 1},
		"drift --node web-1 --node wbe-2":               {err: "fettle: there is no NodeCatalog wbe-2; did you mean web-2?\n", code: 1},
		"why fl/motd": {out: "Resource   File/motd\n" +
			"Ready      True (InSync): in sync on 2 of 2 nodes\n" +
			"Contended  changed again and again by vi\\x1b[2J on node web-1\n" +
			"Selects    role=web: 2 of 3\n" +
			"Requires   Package/a, User/b\n" +
			"\n" +
			"STATE   NODES  WHICH         SINCE  DRIFT  REASON\n" +
			"InSync  2      web-1, web-2         4      \n"},
		"why File/motd --node web-3 -o csv": {out: "NODE,SELECTED,STATE,SINCE,DRIFT,AUTHOR,REASON\n" +
			"web-3,no,,,,,\"its nodeSelector requires role=web, and the node has no label role\"\n"},
		"why File/motd -o wide": {out: "Resource   File/motd\n" +
			"Ready      True (InSync): in sync on 2 of 2 nodes\n" +
			"Contended  changed again and again by vi\\x1b[2J on node web-1\n" +
			"Selects    role=web: 2 of 3\n" +
			"Requires   Package/a, User/b\n" +
			"\n" +
			"NODE   SELECTED  STATE   SINCE  DRIFT  AUTHOR                             REASON\n" +
			"web-1  yes       InSync         3      /usr/bin/vi\\x1b[2J (PID 7, UID 0)  \n" +
			"web-2  yes       InSync         1      /usr/bin/vi\\x1b[2J (PID 7, UID 0)  \n" +
			"web-3  no                                                                 its nodeSelector requires role=web, and the node has no label role\n"},
		"why File/motd --node web-3 -o json --detailed-exitcodes": {
			out: "[\n  {\n    \"node\": \"web-3\",\n    \"selected\": false,\n    \"reason\": \"its nodeSelector requires role=web, and the node has no label role\"\n  }\n]\n",
		},
		"why File/none":             {err: "fettle: cannot get File none: not found\n", code: 1},
		"why File/mtd":              {err: "fettle: cannot get File mtd: not found; did you mean motd?\n", code: 1},
		"why File['motd']":          {err: "fettle: \"File['motd']\" is how Puppet writes it: write File/motd\n", code: 1},
		"why Fil/motd":              {err: "fettle: the cluster has no kind \"Fil\" of Fettle; did you mean File?\n", code: 1},
		"why File/motd --node web9": {err: "fettle: cannot get the Node web9: not found; did you mean web-1 or web-2?\n", code: 1},
		"why File/../x":             {err: "fettle: \"../x\" is not a name of a resource: it may not contain '/'\n", code: 1},
		"why File/motd --node none": {err: "fettle: cannot get the Node none: not found\n", code: 1},
		"why File/motd --node a/b":  {err: "fettle: \"a/b\" is not a name of a Node: it may not contain '/'\n", code: 1},
		"drift motd":                {err: "fettle: \"motd\" is not KIND/NAME, such as File/motd\n", code: 1},
		"drift --by day":            {err: "fettle: --by \"day\" is not one of [resource node kind both]\n", code: 1},
		"drift -o xml":              {err: "fettle: --output \"xml\" is not one of [table wide json yaml csv]\n", code: 1},
		"drift --top -1":            {err: "fettle: --top -1 is negative\n", code: 1},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()

			got := kubectlFettle(t, "", append(strings.Fields(line), "--kubeconfig", kubeconfig)...)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNamesOfTheClusterAreCompleted(t *testing.T) {
	t.Parallel()

	kubeconfig := cluster(t, "2026-01-02T03:04:05Z", "2026-01-01T03:04:05Z")
	const noSpace, noFile = ":6\n", ":4\n"
	for line, want := range map[string]string{
		"why Fi":                "web-1\nweb-2\nFile/\n" + noSpace,
		"why File/":             "File/issue\nFile/motd\n" + noFile,
		"why fl/mo":             "fl/motd\n" + noFile,
		"why File/motd Fi":      noFile,
		"why None/":             noFile,
		"drift File/motd File/": "File/issue\n" + noFile,
		"catalog we":            "web-1\nweb-2\n" + noFile,
		"catalog web-1 we":      noFile,
		"diff we":               "web-1\nweb-2\n" + noSpace,
		"diff File/m":           "File/motd\n" + noFile,
		"drift --node we":       "web-1\nweb-2\n" + noFile,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()

			words := strings.Fields(line)
			args := append([]string{"__complete", words[0], "--kubeconfig", kubeconfig}, words[1:]...)
			if got := kubectlFettle(t, "", args...); got.out != want {
				t.Errorf("got %q, want %q; stderr: %s", got.out, want, got.err)
			}
		})
	}
	t.Run("without a cluster", func(t *testing.T) {
		t.Parallel()

		if got := kubectlFettle(t, "", "__complete", "why", "--kubeconfig", "/nonexistent", "Fi"); got.out != noSpace {
			t.Errorf("got %q", got.out)
		}
	})
}
