package systemservice_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
)

// A fakeOwn is a service that a command, ctl, manages.
type fakeOwn struct {
	*fakeSystemd
	runs bool
}

// newOwn also has systemd-run, which runs the command after its options.
func newOwn(t *testing.T) *fakeOwn {
	t.Helper()
	f := &fakeOwn{fakeSystemd: newFake(t)}
	f.Handle("ctl", func(cmd host.Cmd) host.Result { return f.ctl(cmd.Args[1:]) })
	f.Handle("systemd-run", func(cmd host.Cmd) host.Result { return f.ctl(cmd.Args[6:]) })
	return f
}

func (f *fakeOwn) ctl(args []string) host.Result {
	switch args[0] {
	case "status":
		return host.Result{ExitCode: map[bool]int{true: 0, false: 7}[f.runs], Stdout: []byte("running or not\n")}
	case "garble":
		return host.Result{ExitCode: 1, Stderr: []byte("no licen\xe7e\n")}
	case "fail":
		return host.Result{ExitCode: 1, Stderr: []byte("no license\nsee elsewhere\n")}
	}
	f.runs = args[0] != "down"
	return host.Result{}
}

// own has commands for everything, for a service that is unknown to systemd.
const own = "{name: ledger, start: ctl up 'a b' \\$HOME, stop: ctl down, status: ctl status"

func TestCommandsReplaceTheSupervisors(t *testing.T) {
	f := newOwn(t)
	const scope = "systemd-run --scope --collect --quiet -- ctl "
	for _, c := range []struct {
		name, attributes string
		steps            []string
	}{
		{"a stopped service is started", own + ", ensure: running}", []string{scope + `up "a b" $HOME`}},
		{"a running service is in sync", own + ", ensure: running}", nil},
		{"a running service is stopped", own + ", ensure: stopped}", []string{scope + "down"}},
		{"a stopped service is in sync", own + ", ensure: stopped}", nil},
		{"status overrides the state of systemd's unit", "{name: simple, ensure: stopped, status: ctl status}", nil},
		{"systemd does the rest", "{name: simple, ensure: stopped, status: ctl status, stop: ctl down, enable: false}", []string{"systemctl disable simple.service"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.Reset()
			apply(t, f, c.attributes)
			if diff := cmp.Diff(c.steps, f.changes()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefreshUsesTheCommands(t *testing.T) {
	const scope = "systemd-run --scope --collect --quiet -- ctl "
	for name, c := range map[string]struct {
		attributes string
		stopped    bool
		steps      []string
		err        error
	}{
		"restart command":   {"{name: simple, restart: ctl again}", false, []string{scope + "again"}, nil},
		"hasRestart: false": {"{name: simple, hasRestart: false}", false, []string{"systemctl stop simple.service", "systemctl start simple.service"}, nil},
		"hasRestart: false with start and stop commands": {own + ", hasRestart: false}", false, []string{scope + "down", scope + `up "a b" $HOME`}, nil},
		"hasRestart: true":                  {"{name: simple, hasRestart: true}", false, []string{"systemctl try-restart simple.service"}, nil},
		"not running by its status command": {"{name: simple, status: ctl status}", true, nil, resource.ErrNothingToRefresh},
	} {
		t.Run(name, func(t *testing.T) {
			f := newOwn(t)
			f.runs = !c.stopped
			if err := bind(t, f, c.attributes).Refresh(t.Context(), resourcetest.Writer(f)); !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.steps, f.changes()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailingCommandIsReported(t *testing.T) {
	got := refused(t, newOwn(t), "{name: ledger, ensure: running, status: ctl status, start: ctl fail}")
	if diff := cmp.Diff("cannot set ensure: cannot start the service by its command: no license", got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestCommandOutputKeepsInvalidUTF8(t *testing.T) {
	got := refused(t, newOwn(t), "{name: ledger, ensure: running, status: ctl status, start: ctl garble}")
	if want := "cannot set ensure: cannot start the service by its command: no licen\xe7e"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHasStatusFalseMatchesProcesses(t *testing.T) {
	for name, c := range map[string]struct{ attributes, ensure string }{
		"the name is in a command line":                {"{name: ledger, hasStatus: false}", "running"},
		"a pattern matches a command line":             {"{name: simple, hasStatus: false, pattern: '^/opt/ledger/bin/ledgerd -f /etc/l'}", "running"},
		"the pattern cannot match past the end":        {"{name: simple, hasStatus: false, pattern: '[ ]$'}", "stopped"},
		"no match overrides a running unit of systemd": {"{name: simple, hasStatus: false}", "stopped"},
		"the first 32 KiB are matched":                 {"{name: simple, hasStatus: false, pattern: 'java -cp x+$'}", "running"},
		"the name is not a regular expression":         {"{name: 'l.dger', hasStatus: false}", "stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.Put("/proc/4711/cmdline", "/opt/ledger/bin/ledgerd\x00-f\x00/etc/ledger.conf\x00")
			f.Put("/proc/4712/cmdline", "java\x00-cp\x00"+strings.Repeat("x", 40<<10)+"\x00Main")
			f.Put("/proc/2/cmdline", "") // the kernel's
			f.PutDir("/proc/5000")       // ended meanwhile
			r := bind(t, f, c.attributes)
			look(t, f.ReadOnly(), r)
			want := fmt.Sprintf(`"ensure":%q`, c.ensure)
			if got := string(r.State().Attributes); !strings.Contains(got, want) {
				t.Errorf("state %s, want %s", got, want)
			}
		})
	}
}

func (m machine) runsOwnCommands(t *testing.T) {
	const own = `{name: ledger, start: touch "/run/a ledger", stop: "rm '/run/a ledger'", status: 'test -e /run/a\ ledger', ensure: `
	apply(t, m.host, own+"running}")
	m.run(t, "test", "-e", "/run/a ledger")
	if changes := apply(t, m.host, own+"running}"); changes != nil {
		t.Errorf("a second time it changed %v", changes)
	}
	apply(t, m.host, own+"stopped}")
	got := refused(t, m.host, "{name: ledger, start: sh -c 'echo out of ink >&2; exit 3', status: 'false', ensure: running}")
	if diff := cmp.Diff("cannot set ensure: cannot start the service by its command: out of ink", got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func (m machine) keepsDaemons(t *testing.T) {
	const own = `{name: daemon, start: "sh -c 'sleep 4711 </dev/null >/dev/null 2>&1 & echo $! >/run/daemon.pid'", hasStatus: false, pattern: ^sleep 4711$, stop: sh -c 'kill $(cat /run/daemon.pid)', ensure: `
	apply(t, m.host, own+"running}")
	if got := m.run(t, "sh", "-c", "cat /proc/$(cat /run/daemon.pid)/cgroup"); !strings.Contains(got, "/system.slice/run-") || !strings.HasSuffix(got, ".scope") {
		t.Errorf("its control group is %s", got)
	}
	apply(t, m.host, own+"stopped}")
}

func (m machine) masksInstances(t *testing.T) {
	apply(t, m.host, "{name: of@three, ensure: stopped, mask: true}")
	apply(t, m.host, "{name: of@three, mask: false}")
	apply(t, m.host, "{name: getty@tty9, ensure: stopped, mask: true}")
	apply(t, m.host, "{name: getty@tty9, mask: false, enable: true}")
	apply(t, m.host, "{name: getty@tty9, enable: false}")
}

func (m machine) refusesMaskFirst(t *testing.T) {
	apply(t, m.host, "{name: other, ensure: running, enable: true}")
	refused(t, m.host, "{name: other, ensure: stopped, mask: true}")
	if got := m.property(t, "ActiveState", "other") + " " + m.property(t, "UnitFileState", "other"); got != "inactive enabled" {
		t.Errorf("it is %s", got)
	}
	apply(t, m.host, "{name: other, enable: false}")
}
