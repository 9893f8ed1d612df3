package linux_test

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

// open opens a host until the test ends.
func open(t testing.TB, opts linux.Options) *linux.Host {
	t.Helper()
	h, err := linux.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// tempRoot returns a host in an empty directory.
func tempRoot(t testing.TB) (h *linux.Host, dir string) {
	t.Helper()
	dir = t.TempDir()
	return open(t, linux.Options{Root: dir}), dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put creates a file and its parent directories.
func put(t testing.TB, file, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(content), 0o644))
}

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	return string(data)
}

// tree lists everything below a directory by relative path.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if name != "." {
			names = append(names, name)
		}
		return err
	}))
	return names
}

// change opens a file for one change.
func change(h host.Host, path string, act func(host.WritableHandle) error) error {
	n, err := h.Edit(path, host.Links{Follow: host.FollowAll})
	if err != nil {
		return err
	}
	return errors.Join(act(n), n.Close())
}

func chown(h host.Host, path string, uid, gid int) error {
	return change(h, path, func(n host.WritableHandle) error { return n.Chown(uid, gid) })
}

func chmod(h host.Host, path string, mode uint32) error {
	return change(h, path, func(n host.WritableHandle) error { return n.Chmod(mode) })
}

func setXattr(h host.Host, path, name, value string) error {
	return change(h, path, func(n host.WritableHandle) error { return n.SetXattr(name, []byte(value)) })
}

func xattr(h host.Reader, path, name string) (string, error) {
	n, err := h.Lookup(path, host.Links{})
	if err != nil {
		return "", err
	}
	value, err := n.Xattr(name)
	return string(value), errors.Join(err, n.Close())
}

// ownedFile returns a new file with a content, owned by the user that runs the test.
func ownedFile(content string) host.NewFile {
	return host.NewFile{Content: strings.NewReader(content), UID: os.Geteuid(), GID: os.Getegid()}
}

// buildProbe builds testdata/probe as a static binary.
func buildProbe(t *testing.T, file string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	program.Make(t, "internal/host/linux/testdata/probe", file)
}

// startInOtherNamespaces starts a process in new pid, mount, uts, ipc and net namespaces with the host name "elsewhere" and a fake
// systemd.
func startInOtherNamespaces(t *testing.T) (pid int) {
	t.Helper()
	debian.Require(t)
	probe := filepath.Join(t.TempDir(), "probe")
	buildProbe(t, probe)
	c := exec.Command(probe, "hold") //nolint:noctx // ended by its standard input
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS |
		syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET}
	stdin, err := c.StdinPipe()
	must(t, err)
	stdout, err := c.StdoutPipe()
	must(t, err)
	c.Stderr = os.Stderr
	must(t, c.Start())
	t.Cleanup(func() { end(t, c, stdin) })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the process printed %q: %v", line, err)
	}
	return c.Process.Pid
}

func end(t *testing.T, c *exec.Cmd, stdin io.Closer) {
	t.Helper()
	if err := stdin.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	patient.Until(t, what, holds)
}
