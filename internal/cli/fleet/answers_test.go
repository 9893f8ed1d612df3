package fleet_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// nodeAnswers are the answers of nodes, and what their commands read besides.
func nodeAnswers() map[string]string {
	const reports = "/apis/reports.fettle.dev/v1alpha1/"
	report := func(counts, resources string) string {
		return `{"kind":"Report","apiVersion":"fettle.dev/v1alpha1","host":"web-1","status":"unchanged","started":"2026-01-02T03:04:05Z","duration":"0.021s","counts":` + counts + `,"resources":[` + resources + `]}`
	}
	const (
		motd   = `{"ref":"File/motd","state":"Noop","events":[{"property":"content","status":"noop","message":"content changed \u001b[2J","diff":"--- /etc/motd\n+++ /etc/motd\n@@ -1 +1 @@\n-bad\n+good\n"}]}`
		exec   = `{"ref":"Exec/x","state":"Skipped","message":"not checked: a question starts no command of an Exec"}`
		counts = `{"total":3,"inSync":1,"noop":1,"skipped":1}`
	)
	return map[string]string{
		reports + "nodediffs/web-1": `{"metadata":{"name":"web-1"},"report":` + report(counts, motd+","+exec) + `}`,
		reports + "nodediffs/web-3": `{"metadata":{"name":"web-3"},"report":` + report(`{"total":1,"inSync":1}`, "") + `}`,
		reports + "nodereports": `{"metadata":{},"items":[{"number":3,"report":` + report(`{"total":1,"changed":1}`, `{"ref":"File/a","state":"Changed","events":[{"message":"created"}]}`) +
			`},{"number":4,"report":` + report(`{"total":1,"failed":1}`, `{"ref":"File/a","state":"Failed","message":"no space"}`) + `}]}`,
		"/apis/fettle.dev/v1alpha1/nodecatalogs/web-1": `{"metadata":{"name":"web-1"},"spec":{"catalogs":[{"name":"sha256-1"}],"entries":[{"kind":"File","name":"a","namevar":"/etc/a","noop":true}],` +
			`"withheld":[{"ref":"File/b","reason":"Conflict","message":"File/c manages it, too"}]}}`,
		"/apis/fettle.dev/v1alpha1/catalogs/sha256-1": `{"metadata":{"name":"sha256-1"},"entries":[{"kind":"File","name":"b","namevar":"/etc/b"},{"kind":"User","name":"ann","namevar":"ann"}]}`,
	}
}

func TestFleetShowsWhatNodesAnswer(t *testing.T) {
	t.Parallel()

	ago := time.Now().UTC().Format(time.RFC3339)
	kubeconfig := cluster(t, ago, ago)
	const motd = "File/motd: content changed \\x1b[2J (noop)\n--- /etc/motd\n+++ /etc/motd\n@@ -1 +1 @@\n-bad\n+good\n"
	const answer = "File/b: withheld: File/c manages it, too\n" + motd + "Exec/x: not checked: a question starts no command of an Exec\n" +
		"3 resources: 1 in sync, 0 changed, 0 refreshed, 1 noop, 1 skipped, 0 failed in 0.021s; 1 withheld\n"
	const entries = "RESOURCE  MANAGES  NOOP  WITHHELD\n" +
		"File/a    /etc/a   true  \n" +
		"File/b                   File/c manages it, too\n" +
		"User/ann  ann            \n"
	for line, want := range map[string]outcome{
		"diff web-1":                      {out: answer},
		"diff web-1 --detailed-exitcodes": {out: answer, code: 6},
		"diff wbe-3":                      {err: "fettle: cannot compare wbe-3: the cluster does not serve reports.fettle.dev: install config/reports, or set reportsAPI.enabled in the chart\n", code: 1},
		"diff File/none":                  {err: "fettle: cannot get File none: not found\n", code: 1},
		"diff File/issue":                 {err: "fettle: File/issue selects no node: it selects role=db\n", code: 1},
		"diff web-3 --detailed-exitcodes": {out: "1 resource: 1 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in 0.021s\n"},
		"diff file/motd --detailed-exitcodes": {
			out: "web-1:\n" + motd + "different on 1 of 2 nodes, 1 without an answer\n", code: 6,
			err: "cannot compare web-2: the cluster does not serve reports.fettle.dev: install config/reports, or set reportsAPI.enabled in the chart\n",
		},
		"diff files/motd": {
			out: "web-1:\n" + motd + "different on 1 of 2 nodes, 1 without an answer\n", code: 1,
			err: "cannot compare web-2: the cluster does not serve reports.fettle.dev: install config/reports, or set reportsAPI.enabled in the chart\n",
		},
		"diff web-9":        {err: "fettle: cannot compare web-9: the cluster does not serve reports.fettle.dev: install config/reports, or set reportsAPI.enabled in the chart\n", code: 1},
		"diff ..":           {err: "fettle: cannot compare ..: \"..\" is not a name of a Node: it may not be '..'\n", code: 1},
		"diff web-1 -o csv": {err: "fettle: --output \"csv\" is not one of [text json yaml]\n", code: 1},
		"report list web-1 -o csv": {out: "NUMBER,AGE,STATUS,CHANGED,REFRESHED,FAILED,NOOP,DURATION\n" +
			"3,2026-01-02T03:04:05Z,unchanged,1,0,0,0,0.021s\n4,2026-01-02T03:04:05Z,unchanged,0,0,1,0,0.021s\n"},
		"report show web-1":                  {out: "1 resource: 0 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in 0.021s\n", err: "File/a: no space\n"},
		"report show web-1 3":                {out: "File/a: created\n1 resource: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in 0.021s\n"},
		"report show web-1 9":                {err: "fettle: web-1 has no report \"9\": see kubectl fettle report list web-1\n", code: 1},
		"catalog web-1":                      {out: entries},
		"catalog web-1 --detailed-exitcodes": {out: entries, code: 4},
		"catalog web-9":                      {err: "fettle: cannot get the NodeCatalog web-9: not found; did you mean web-1 or web-2?\n", code: 1},
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

// Scripts see what keeps a node from an answer, as people do.
func TestFleetDiffEncodesWhatIsWithheldAndUnanswered(t *testing.T) {
	t.Parallel()
	ago := time.Now().UTC().Format(time.RFC3339)
	kubeconfig := cluster(t, ago, ago)
	type counted struct{ Counts map[string]int }
	type answer struct {
		Node, NodeState, Error string
		Report                 counted
		Withheld               []struct{ Ref, Message string }
	}
	none := "the cluster does not serve reports.fettle.dev: install config/reports, or set reportsAPI.enabled in the chart"
	for line, want := range map[string][]answer{
		"diff web-1": {{
			Node: "web-1", NodeState: "Pending", Report: counted{map[string]int{"total": 3, "inSync": 1, "noop": 1, "skipped": 1}},
			Withheld: []struct{ Ref, Message string }{{"File/b", "File/c manages it, too"}},
		}},
		"diff File/motd": {
			{Node: "web-1", NodeState: "InSync", Report: counted{map[string]int{"total": 1, "noop": 1}}},
			{Node: "web-2", NodeState: "Failed", Error: "cannot compare web-2: " + none},
		},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			got := kubectlFettle(t, "", append(strings.Fields(line), "-o", "json", "--kubeconfig", kubeconfig)...)
			var all []answer
			if err := json.Unmarshal([]byte(got.out), &all); err != nil {
				t.Fatalf("%v: %+v", err, got)
			}
			for i := range all {
				maps.DeleteFunc(all[i].Report.Counts, func(_ string, n int) bool { return n == 0 })
			}
			if diff := cmp.Diff(want, all); diff != "" {
				t.Error(diff)
			}
		})
	}
}
