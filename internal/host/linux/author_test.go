package linux_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/author"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestWatchKnowsTheProcessThatChangedAPath(t *testing.T) {
	debian.Require(t)
	for name, script := range map[string]string{
		"by a write":                       "echo x >> etc/motd",
		"after changes of others":          "for i in 1 2 3 4 5; do : > etc/$i; done; : > etc/motd",
		"in a directory that was replaced": "",
	} {
		t.Run(name, func(t *testing.T) {
			h, root := watchedRoot(t)
			w := follow(t, h, "/etc/motd", "/old/x")
			w.Ready()
			if script == "" {
				must(t, os.RemoveAll(root+"/etc"))
				must(t, os.Mkdir(root+"/etc", 0o755))
				takeChanges(t, w)
				must(t, w.Follow([]string{"/etc/motd"}))
				script = "echo x > etc/motd"
			}
			want := map[string]*host.Author{"/etc/motd": runUnrelatedShell(t, root, script)}
			if diff := cmp.Diff([]string{"/etc/motd"}, takeChanges(t, w)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want, w.Authors()); diff != "" {
				t.Error(diff)
			}
			if again := w.Authors(); len(again) > 0 {
				t.Errorf("reported twice: %v", again)
			}
		})
	}
}

func TestWatchKnowsThePodThatChangedAPath(t *testing.T) {
	debian.Require(t)
	const uid = "0a1b2c3d-1111-2222-3333-444455556666"
	group := podGroup(t, uid)
	h, root := watchedRoot(t)
	w := follow(t, h, "/etc/motd")
	w.Ready()
	for _, want := range []string{uid, "default/web-1"} {
		by := runUnrelatedShell(t, root, "echo $$ >"+group+"/cgroup.procs; echo x >> etc/motd")
		takeChanges(t, w)
		by.Unit, by.Pod = "", want
		if diff := cmp.Diff(map[string]*host.Author{"/etc/motd": by}, w.Authors()); diff != "" {
			t.Error(diff)
		}
		must(t, os.MkdirAll(root+"/var/log/pods/default_web-1_"+uid, 0o755))
	}
}

// podGroup creates a control group like a pod's, in the hierarchy of systemd.
func podGroup(t *testing.T, uid string) string {
	t.Helper()
	top := "/sys/fs/cgroup"
	if _, err := os.Stat(top + "/systemd"); err == nil {
		top += "/systemd" // of version 1
	}
	dir, err := os.MkdirTemp(top, "fettle-test-")
	must(t, err)
	group := filepath.Join(dir, "kubepods", "pod"+uid)
	must(t, os.MkdirAll(group, 0o755))
	t.Cleanup(func() {
		procs, err := os.ReadFile(group + "/cgroup.procs")
		must(t, err)
		for field := range strings.FieldsSeq(string(procs)) {
			pid, err := strconv.Atoi(field)
			must(t, err)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for _, child := range []string{group, filepath.Dir(group), dir} {
			eventually(t, "processes have ended", func() bool { return os.Remove(child) == nil })
		}
	})
	return group
}

func TestChangeHasNoAuthorIfOursOrUnknown(t *testing.T) {
	debian.Require(t)
	for name, change := range map[string]func(t *testing.T, root string){
		"of an own change": func(t *testing.T, root string) {
			t.Helper()
			must(t, os.WriteFile(root+"/etc/motd", nil, 0o644))
		},
		"of a change by a command of ours": func(t *testing.T, root string) {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), "sh", "-c", ": > "+root+"/etc/motd; echo; exec sleep 1000")
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
			_, err = out.Read(make([]byte, 1))
			must(t, err)
		},
		"that ended": func(t *testing.T, root string) {
			t.Helper()
			must(t, exec.CommandContext(t.Context(), "sh", "-c", ": > "+root+"/etc/motd").Run())
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, root := watchedRoot(t)
			w := follow(t, h, "/etc/motd")
			change(t, root)
			if diff := cmp.Diff([]string{"/etc/motd"}, w.Take()); diff != "" {
				t.Error(diff)
			}
			if got := w.Authors(); len(got) > 0 {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestWatchWithoutPrivilegesReportsChangesOnly(t *testing.T) {
	debian.Require(t)
	h, root := watchedRoot(t)
	var w host.Watch
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and the thread ends with the goroutine
		header, data := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
		if err = unix.Capset(header, &data[0]); err == nil {
			w, err = h.Watch()
		}
	}()
	<-done
	must(t, err)
	t.Cleanup(func() { _ = w.Close() })
	must(t, w.Follow([]string{"/etc/motd"}))
	w.Ready()
	runUnrelatedShell(t, root, "echo x > etc/motd")
	await(t, w)
	if diff := cmp.Diff([]string{"/etc/motd"}, w.Take()); diff != "" {
		t.Error(diff)
	}
	if got := w.Authors(); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// takeChanges waits until there are changes, and returns them.
func takeChanges(t *testing.T, w host.Watch) []string {
	t.Helper()
	for {
		await(t, w) // also returns for changes that were taken before
		if paths := w.Take(); len(paths) > 0 {
			return paths
		}
	}
}

// runUnrelatedShell has a shell run a script in a directory, and stay. The shell is no descendant of the test: its parent has ended.
func runUnrelatedShell(t *testing.T, dir, script string) *host.Author {
	t.Helper()
	begin, end := filepath.Join(t.TempDir(), "begin"), filepath.Join(t.TempDir(), "end") // nobody writes to end
	must(t, errors.Join(unix.Mkfifo(begin, 0o600), unix.Mkfifo(end, 0o600)))
	start := exec.CommandContext(t.Context(), "sh", "-c", `sh -c "$1" sh "$2" "$3" </dev/null >/dev/null 2>&1 & echo $!`,
		"sh", `read x <"$1"; `+script+`; read x <"$2"`, begin, end)
	start.Dir = dir
	out, err := start.Output()
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	must(t, err)
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) })
	must(t, os.WriteFile(begin, []byte("\n"), 0o600))
	shell, err := filepath.EvalSymlinks("/bin/sh")
	must(t, err)
	self := func(file string) string {
		text, _ := os.ReadFile("/proc/self/" + file) // the shell's is the same, or missing, too
		return string(text)
	}
	return author.Files{Executable: shell, Status: self("status"), LoginUID: self("loginuid"), Cgroup: self("cgroup")}.Author(int64(pid))
}
