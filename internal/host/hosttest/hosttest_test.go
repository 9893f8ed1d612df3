package hosttest_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

func TestTranscriptRecordsQueriesAndChangesInOrder(t *testing.T) {
	h := hosttest.New(t)
	h.Put("/etc/hostname", "web-1\n")
	known := ""
	h.Handle("getent", func(host.Cmd) host.Result {
		if known == "" {
			return host.Result{ExitCode: 2}
		}
		return host.Result{Stdout: []byte(known)}
	})
	h.Handle("groupadd", func(cmd host.Cmd) host.Result {
		known = cmd.Args[1] + ":x:1000:\n"
		return host.Result{}
	})

	before := mustQuery(t, h, "getent", "group", "web")
	if _, err := h.Run(t.Context(), host.Cmd{Args: []string{"groupadd", "web"}}); err != nil {
		t.Fatal(err)
	}
	after := mustQuery(t, h, "getent", "group", "web")
	mode := uint32(0o640)
	must(t, h.Mkdir("/srv", 0o755))
	write(t, h, "/srv/a file", host.NewFile{Content: strings.NewReader("x"), UID: -1, GID: 33, Mode: &mode})
	must(t, h.Symlink("/srv/a file", "/srv/link"))
	must(t, h.Chown("/srv/a file", 7, -1))
	must(t, h.Chmod("/srv/a file", 0o600))
	must(t, h.Remove("/srv/link"))
	must(t, h.RemoveAll("/srv"))

	if diff := cmp.Diff([]host.Result{{ExitCode: 2}, {Stdout: []byte("web:x:1000:\n")}}, []host.Result{before, after}); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	want := []string{
		"? getent group web",
		"! groupadd web",
		"? getent group web",
		"! mkdir /srv 0755",
		`! write "/srv/a file" 0640 root 33`,
		`! symlink /srv/link "/srv/a file"`,
		`! chown "/srv/a file" 7 -`,
		`! chmod "/srv/a file" 0600`,
		"! remove /srv/link",
		"! removeall /srv",
	}
	if diff := cmp.Diff(want, h.Transcript()); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
	h.Reset()
	if got := h.Transcript(); len(got) != 0 {
		t.Errorf("after Reset the transcript is %q", got)
	}
}

func TestTranscriptShowsHowCommandsAreConfined(t *testing.T) {
	h := hosttest.New(t)
	h.Handle("probe", func(host.Cmd) host.Result { return host.Result{} })
	for _, c := range []*host.Confinement{nil, {Memory: 1}, {ReadOnly: true}, {ReadOnly: true, Network: true, Sockets: []string{"/run/a.sock"}}} {
		_, err := h.Query(t.Context(), host.Cmd{Args: []string{"probe"}, Confinement: c})
		must(t, err)
	}
	want := []string{"? probe", "? probe (limited)", "? probe (read-only)", "? probe (read-only, network, /run/a.sock)"}
	if diff := cmp.Diff(want, h.Transcript()); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

func TestOwnersCanBeSet(t *testing.T) {
	h := hosttest.New(t)
	mode := uint32(0o4755)
	write(t, h, "/f", host.NewFile{Content: strings.NewReader("one"), UID: 5, GID: 6, Mode: &mode})
	write(t, h, "/f", host.NewFile{Content: strings.NewReader("two"), UID: -1, GID: -1})
	must(t, h.Symlink("f", "/link"))

	info, err := h.Stat("/link")
	must(t, err)
	want := host.FileInfo{Mode: 0o4755, UID: 5, GID: 6, Size: 3, Nlink: 1, Dev: info.Dev, Ino: info.Ino}
	want.ModTime, want.ChangeTime, want.AccessTime = info.ModTime, info.ChangeTime, info.AccessTime
	if diff := cmp.Diff(want, info); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

func TestLookPathFindsHandledCommandsOnly(t *testing.T) {
	h := hosttest.New(t)
	h.Handle("dpkg", func(host.Cmd) host.Result { return host.Result{} })
	file, err := h.LookPath("dpkg")
	must(t, err)
	if file != "/usr/bin/dpkg" {
		t.Errorf("dpkg is %q, want /usr/bin/dpkg", file)
	}
	if _, err := h.LookPath("rpm"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rpm: got %v, want fs.ErrNotExist", err)
	}
}

func TestUnknownCommandFailsTest(t *testing.T) {
	inner := &recorder{TB: t}
	h := hosttest.New(inner)
	_, err := h.Query(t.Context(), host.Cmd{Args: []string{"rpm", "-qa"}})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got error %v, want fs.ErrNotExist", err)
	}
	if !inner.failed {
		t.Error("the test continued after an unknown command")
	}
}

func TestReadOnlyHostStaysReadOnly(t *testing.T) {
	if _, is := hosttest.New(t).ReadOnly().(host.Host); is {
		t.Error("a provider could write by asserting host.Host")
	}
}

// recorder is a test that is expected to fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustQuery(t *testing.T, h host.Reader, args ...string) host.Result {
	t.Helper()
	res, err := h.Query(t.Context(), host.Cmd{Args: args})
	must(t, err)
	return res
}

func write(t *testing.T, h host.Host, path string, f host.NewFile) {
	t.Helper()
	_, err := h.WriteFile(t.Context(), path, f)
	must(t, err)
}
