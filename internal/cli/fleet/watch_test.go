package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/cli/fleet"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// followed serves a Fleet with some statuses, one after the other, and returns the path of a kubeconfig. Then it calls end.
func followed(t *testing.T, end func(), statuses ...string) string {
	t.Helper()
	object := func(status string) string {
		return `{"kind":"Fleet","apiVersion":"fettle.dev/v1alpha1","metadata":{"name":"fleet","resourceVersion":"7"},"status":` + status + `}`
	}
	const path = "/apis/fettle.dev/v1alpha1/fleets"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == path+"/fleet" && len(statuses) > 0:
			_, _ = fmt.Fprint(w, object(statuses[0]))
		case r.URL.Path == path && r.URL.Query().Get("watch") == "1" && r.URL.Query().Get("resourceVersion") == "7" && r.URL.Query().Get("fieldSelector") == "metadata.name=fleet":
			for _, s := range statuses[1:] {
				_, _ = fmt.Fprintln(w, `{"type":"MODIFIED","object":`+object(s)+`}`)
			}
			_ = http.NewResponseController(w).Flush()
			end()
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`)
		}
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	put(t, file, "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: \""+server.URL+"\"}}]}")
	return file
}

func TestFleetIsFollowed(t *testing.T) {
	t.Parallel()

	statuses := []string{
		`{"nodes":{"total":4,"inSync":1,"pending":3},"drift":{}}`,
		`{"nodes":{"total":4,"inSync":1,"pending":3},"drift":{"count":9}}`, // shows nothing new
		`{"nodes":{"total":5,"inSync":2,"pending":1,"failed":1,"withheld":1},"drift":{"nodes":1}}`,
	}
	for name, c := range map[string]struct {
		terminal bool
		last     string // of what is written
		want     outcome
	}{
		"in lines": {false, "24 h on 1 node\n", outcome{out: "1 of 4 nodes in sync, 3 pending\n2 of 5 nodes in sync, 1 pending, 1 failed, 1 withheld; drift in 24 h on 1 node\n", code: 6}},
		"on a terminal": {true, "24 h on 1 node\x1b[?7h", outcome{err: "\r\x1b[K\x1b[?7l[#######.......................] 1 of 4 nodes in sync, 3 pending\x1b[?7h" +
			"\r\x1b[K\x1b[?7l[########################......] 2 of 5 nodes in sync, 1 pending, 1 failed, 1 withheld; drift in 24 h on 1 node\x1b[?7h\r\x1b[K", code: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var out, stderr locked.Buffer
			sent := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			cmd := fleet.Command(fleet.Options{Streams: program.Streams{Out: &out, Err: &stderr, ErrTerminal: c.terminal}})
			cmd.SetArgs([]string{"status", "--watch", "--detailed-exitcodes", "--kubeconfig", followed(t, func() { close(sent) }, statuses...)})
			ended := make(chan error, 1)
			go func() { ended <- cmd.ExecuteContext(ctx) }()
			<-sent
			patient.Until(t, "everything is shown", func() bool { return strings.HasSuffix(out.String()+stderr.String(), c.last) })
			cancel()
			code := 0
			if exit, ok := errors.AsType[output.Exit](<-ended); ok {
				code = int(exit)
			}
			if diff := cmp.Diff(c.want, outcome{out: out.String(), err: stderr.String(), code: code}, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFleetThatCannotBeFollowed(t *testing.T) {
	t.Parallel()

	for line, want := range map[string]string{
		"":        "fettle: cannot get the Fleet, which the manager creates: not found\n",
		"-o json": "fettle: --watch needs --output table, and --output \"json\" is not one of [table]\n",
	} {
		got := kubectlFettle(t, "", append([]string{"status", "--watch", "--kubeconfig", followed(t, func() {})}, strings.Fields(line)...)...)
		if diff := cmp.Diff(outcome{err: want, code: 1}, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Error(diff)
		}
	}
}
