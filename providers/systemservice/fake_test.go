package systemservice_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

// A fakeSystemd answers like a real one (testdata/show.txt) and records its commands.
type fakeSystemd struct {
	*hosttest.Host
	units []*fakeUnit
	// fails maps failing verbs to their standard error.
	fails map[string]string
}

// A fakeUnit is one block of systemctl show, its lines in their order.
type fakeUnit struct {
	lines []string
	masks string // the UnitFileState behind the mask
}

// newFake returns a host that systemd runs.
func newFake(t *testing.T) *fakeSystemd {
	t.Helper()
	f := &fakeSystemd{Host: hosttest.New(t), fails: map[string]string{}}
	f.PutDir("/run/systemd/system")
	f.Put("/proc/1/comm", "systemd\n")
	for block := range strings.SplitSeq(read(t, "testdata/show.txt"), "\n\n") {
		f.units = append(f.units, &fakeUnit{lines: strings.Split(strings.TrimSpace(block), "\n")})
	}
	listed := read(t, "testdata/list-unit-files.txt")
	f.Handle("systemctl", func(cmd host.Cmd) host.Result {
		if cmd.Args[1] == "list-unit-files" {
			return host.Result{Stdout: []byte(listed)}
		}
		return f.systemctl(cmd.Args[1], cmd.Args[2:])
	})
	f.Handle("journalctl", func(host.Cmd) host.Result {
		return host.Result{Stdout: []byte("Started it.\ncannot bind port 80\n")}
	})
	return f
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (f *fakeSystemd) systemctl(verb string, args []string) host.Result {
	if stderr, fails := f.fails[verb]; fails {
		return host.Result{ExitCode: 1, Stderr: []byte(stderr)}
	}
	var out strings.Builder
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		u := f.unit(arg)
		if verb == "show" {
			out.WriteString(strings.Join(u.lines, "\n") + "\n\n")
			continue
		}
		if exit := u.execute(verb); exit != 0 {
			return host.Result{ExitCode: exit}
		}
	}
	if verb == "daemon-reload" {
		for _, u := range f.units {
			u.set("NeedDaemonReload", "no")
		}
	}
	return host.Result{Stdout: []byte(out.String())}
}

// unit returns the unit with a name; for an unknown name, one that is not found, as systemd does.
func (f *fakeSystemd) unit(name string) *fakeUnit {
	for _, u := range f.units {
		if u.get("Id") == name || slices.Contains(strings.Fields(u.get("Names")), name) {
			return u
		}
	}
	u := &fakeUnit{lines: slices.Clone(f.unit("gone.service").lines)}
	u.set("Id", name)
	u.set("Names", name)
	f.units = append(f.units, u)
	return u
}

// execute carries out a verb and returns the exit code.
func (u *fakeUnit) execute(verb string) int {
	switch verb {
	case "start", "try-restart", "try-reload-or-restart":
		u.set("ActiveState", "active")
		u.set("SubState", "running")
	case "stop":
		u.set("ActiveState", "inactive")
		u.set("SubState", "dead")
	case "enable":
		u.set("UnitFileState", "enabled")
	case "disable":
		u.set("UnitFileState", "disabled")
	case "mask":
		u.masks = u.get("UnitFileState")
		u.set("UnitFileState", "masked")
	case "unmask":
		u.set("UnitFileState", u.masks)
		u.set("LoadState", map[bool]string{true: "loaded", false: "not-found"}[u.masks != ""])
	case "is-enabled":
		return map[bool]int{true: 0, false: 1}[u.masks == "enabled"]
	}
	return 0
}

func (u *fakeUnit) get(property string) string {
	for _, line := range u.lines {
		if value, ok := strings.CutPrefix(line, property+"="); ok {
			return value
		}
	}
	return ""
}

func (u *fakeUnit) set(property, value string) {
	for i, line := range u.lines {
		if strings.HasPrefix(line, property+"=") {
			u.lines[i] = property + "=" + value
		}
	}
}

// changes returns the lines of the transcript that change the host.
func (f *fakeSystemd) changes() []string {
	var all []string
	for _, line := range f.Transcript() {
		if change, ok := strings.CutPrefix(line, "! "); ok {
			all = append(all, change)
		}
	}
	return all
}
