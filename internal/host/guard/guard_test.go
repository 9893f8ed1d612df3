package guard_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/host/own"
)

// machine returns a host whose directory /state and file /token are Fettle's own. The secret in them has other names, too.
func machine(t *testing.T) (*hosttest.Host, *own.Files) {
	t.Helper()
	h := hosttest.New(t)
	h.Put("/var/state/keys/key", "secret")
	h.Put("/var/other/file", "public")
	in := func(path string) string { return filepath.Join(h.Dir(), path) }
	for _, err := range []error{os.Symlink("/var/state", in("/soft")), os.Symlink("/var/state/keys/key", in("/softkey")), os.Link(in("/var/state/keys/key"), in("/hard"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return h, own.New(own.Root{Host: h, Paths: []string{"/var/state", "/var/missing"}})
}

// closing closes what a call returned.
func closing[C io.Closer](c C, err error) error {
	if err == nil {
		err = c.Close()
	}
	return err
}

func closingDir[C io.Closer](c C, _ string, err error) error { return closing(c, err) }

// reads are all ways to read a file or a directory.
func reads(h host.Reader, path string) map[string]error {
	everywhere := host.Links{Follow: host.FollowAll, AtEnd: true}
	_, file := h.ReadFile(path)
	_, dir := h.ReadDir(path)
	_, stat := h.Stat(path)
	user := h.LookAs(host.Credentials{})
	_, as := user.Stat(path)
	found := map[string]error{
		"Open": closing(h.Open(path)), "ReadFile": file, "ReadDir": dir, "Stat": stat, "Lookup": closing(h.Lookup(path, everywhere)), "LookAs": as,
	}
	top, err := h.Lookup("/", everywhere)
	if err == nil {
		found["Child"] = closing(top.Child(strings.TrimPrefix(path, "/")))
		err = top.Close()
	}
	if err != nil {
		found["Lookup of /"] = err
	}
	return found
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*own.Error](err)
	return ok
}

func TestOwnFilesCanNotBeRead(t *testing.T) {
	t.Parallel()
	h, files := machine(t)
	for name, guarded := range map[string]host.Reader{
		"a run": guard.Host(h, files), "a simulation": guard.Simulation(t.Context(), h, guard.Options{Own: files}),
	} {
		for _, path := range []string{"/var/state", "/var/state/keys", "/var/state/keys/key", "/soft", "/softkey", "/soft/keys/key", "/hard"} {
			for method, err := range reads(guarded, path) {
				through := strings.HasPrefix(path, "/soft") && method == "Child" // which follows no symlink
				if !isRefusal(err) && !(through && (path == "/soft" || path == "/softkey" || err != nil)) {
					t.Errorf("in %s, %s of %s: %v", name, method, path, err)
				}
			}
		}
		for path, fails := range map[string][]string{"/var/other": {"Open", "ReadFile"}, "/var/other/file": {"ReadDir"}} {
			for method, err := range reads(guarded, path) {
				if (err != nil) != slices.Contains(fails, method) || isRefusal(err) {
					t.Errorf("in %s, %s of %s: %v", name, method, path, err)
				}
			}
		}
		names, err := guarded.ReadDir("/var")
		if diff := cmp.Diff([]string{"other"}, names); diff != "" || err != nil {
			t.Errorf("in %s, names in a directory above (-want +got):\n%s%v", name, diff, err)
		}
		if err := closingDir(guarded.LookupParent("/var/state/new", host.Links{})); !isRefusal(err) {
			t.Errorf("in %s, LookupParent: %v", name, err)
		}
		if data, err := guarded.ReadFile("/var/other/file"); err != nil || string(data) != "public" {
			t.Errorf("in %s, read %q, %v", name, data, err)
		}
		_, missing := guarded.ReadFile("/var/gone")
		if _, want := h.ReadFile("/var/gone"); missing == nil || missing.Error() != want.Error() {
			t.Errorf("in %s, a missing file is %v, want %v", name, missing, want)
		}
	}
}

func TestOwnFilesCanNotBeChanged(t *testing.T) {
	t.Parallel()
	h, files := machine(t)
	guarded := guard.Host(h, files)
	ctx := t.Context()
	text := func() host.NewFile { return host.NewFile{Content: strings.NewReader("x")} }
	dir, err := guarded.Edit("/var", host.Links{})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	top, err := guarded.Edit("/", host.Links{})
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	_, file := guarded.WriteFile(ctx, "/var/state/keys/key", text())
	_, created := guarded.WriteFile(ctx, "/var/state/new", text())
	_, hard := top.WriteFile(ctx, "hard", text())
	for name, err := range map[string]error{
		"WriteFile": file, "WriteFile of a new file": created, "WriteFile in a directory": hard,
		"Edit": closing(guarded.Edit("/var/state/keys/key", host.Links{})), "EditParent": closingDir(guarded.EditParent("/var/state/new", host.Links{})),
		"Mkdir": guarded.Mkdir("/var/state/new", 0o755), "Symlink": guarded.Symlink("/x", "/var/state/keys/key"), "Remove": guarded.Remove("/hard"),
		"RemoveAll": guarded.RemoveAll("/var/state"), "RemoveAll above": guarded.RemoveAll("/var"),
		"Edit in a directory": closing(dir.Edit("state")), "Symlink in a directory": closing(top.Symlink("/x", "hard")),
		"Remove in a directory": top.Remove("hard", nil), "RemoveAll in a directory": dir.RemoveAll("state"), "RemoveAll above in a directory": top.RemoveAll("var"),
		"ActAs": guarded.ActAs(host.Credentials{}).Remove("/hard"), "RemovalRefusal": dir.RemovalRefusal(anyNumber),
	} {
		if !isRefusal(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if changes := slices.DeleteFunc(h.Transcript(), func(line string) bool { return !strings.HasPrefix(line, "!") }); len(changes) > 0 {
		t.Errorf("changed the host: %q", changes)
	}
	_, err = guarded.WriteFile(ctx, "/var/other/new", text())
	if err = errors.Join(err, dir.RemoveAll("other"), guarded.Mkdir("/var/made", 0o755), closing(dir.Mkdir("also", 0o755)), guarded.RemoveAll("/var/made")); err != nil {
		t.Errorf("changes of other files: %v", err)
	}
}

func TestSimulationRefusesNewFilesOfFettle(t *testing.T) {
	t.Parallel()
	h, files := machine(t)
	simulated := guard.Simulation(t.Context(), h, guard.Options{Own: files})
	if _, err := simulated.Stat("/var/other"); err != nil {
		t.Fatal(err)
	}
	h.Put("/var/missing/secret", "secret")
	if err := os.Link(filepath.Join(h.Dir(), "/var/missing/secret"), filepath.Join(h.Dir(), "/new")); err != nil {
		t.Fatal(err)
	}
	if _, err := simulated.ReadFile("/new"); !isRefusal(err) {
		t.Errorf("got %v", err)
	}
}

func TestSimulationConfinesCommands(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t)
	h.Handle("tool", func(host.Cmd) host.Result { return host.Result{} })
	query := func(o guard.Options, cmd host.Cmd) string {
		t.Helper()
		h.Reset()
		cmd.Args = []string{"tool"}
		if _, err := guard.Simulation(t.Context(), h, o).Query(t.Context(), cmd); err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(strings.Join(h.Transcript(), "\n"), "? tool ")
	}
	access := &host.Confinement{Network: true, Sockets: []string{"/run/docker.sock"}, Services: true}
	for _, test := range []struct {
		what, want string
		options    guard.Options
		cmd        host.Cmd
	}{
		{"any command", "(read-only)", guard.Options{}, host.Cmd{}},
		{"a command with access", "(read-only)", guard.Options{}, host.Cmd{Confinement: access}},
		{"a command with access that it may have", "(read-only, network, /run/docker.sock)", guard.Options{Access: true}, host.Cmd{Confinement: access}},
		{"a question about services", "(read-only, services)", guard.Options{}, host.Cmd{Services: true}},
	} {
		if got := query(test.options, test.cmd); got != test.want {
			t.Errorf("%s is %s, want %s", test.what, got, test.want)
		}
	}
	if !access.Services || access.ReadOnly {
		t.Error("the command of the caller was changed")
	}
	h.Reset()
	as := guard.Simulation(t.Context(), h, guard.Options{}).LookAs(host.Credentials{})
	if _, err := as.Query(t.Context(), host.Cmd{Args: []string{"tool"}}); err != nil || !slices.Equal(h.Transcript(), []string{"? tool (read-only)"}) {
		t.Errorf("as a user: %q, %v", h.Transcript(), err)
	}
}

func TestSimulationEndsWithItsContext(t *testing.T) {
	t.Parallel()
	h, _ := machine(t)
	h.Put("/large", strings.Repeat("x", 4096))
	why := errors.New("nobody waits any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	simulated := guard.Simulation(ctx, h, guard.Options{})
	f, err := simulated.Open("/large")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.ReadFull(f, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	began := make(chan struct{})
	h.Handle("hang", func(host.Cmd) host.Result { close(began); return host.Result{} })
	cancel(why)
	if _, err := f.Read(make([]byte, 10)); !errors.Is(err, why) {
		t.Errorf("reading on: %v", err)
	}
	_, query := simulated.Query(context.WithoutCancel(ctx), host.Cmd{Args: []string{"hang"}})
	for method, err := range reads(simulated, "/large") {
		if !errors.Is(err, why) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if !errors.Is(query, why) {
		t.Errorf("Query: %v", query)
	}
}

func anyNumber(int) error { return nil }

func TestSimulationHasLimits(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t)
	h.Put("/d/a", "0123456789")
	h.Put("/d/b", "0123456789")
	simulated := guard.Simulation(t.Context(), h, guard.Options{Limits: guard.Limits{Bytes: 15, Names: 3}})
	if _, err := simulated.ReadFile("/d/a"); err != nil {
		t.Error(err)
	}
	want := "plans and noop runs read up to 15 bytes of files: an apply has no such limit"
	if _, err := simulated.ReadFile("/d/b"); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := simulated.ReadDir("/d"); err != nil {
		t.Error(err)
	}
	want = "plans and noop runs read up to 3 names of files: an apply has no such limit"
	if _, err := simulated.ReadDir("/d"); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	dir, err := simulated.Lookup("/d", host.Links{})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.RemovalRefusal(anyNumber); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
