package fleet_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A switchboard serves NodeCatalogs and the Fleet, and records patches.
type switchboard struct {
	kubeconfig string

	mu      sync.Mutex
	objects map[string]string // by path
	patches []string
}

const nodecatalogs = "/apis/fettle.dev/v1alpha1/nodecatalogs/"

func newSwitchboard(t *testing.T, objects map[string]string) *switchboard {
	t.Helper()
	s := &switchboard{objects: objects, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	put(t, s.kubeconfig, "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: \""+server.URL+"\"}}]}")
	return s
}

func (s *switchboard) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	object, known := s.objects[r.URL.Path]
	switch {
	case r.URL.Path == strings.TrimSuffix(nodecatalogs, "/"):
		var all []string
		for _, path := range slices.Sorted(maps.Keys(s.objects)) {
			if strings.HasPrefix(path, nodecatalogs) {
				all = append(all, s.objects[path])
			}
		}
		object = `{"metadata":{},"items":[` + strings.Join(all, ",") + `]}`
	case r.URL.Path == "/api/v1/nodes" && r.URL.Query().Get("labelSelector") == "role=web":
		object = `{"metadata":{},"items":[{"metadata":{"name":"web-1"}},{"metadata":{"name":"web-2"}},{"metadata":{"name":"new"}}]}`
	case r.URL.Path == "/api/v1/nodes":
		object = `{"metadata":{},"items":[]}`
	case !known:
		w.WriteHeader(http.StatusNotFound)
		object = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`
	case r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/locked"):
		w.WriteHeader(http.StatusForbidden)
		object = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"User \"ann\" cannot patch resource \"nodecatalogs\""}`
	case r.Method == http.MethodPatch:
		body, _ := io.ReadAll(r.Body)
		s.patches = append(s.patches, fmt.Sprintf("%s %s %s: %s", r.URL.Path[len("/apis/fettle.dev/v1alpha1/"):], r.Header.Get("Content-Type"), r.URL.RawQuery, body))
	}
	_, _ = io.WriteString(w, object)
}

// control is an object with a spec, and with a message if it is disabled by its host.
func control(name, spec, message string) string {
	if message != "" {
		message = `{"type":"Ready","status":"False","reason":"Disabled","message":"` + message + `"}`
	}
	return `{"metadata":{"name":"` + name + `"},"spec":` + spec + `,"status":{"conditions":[` + message + `]}}`
}

func controls(fleet string) map[string]string {
	const until = `{"disabled":{"reason":"disk\u001b[2J","until":"2099-01-02T03:04:05Z"}}`
	return map[string]string{
		nodecatalogs + "web-1":                   control("web-1", `{"noop":true}`, ""),
		nodecatalogs + "web-2":                   control("web-2", until, "runs are disabled for this node"),
		nodecatalogs + "db-1":                    control("db-1", `{"fleetDisabled":{"reason":"incident"}}`, "runs are disabled on this host (raid): enable them with fettle enable; runs are disabled for all nodes"),
		nodecatalogs + "db-2":                    control("db-2", `{"disabled":{"until":"2020-01-02T03:04:05Z"},"fleetDisabled":{"until":"2020-01-02T03:04:05Z"}}`, ""),
		nodecatalogs + "locked":                  control("locked", `{}`, ""),
		"/apis/fettle.dev/v1alpha1/fleets/fleet": control("fleet", fleet, ""),
	}
}

func TestRunsOfNodesAreDisabledAndEnabled(t *testing.T) {
	t.Parallel()

	const merge = " application/merge-patch+json fieldManager=fettle-cli"
	for line, want := range map[string]struct {
		outcome
		patches []string
	}{
		"disable web-1": {outcome{out: "node web-1 disabled\n"}, []string{"nodecatalogs/web-1" + merge + `: {"spec":{"disabled":{"reason":null,"until":null}}}`}},
		"disable web-1 web-2 node/web-1 --reason RAID --until 2099-01-02T03:04:05Z": {
			outcome{out: "node web-1 disabled until 2099-01-02T03:04:05Z (RAID)\nnode web-2 disabled until 2099-01-02T03:04:05Z (RAID)\n"},
			[]string{
				"nodecatalogs/web-1" + merge + `: {"spec":{"disabled":{"reason":"RAID","until":"2099-01-02T03:04:05Z"}}}`,
				"nodecatalogs/web-2" + merge + `: {"spec":{"disabled":{"reason":"RAID","until":"2099-01-02T03:04:05Z"}}}`,
			},
		},
		"disable db-2 --until 2020-01-02T03:04:05Z": {outcome{err: "fettle: --until \"2020-01-02T03:04:05Z\" is not in the future\n", code: 1}, nil},
		"disable -l role=web --dry-run server": {
			outcome{out: "node web-1 disabled (server dry run)\nnode web-2 disabled (server dry run)\n"},
			[]string{
				"nodecatalogs/web-1 application/merge-patch+json dryRun=All&fieldManager=fettle-cli" + `: {"spec":{"disabled":{"reason":null,"until":null}}}`,
				"nodecatalogs/web-2 application/merge-patch+json dryRun=All&fieldManager=fettle-cli" + `: {"spec":{"disabled":{"reason":null,"until":null}}}`,
			},
		},
		"disable --all --reason RAID":   {outcome{out: "all nodes disabled (RAID)\n"}, []string{"fleets/fleet" + merge + `: {"spec":{"disabled":{"reason":"RAID","until":null}}}`}},
		"disable --all --reason UPDATE": {outcome{out: "all nodes already disabled (UPDATE)\n"}, nil},
		"enable web-1":                  {outcome{out: "node web-1 not disabled\n"}, nil},
		"enable web-2":                  {outcome{out: "node web-2 enabled\n"}, []string{"nodecatalogs/web-2" + merge + `: {"spec":{"disabled":null}}`}},
		"enable db-1": {outcome{
			out: "node db-1 remains disabled with all nodes (incident): use kubectl fettle enable --all; disabled on its host: use fettle enable there\n",
		}, nil},
		"enable db-2": {outcome{out: "node db-2 enabled\n"}, []string{"nodecatalogs/db-2" + merge + `: {"spec":{"disabled":null}}`}},
		"enable --all": {outcome{out: "all nodes enabled\n" +
			"node db-1 remains disabled on its host: use fettle enable there\n" +
			"node web-2 remains disabled until 2099-01-02T03:04:05Z (disk\\x1b[2J): use kubectl fettle enable web-2\n"}, []string{"fleets/fleet" + merge + `: {"spec":{"disabled":null}}`}},

		// A mistake in one name changes no node.
		"disable web-1 web1":             {outcome{err: "fettle: cannot get the NodeCatalog web1: not found; did you mean web-1 or web-2?\n", code: 1}, nil},
		"disable web-1 a/b":              {outcome{err: "fettle: \"a/b\" is not a name of a Node\n", code: 1}, nil},
		"disable locked":                 {outcome{err: "fettle: you may not change the NodeCatalog locked: ask for the right to patch it: User \"ann\" cannot patch resource \"nodecatalogs\"\n", code: 1}, nil},
		"disable -l role=db":             {outcome{err: "fettle: no Node with a NodeCatalog has labels that match \"role=db\"\n", code: 1}, nil},
		"disable":                        {outcome{err: "fettle: name nodes, or use either -l SELECTOR or --all\n", code: 1}, nil},
		"disable web-1 --all":            {outcome{err: "fettle: name nodes, or use either -l SELECTOR or --all\n", code: 1}, nil},
		"enable -l a --all":              {outcome{err: "fettle: name nodes, or use either -l SELECTOR or --all\n", code: 1}, nil},
		"enable web-1 --dry-run client":  {outcome{err: "fettle: --dry-run \"client\" is not one of [none server]\n", code: 1}, nil},
		"disable web-1 --until tomorrow": {outcome{err: "fettle: --until \"tomorrow\" is neither a duration such as 2h or 7d nor a time such as 2026-01-02T15:04:05Z\n", code: 1}, nil},
		"disable web-1 --until -2h":      {outcome{err: "fettle: --until \"-2h\" is not in the future\n", code: 1}, nil},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()

			s := newSwitchboard(t, controls(`{"disabled":{"reason":"UPDATE"}}`))
			got := kubectlFettle(t, "", append(strings.Fields(line), "--kubeconfig", s.kubeconfig)...)
			if diff := cmp.Diff(want.outcome, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want.patches, slices.Sorted(slices.Values(s.patches))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRunsAreDisabledForADuration(t *testing.T) {
	t.Parallel()

	for until, want := range map[string]time.Duration{"90m": 90 * time.Minute, "7d": 7 * 24 * time.Hour} {
		s := newSwitchboard(t, controls("{}"))
		before := time.Now()
		got := kubectlFettle(t, "", "disable", "web-1", "--until", until, "--kubeconfig", s.kubeconfig)
		_, text, _ := strings.Cut(strings.TrimSpace(got.out), " until ")
		end, err := time.Parse(time.RFC3339, text)
		if earliest := before.Add(want).Truncate(time.Second); err != nil || end.Before(earliest) || end.After(time.Now().Add(want)) {
			t.Errorf("%s: %+v, %v", until, got, err)
		}
	}
}

func TestDisableNeedsAFleet(t *testing.T) {
	t.Parallel()

	s := newSwitchboard(t, nil)
	want := outcome{err: "fettle: cannot get the Fleet, which the manager creates: not found\n", code: 1}
	if diff := cmp.Diff(want, kubectlFettle(t, "", "disable", "--all", "--kubeconfig", s.kubeconfig), cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
}
