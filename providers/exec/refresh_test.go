package exec_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
)

// Each case is an Exec that another one notifies, and that logs its runs to a file.
func TestRefresh(t *testing.T) {
	const ran = "executed successfully"
	const refreshed = "refreshed by 1 event"
	tests := map[string]struct {
		spec string
		noop bool
		did  string
		want []string
	}{
		"runs twice without checks": {
			spec: `command: echo c >> /srv/did`, did: "cc", want: []string{"Exec/b Changed", ran, refreshed},
		},
		"runs once with refreshOnly": {
			spec: `command: echo c >> /srv/did, refreshOnly: true`, did: "c", want: []string{"Exec/b Refreshed", refreshed},
		},
		"refresh replaces command": {
			spec: `command: echo c >> /srv/did, refresh: echo r >> /srv/did`, did: "cr", want: []string{"Exec/b Changed", ran, refreshed},
		},
		"only refresh runs with refreshOnly": {
			spec: `command: echo c >> /srv/did, refresh: echo r >> /srv/did, refreshOnly: true`, did: "r", want: []string{"Exec/b Refreshed", refreshed},
		},
		"failing checks prevent the command and the refresh": {
			spec: `command: echo c >> /srv/did, unless: ["true"]`, want: []string{"Exec/b InSync"},
		},
		"failing checks prevent the refresh with refreshOnly": {
			spec: `command: echo c >> /srv/did, refreshOnly: true, onlyIf: ["false"]`, want: []string{"Exec/b InSync"},
		},
		"failing checks prevent a separate refresh command": {
			spec: `command: echo c >> /srv/did, refresh: echo r >> /srv/did, refreshOnly: true, unless: ["true"]`, want: []string{"Exec/b InSync"},
		},
		"checks run again after the command": {
			spec: `command: echo c >> /srv/did, creates: [/srv/did]`, did: "c", want: []string{"Exec/b Changed", ran},
		},
		"a check that cannot run fails the refresh": {
			spec: `command: echo c >> /srv/did, refreshOnly: true, unless: [exit 127]`,
			want: []string{"Exec/b Failed", `cannot refresh: cannot check unless "exit 127": it exited with 127: command not found`},
		},
		"a failed refresh fails the resource and reports its output": {
			spec: `command: echo c >> /srv/did, refreshOnly: true, refresh: echo why; exit 1`,
			want: []string{"Exec/b Failed", `cannot refresh: exit status 1; output: why`},
		},
		"the output of a refresh can be reported": {
			spec: `command: "true", refreshOnly: true, refresh: echo well, logOutput: always`,
			want: []string{"Exec/b Refreshed", "output: well", refreshed},
		},
		"noop runs only the checks": {
			spec: `command: echo c >> /srv/did, unless: ["test -e /srv/did"]`, noop: true,
			want: []string{
				"Exec/b Noop", "output: its checks ran in a sandbox without a network, /run and other processes: an apply may find that nothing is to be done",
				"would have been executed (noop)", "may be refreshed by 1 event (noop) (unknown: runs a command)",
			},
		},
		"noop respects a failing check": {
			spec: `command: echo c >> /srv/did, onlyIf: ["test -e /srv/did"]`, noop: true,
			want: []string{"Exec/b Noop", "may be refreshed by 1 event (noop) (unknown: comes after Exec/a)"},
		},
	}
	h, _ := open(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			must(t, h.Remove("/srv/did"))
			notifier := item(t, "a", `{command: /bin/true}`, "b")
			got := run(t, h, test.noop, notifier, item(t, "b", `{shell: true, `+test.spec+`}`))

			first := []string{"Exec/a Changed", ran}
			if test.noop {
				first = []string{"Exec/a Noop", "would have been executed (noop) (unknown: runs a command)"}
			}
			same(t, got, append(first, test.want...)...)
			did, err := h.ReadFile("/srv/did")
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(string(did), "\n", ""); got != test.did {
				t.Errorf("did %q, want %q", got, test.did)
			}
		})
	}
}

func TestEventsDoNotRunANoopExec(t *testing.T) {
	h, _ := open(t)
	b := item(t, "b", `{command: /usr/bin/touch /srv/did, refreshOnly: true}`)
	b.Noop = new(true)
	same(t, run(t, h, false, item(t, "a", `{command: /bin/true}`, "b"), b),
		"Exec/a Changed", "executed successfully", "Exec/b Noop", "would have been refreshed by 1 event (noop) (unknown: runs its refresh)")
	if _, err := h.Stat("/srv/did"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it ran: %v", err)
	}
}

// A command that outlived an earlier process is reported by the next run that may change the host.
func TestNoopLeavesAnEarlierCommandAlone(t *testing.T) {
	h := hosttest.New(t)
	h.Handle("/bin/job", func(host.Cmd) host.Result { return host.Result{} })
	h.PutJob(host.Resumed{Job: host.Job{Owner: "Exec/a"}, Args: []string{"/bin/job"}, Result: host.Result{ExitCode: 7, Stdout: []byte("why\n")}})
	a := item(t, "a", `{command: /bin/job, unless: [/bin/job]}`)
	same(t, run(t, h, true, a), "Exec/a InSync")
	same(t, run(t, h, false, a), "Exec/a Failed", "command failed: exit status 7; output: why")
	same(t, run(t, h, false, a), "Exec/a InSync")
	same(t, h.Transcript(), "? /bin/job (read-only)", "! resume Exec/a", "? /bin/job")
}

// Values of the environment never appear in output.
func TestReadStateHasNoEnvironment(t *testing.T) {
	h, _ := open(t)
	r := item(t, "a", `{command: /bin/true, environment: [TOKEN=s3cret]}`).Resource
	must(t, r.Choose(nil, h, ""))
	must(t, r.Read(t.Context(), resourcetest.Reader(h)))
	if is := string(r.State().Attributes); !strings.Contains(is, `"command":"/bin/true"`) || strings.Contains(is, "s3cret") {
		t.Errorf("the state is %s", is)
	}
}

func TestEnvironmentValuesAreRedacted(t *testing.T) {
	h, _ := open(t)
	const env = `shell: true, logOutput: always, environment: ["TOKEN=s3cret", "KEY=first s3c-one line\nsecond s3c-two line"]`
	for name, spec := range map[string]string{
		"output of a success":            `{command: 'echo "$TOKEN $KEY"', ` + env + `}`,
		"output of a failure":            `{command: 'echo "$TOKEN $KEY" >&2; exit 1', ` + env + `}`,
		"the command line":               `{command: 'echo s3cret; exit 1', ` + env + `}`,
		"one line of a multi-line value": `{command: 'echo "$KEY" | tail -n 1; exit 1', ` + env + `}`,
		"output of a check":              `{command: "true", unless: ['echo s3cret "$TOKEN"; exit 127'], ` + env + `}`,
		"truncated output":               `{command: 'head -c 1048573 /dev/zero | tr "\0" x; echo "$TOKEN"; exit 1', ` + env + `}`,
		"a rejected command":             `{command: s3cret, environment: [TOKEN=s3cret]}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, noop := range []bool{false, true} {
				i := item(t, "a", spec)
				report, err := engine.Transaction{Host: h, Noop: noop, Now: time.Now}.Run(t.Context(), []resource.Item{i})
				must(t, err)
				shown := fmt.Sprintf("%+v %v", report, i.Invalid)
				if i.Resource != nil {
					shown += fmt.Sprintf("%+v", i.Resource.Compare())
				}
				if strings.Contains(shown, "s3c") {
					t.Errorf("secret in the output: %s", shown)
				}
			}
		})
	}
}

func TestOutputIsBounded(t *testing.T) {
	h, _ := open(t)
	report, err := engine.Transaction{Host: h, Now: time.Now}.Run(t.Context(), []resource.Item{
		item(t, "a", `{command: 'yes é | head -c 2000001', shell: true, logOutput: always}`),
	})
	must(t, err)
	out := report.Resources[0].Events[0].Output
	if len(out) > 2100 || !strings.HasPrefix(out, "...") || !strings.HasSuffix(strings.TrimSpace(out), "é") {
		t.Errorf("%d bytes: %.20q to %q", len(out), out, out[max(0, len(out)-20):])
	}
}
