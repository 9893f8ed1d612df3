package fleet_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
)

// planner is a cluster that answers plans with these responses, one after the other, and again from the first one.
type planner struct {
	kubeconfig string
	policies   string // that the cluster has; "" for an older one, which does not know them
	mu         sync.Mutex
	asked      []reports.PlanSpec
}

func plannerOf(t *testing.T, responses ...string) *planner {
	t.Helper()
	p := &planner{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		lists := map[string]string{"/apis/fettle.dev/v1alpha1/nodecatalogs": planNodes, "/api/v1/nodes": planLabels, "/apis/fettle.dev/v1alpha1/rolloutpolicies": p.policies}
		if list := lists[r.URL.Path]; list != "" {
			_, _ = fmt.Fprint(w, list)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		body, err := io.ReadAll(r.Body)
		var plan reports.Plan
		if err == nil {
			err = json.Unmarshal(body, &plan)
		}
		if r.Method != http.MethodPost || r.URL.Path != "/apis/reports.fettle.dev/v1alpha1/plans" || err != nil {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`)
			return
		}
		answer := responses[len(p.asked)%len(responses)]
		p.asked = append(p.asked, plan.Spec)
		switch {
		case strings.Contains(answer, `"TooManyRequests"`):
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case strings.Contains(answer, `"Failure"`):
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	put(t, p.kubeconfig, "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: \""+server.URL+"\"}}]}")
	return p
}

// planNodes are the nodes of plans: one is held, one is silent, and runs are disabled on one. Others are not affected.
const planNodes = `{"metadata":{},"items":[{"metadata":{"name":"web-2"},"spec":{"held":{"since":"2026-01-02T03:04:05Z","resources":["File/a"]}}},` +
	`{"metadata":{"name":"web-3","annotations":{"fettle.dev/silent-since":"2026-01-02T03:04:05Z"}}},` +
	`{"metadata":{"name":"web-4"},"status":{"conditions":[{"type":"Ready","status":"False","reason":"Disabled"}]}},` +
	`{"metadata":{"name":"web-9","annotations":{"fettle.dev/silent-since":"2026-01-02T03:04:05Z"}}}]}`

// planLabels are the labels of the nodes: one is for staging, the others are for production.
const planLabels = `{"metadata":{},"items":[{"metadata":{"name":"web-1","labels":{"tier":"staging"}}},{"metadata":{"name":"web-2","labels":{"tier":"prod"}}},` +
	`{"metadata":{"name":"web-3","labels":{"tier":"prod"}}},{"metadata":{"name":"web-4","labels":{"tier":"prod"}}},{"metadata":{"name":"web-5","labels":{"tier":"prod"}}},{"metadata":{"name":"web-9"}}]}`

const planFile = "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: motd}\nspec: {nodeSelector: {}, path: /etc/motd, content: x}\n"

const (
	planReport = `{"kind":"Report","counts":{"total":3,"noop":2,"skipped":1},"resources":[{"ref":"File/motd","state":"Noop","events":[{"property":"content","status":"noop","message":"content changed","diff":"--- a\n+++ b\n-one\u001b[2J\n+` + "```" + `two|\n"}]},` +
		`{"ref":"SystemService/x","state":"Noop","events":[{"status":"noop","message":"refreshed by 1 event"}]},{"ref":"Exec/y","state":"Skipped","message":"not checked: a question starts no command of an Exec"},` +
		`{"ref":"File/s","state":"InSync","message":"not compared: content, from a Secret"}]}`
	planGroups = `{"key":"1","nodes":["%s"],"changes":[{"ref":"File/motd","action":"Change"}],"answer":"Report","generated":7,"report":` + planReport + `}`
	firstPart  = `{"status":{"total":9,"affected":5,"continue":"web-1","groups":[` + planGroups + `]}}`
	lastPart   = `{"status":{"total":9,"affected":5,"notes":["Deployment/web in a.yaml:1 is not of fettle.dev"],"groups":[` + planGroups + `,` +
		`{"key":"2","nodes":["web-3"],"changes":[{"ref":"File/motd","action":"Withhold","reason":"Conflict","message":"m"}],"answer":"None","message":"not connected"},` +
		`{"key":"3","nodes":["web-4"],"changes":[{"ref":"File/motd","action":"Add","noop":true}],"answer":"NotAsked"},` +
		`{"key":"4","nodes":["web-5"],"changes":[{"ref":"File/motd","action":"Remove"}],"answer":"Report","report":{"resources":[]}}],` +
		`"problems":[{"ref":"File/motd","reason":"Conflict","message":"<b>@ann</b>","nodes":1}]}}`
)

func TestFleetPlanShowsOutcomesOfAllResponses(t *testing.T) {
	t.Parallel()
	p := plannerOf(t, fmt.Sprintf(firstPart, "web-1"), fmt.Sprintf(lastPart, "web-2"))
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.yaml"), "# a\n---\n"+planFile+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: hunter2}\n---\n"+strings.Replace(planFile, "motd", "b", 1))
	args := []string{"plan", "-f", dir, "--prune", "-l", "team=web", "--sample", "3", "--detailed-exitcodes", "--kubeconfig", p.kubeconfig}
	want := outcome{
		code: 6, out: "" +
			"NODES  EXAMPLE  RESOURCE         CATALOG             HOST\n" +
			"2      web-1    File/motd        change              content changed\n" +
			"2      web-1    SystemService/x                      refreshed by 1 event\n" +
			"2      web-1    Exec/y                               unknown: not checked: a question starts no command of an Exec\n" +
			"2      web-1    File/s                               not compared: content, from a Secret\n" +
			"2      web-1    7 generated                          would change or fail\n" +
			"1      web-3    File/motd        withhold: Conflict  unknown: not connected\n" +
			"1      web-4    File/motd        add (noop)          not asked\n" +
			"1      web-5    File/motd        remove              no change\n" +
			"\nFile/motd on web-1, web-2:\n--- a\n+++ b\n-one\\x1b[2J\n+```two|\n\n" +
			"File/motd on 1 node: Conflict: <b>@ann</b>\n" +
			"5 of 9 nodes: 3 answered, of which 2 would change; 1 would not get a resource; 2 partly unknown; 1 without an answer, 1 not asked; 1 held; 1 disabled; 1 silent\n" +
			"No RolloutPolicy: the change reaches all nodes at once\n",
		err: "note: Secret/s in " + dir + "/a.yaml:8 is not part of the plan\nnote: Deployment/web in a.yaml:1 is not of fettle.dev\n",
	}
	if diff := cmp.Diff(want, kubectlFettle(t, "", args...), cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
	spec := reports.PlanSpec{Prune: true, Selector: "team=web", Sample: 3, Manifests: []reports.PlanManifest{{
		Name: filepath.Join(dir, "a.yaml"), Text: "\n---\n" + planFile + "\n\n\n\n\n---\n" + strings.Replace(planFile, "motd", "b", 1),
	}}}
	next := spec
	next.Continue = "web-1"
	if diff := cmp.Diff([]reports.PlanSpec{spec, next}, p.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}

	markdown := kubectlFettle(t, "", append(args, "-o", "markdown")...)
	wantText := "### Plan: 5 of 9 nodes: 3 answered, of which 2 would change; 1 would not get a resource; 2 partly unknown; 1 without an answer, 1 not asked; 1 held; 1 disabled; 1 silent\n\n" +
		"| Nodes | Example | Resource | Catalog | Host |\n|--:|---|---|---|---|\n" +
		"| 2 | `web-1` | `File/motd` | `change` | `content changed` |\n" +
		"| 2 | `web-1` | `SystemService/x` |  | `refreshed by 1 event` |\n" +
		"| 2 | `web-1` | `Exec/y` |  | `unknown: not checked: a question starts no command of an Exec` |\n" +
		"| 2 | `web-1` | `File/s` |  | `not compared: content, from a Secret` |\n" +
		"| 2 | `web-1` | `7 generated` |  | `would change or fail` |\n" +
		"| 1 | `web-3` | `File/motd` | `withhold: Conflict` | `unknown: not connected` |\n" +
		"| 1 | `web-4` | `File/motd` | `add (noop)` | `not asked` |\n" +
		"| 1 | `web-5` | `File/motd` | `remove` | `no change` |\n" +
		"\n`File/motd` on `web-1, web-2`:\n\n````diff\n--- a\n+++ b\n-one\\x1b[2J\n+```two|\n````\n" +
		"\n`No RolloutPolicy: the change reaches all nodes at once`\n" +
		"\n- `File/motd on 1 node: Conflict: <b>@ann</b>`\n"
	if diff := cmp.Diff(wantText, markdown.out); diff != "" {
		t.Error(diff)
	}
}

const tooMany = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"message":"2 other plans are being made","details":{"retryAfterSeconds":1}}`

func TestFleetPlanWaitsWhileOtherPlansAreMade(t *testing.T) {
	t.Parallel()
	p := plannerOf(t, tooMany, fmt.Sprintf(firstPart, "web-1"), tooMany, fmt.Sprintf(lastPart, "web-2"))
	got := kubectlFettle(t, planFile, "plan", "-f", "-", "--kubeconfig", p.kubeconfig)
	if last := "5 of 9 nodes: 3 answered, of which 2 would change; 1 would not get a resource; 2 partly unknown; 1 without an answer, 1 not asked; 1 held; 1 disabled; 1 silent\nNo RolloutPolicy: the change reaches all nodes at once\n"; !strings.HasSuffix(got.out, last) || got.code != 0 {
		t.Errorf("%+v", got)
	}
	late := plannerOf(t, tooMany, fmt.Sprintf(firstPart, "web-1"), tooMany, tooMany)
	got = kubectlFettle(t, planFile, "plan", "-f", "-", "--timeout", "1500ms", "--kubeconfig", late.kubeconfig)
	if last := "5 of 9 nodes: 1 answered, of which 1 would change; 1 partly unknown; 0 without an answer, 4 not asked\nNo RolloutPolicy: the change reaches all nodes at once\n"; !strings.HasSuffix(got.out, last) || got.code != 0 {
		t.Errorf("%+v", got)
	}
	busy := plannerOf(t, tooMany)
	got = kubectlFettle(t, planFile, "plan", "-f", "-", "--timeout", "1ms", "--kubeconfig", busy.kubeconfig)
	if diff := cmp.Diff(outcome{err: "fettle: cannot plan: 2 other plans are being made\n", code: 1}, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
}

func TestFleetPlanThatIsTooLargeIsNotSent(t *testing.T) {
	t.Parallel()
	p := plannerOf(t, "")
	got := kubectlFettle(t, planFile+strings.Repeat("#", 3<<20), "plan", "-f", "-", "--kubeconfig", p.kubeconfig)
	want := outcome{err: "fettle: the manifests have 3073 KiB as JSON, and a plan has room for 3072: plan a part of them\n", code: 1}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" || len(p.asked) != 0 {
		t.Errorf("%d requests: %s", len(p.asked), diff)
	}
}

func TestFleetPlanWithoutChangeOrWithFaults(t *testing.T) {
	t.Parallel()
	nothing := plannerOf(t, `{"status":{"total":3,"affected":0,"groups":[]}}`)
	withheld := plannerOf(t, `{"status":{"total":3,"affected":0,"groups":[],"problems":[{"ref":"File/motd","reason":"Conflict","message":"File/b manages it, too","stays":true}]}}`)
	breaks := plannerOf(t, `{"status":{"total":3,"affected":1,"groups":[{"key":"1","nodes":["web-1"],"changes":[{"ref":"File/motd","action":"Change"}],"answer":"Report",`+
		`"report":{"counts":{"total":1,"failed":1},"resources":[{"ref":"File/motd","state":"Failed","message":"no space"}]}}]}}`)
	changes := plannerOf(t, `{"status":{"total":3,"affected":1,"groups":[{"key":"1","nodes":["web-1"],"changes":[{"ref":"File/motd","action":"Change"}],"answer":"Report",`+
		`"report":{"counts":{"total":1,"noop":1},"resources":[{"ref":"File/motd","state":"Noop","events":[{"message":"mode changed"}]}]}}]}}`)
	const heads = "NODES  EXAMPLE  RESOURCE   CATALOG  HOST\n1      web-1    File/motd  change   "
	outcomes := map[string]outcome{
		breaks.kubeconfig:   {code: 4, out: heads + "fails: no space\n\n1 of 3 nodes: 1 answered, of which 0 would change; 1 would fail; 0 without an answer, 0 not asked\nNo RolloutPolicy: the change reaches all nodes at once\n"},
		changes.kubeconfig:  {code: 2, out: heads + "mode changed\n\n1 of 3 nodes: 1 answered, of which 1 would change; 0 without an answer, 0 not asked\nNo RolloutPolicy: the change reaches all nodes at once\n"},
		withheld.kubeconfig: {code: 4, out: "File/motd on all nodes, as now: Conflict: File/b manages it, too\nno change for 3 nodes; 1 withheld\n"},
	}
	for kubeconfig, want := range outcomes {
		got := kubectlFettle(t, planFile, "plan", "-f", "-", "--detailed-exitcodes", "--kubeconfig", kubeconfig)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Error(diff)
		}
		if got := kubectlFettle(t, planFile, "plan", "-f", "-", "--kubeconfig", kubeconfig); got.code != 0 {
			t.Errorf("without detailed exit codes: %+v", got)
		}
	}
	faulty := plannerOf(t, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,"message":"a.yaml:3: File/motd: spec.mode: bad"}`)
	for line, want := range map[string]outcome{
		"plan -f - --detailed-exitcodes --kubeconfig " + nothing.kubeconfig: {out: "no change for 3 nodes\n"},
		"plan -f - --fail-on-change":                                        {err: "fettle: --fail-on-change is now --detailed-exitcodes: it exits with 2 for changes, 4 for what would break, and 6 for both\n", code: 1},
		"plan -f - -o json --kubeconfig " + nothing.kubeconfig: {out: "{\n  \"nodes\": {\n    \"total\": 3,\n    \"affected\": 0,\n    \"answered\": 0,\n    \"noAnswer\": 0,\n    \"notAsked\": 0,\n    \"changing\": 0\n  },\n" +
			"  \"groups\": [],\n  \"problems\": []\n}\n"},
		"plan -f - --kubeconfig " + faulty.kubeconfig: {err: "fettle: cannot plan: a.yaml:3: File/motd: spec.mode: bad\n", code: 1},
		"plan":                     {err: "fettle: no manifests: use -f FILE, -f DIR, -f URL, -k DIR or, for stdin, -f -\n", code: 1},
		"plan -f - -l a=b":         {err: "fettle: --selector limits what --prune deletes: use both\n", code: 1},
		"plan -f - --sample -1":    {err: "fettle: --sample -1 is negative: use 0 to ask all nodes\n", code: 1},
		"plan -f - --timeout 0s":   {err: "fettle: --timeout 0s is no time: use 1s or more\n", code: 1},
		"plan -f - -o csv":         {err: "fettle: --output \"csv\" is not one of [table json yaml markdown]\n", code: 1},
		"plan -f /does/not/exist.": {err: "fettle: cannot read /does/not/exist.: no such file or directory\n", code: 1},
	} {
		if diff := cmp.Diff(want, kubectlFettle(t, planFile, strings.Fields(line)...), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
	got := kubectlFettle(t, "a: [\n---\n"+planFile, "plan", "-f", "-", "--kubeconfig", nothing.kubeconfig)
	if got.code != 1 || !strings.Contains(got.err, "stdin:1") || !strings.Contains(got.err, "nothing was planned: correct the manifests first") {
		t.Errorf("%+v", got)
	}
}
