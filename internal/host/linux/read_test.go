package linux_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
)

func TestPathsResolveInsideTheRoot(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(filepath.Dir(dir), "secret"), "outside")
	put(t, filepath.Join(dir, "usr/lib/os-release"), "inside")
	put(t, filepath.Join(dir, "secret"), "inside too")
	must(t, os.MkdirAll(filepath.Join(dir, "etc"), 0o755))
	for link, text := range map[string]string{
		"etc/os-release": "../usr/lib/os-release",
		"etc/absolute":   "/usr/lib/os-release",
		"etc/up":         "../../../../../secret",
		"lib":            "/usr/lib",
		"loop":           "loop",
	} {
		must(t, os.Symlink(text, filepath.Join(dir, link)))
	}

	tests := map[string]struct {
		path, want string
		err        error
	}{
		"a plain path":                       {path: "/usr/lib/os-release", want: "inside"},
		"a relative symlink":                 {path: "/etc/os-release", want: "inside"},
		"an absolute symlink":                {path: "/etc/absolute", want: "inside"},
		"an absolute symlink to a directory": {path: "/lib/os-release", want: "inside"},
		".. above the root":                  {path: "/../../secret", want: "inside too"},
		"a symlink with .. above the root":   {path: "/etc/up", want: "inside too"},
		"a symlink to itself":                {path: "/loop", err: syscall.ELOOP},
		"a missing file":                     {path: "/etc/motd", err: fs.ErrNotExist},
		"a path below a file":                {path: "/secret/motd", err: fs.ErrNotExist},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := h.ReadFile(test.path)
			if !errors.Is(err, test.err) || string(got) != test.want {
				t.Errorf("ReadFile(%q) = %q, %v; want %q, %v", test.path, got, err, test.want, test.err)
			}
		})
	}
	if _, err := h.ReadFile("etc/os-release"); err == nil {
		t.Error("a relative path was read")
	}
}

func TestOnlyRegularFilesAreOpenedAndNothingBlocks(t *testing.T) {
	h, dir := tempRoot(t)
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "dir"), 0o755))
	must(t, os.Symlink("fifo", filepath.Join(dir, "link")))

	tests := map[string]string{
		"/fifo": "open /fifo: is a fifo, not a regular file",
		"/link": "open /link: is a fifo, not a regular file",
		"/dir":  "open /dir: is a directory, not a regular file",
	}
	for path, want := range tests {
		_, err := h.Open(path)
		if err == nil || err.Error() != want {
			t.Errorf("Open(%q): got %v, want %s", path, err, want)
		}
	}
	if _, err := open(t, linux.Options{}).Open("/dev/null"); err == nil {
		t.Error("a device was opened")
	}
}

func TestReadFileReadsUnsizedFilesAndRejectsLargeOnes(t *testing.T) {
	machine := open(t, linux.Options{})
	if data, err := machine.ReadFile("/proc/self/status"); err != nil || len(data) < 100 {
		t.Errorf("a file of /proc: %d bytes, %v", len(data), err)
	}
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "sparse"), "")
	must(t, os.Truncate(filepath.Join(dir, "sparse"), host.MaxReadFile+1))
	if _, err := h.ReadFile("/sparse"); err == nil {
		t.Error("a file above MaxReadFile was read")
	}
	must(t, os.Truncate(filepath.Join(dir, "sparse"), host.MaxReadFile))
	if data, err := h.ReadFile("/sparse"); err != nil || len(data) != host.MaxReadFile {
		t.Errorf("a file of MaxReadFile: %d bytes, %v", len(data), err)
	}
}

func TestLstatDescribesLinkAndStatItsTarget(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "file"), "12345")
	must(t, os.Chmod(filepath.Join(dir, "file"), 0o751|os.ModeSetuid))
	must(t, os.Chtimes(filepath.Join(dir, "file"), time.Unix(1600000000, 6), time.Unix(1700000000, 5)))
	must(t, os.Symlink("/file", filepath.Join(dir, "link")))

	file, err := h.Stat("/link")
	must(t, err)
	want := host.FileInfo{
		Mode: 0o4751, UID: os.Geteuid(), GID: os.Getegid(), Size: 5, ModTime: time.Unix(1700000000, 5), Nlink: 1,
		Dev: file.Dev, Ino: file.Ino, ChangeTime: file.ChangeTime, AccessTime: time.Unix(1600000000, 6),
	}
	if age := time.Since(file.ChangeTime); age < 0 || age > time.Hour {
		t.Errorf("a file that was just changed has the change time %s", file.ChangeTime)
	}
	if diff := cmp.Diff(want, file); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	link, err := h.Lstat("/link/")
	must(t, err)
	if !link.IsSymlink() || link.Ino == file.Ino || link.AccessTime.Equal(file.AccessTime) {
		t.Errorf("Lstat of a symlink described %+v", link)
	}
	root, err := h.Lstat("/")
	must(t, err)
	if !root.IsDir() {
		t.Errorf("Lstat of the root described %+v", root)
	}
}

func TestReadDirAndReadlink(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "d/b"), "")
	put(t, filepath.Join(dir, "d/a"), "")
	must(t, os.Symlink("../nowhere", filepath.Join(dir, "d/c")))

	names, err := h.ReadDir("/d")
	must(t, err)
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	text, err := h.Readlink("/d/c")
	must(t, err)
	if text != "../nowhere" {
		t.Errorf("symlink is %q", text)
	}
	if _, err := h.Readlink("/d/a"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Readlink of a file: %v", err)
	}
	if _, err := h.ReadDir("/nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadDir of a missing directory: %v", err)
	}
}

func TestLookPathUsesRootsPath(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "usr/bin/tool"), "")
	must(t, os.Chmod(filepath.Join(dir, "usr/bin/tool"), 0o755))
	put(t, filepath.Join(dir, "usr/local/bin/tool"), "not executable")
	must(t, os.Symlink("/usr/bin", filepath.Join(dir, "bin")))

	tests := map[string]struct {
		name, want string
		err        error
	}{
		"a bare name":                   {name: "tool", want: "/usr/bin/tool"},
		"an absolute path":              {name: "/bin/tool", want: "/bin/tool"},
		"an unknown name":               {name: "sh", err: fs.ErrNotExist},
		"an unknown path":               {name: "/bin/sh", err: fs.ErrNotExist},
		"a file that is not executable": {name: "/usr/local/bin/tool", err: fs.ErrPermission},
		"a directory":                   {name: "/usr/bin", err: fs.ErrPermission},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := h.LookPath(test.name)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("LookPath(%q) = %q, %v; want %q, %v", test.name, got, err, test.want, test.err)
			}
		})
	}
	if _, err := h.LookPath("usr/bin/tool"); err == nil {
		t.Error("a relative path was found")
	}
}

// Any concurrent rename makes the kernel abort a resolution through "..".
func TestReadsSucceedWhileDirectoriesAreRenamed(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "a/b/c/f"), "here")
	must(t, os.Mkdir(filepath.Join(dir, "x"), 0o755))
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				done <- nil
				return
			default:
				err = errors.Join(os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "y")),
					os.Rename(filepath.Join(dir, "y"), filepath.Join(dir, "x")))
			}
		}
		done <- err
	}()
	for range 5000 {
		if data, err := h.ReadFile("/a/../a/b/../../a/b/c/../c/f"); err != nil || string(data) != "here" {
			t.Errorf("read %q, %v", data, err)
			break
		}
	}
	close(stop)
	must(t, <-done)
}

func TestDescriptorsAreClosed(t *testing.T) {
	h, dir := tempRoot(t)
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	before := descriptors(t)
	for range 20 {
		_, err := h.WriteFile(t.Context(), "/d/e", ownedFile("x"))
		must(t, err)
		_, err = h.ReadFile("/d/e")
		must(t, err)
		_, _ = h.ReadFile("/d")
		_, _ = h.ReadFile("/none")
		_, _ = h.Readlink("/d/e")
		_, _ = h.ReadDir("/d")
		must(t, chmod(h, "/d/e", 0o600))
		must(t, h.Symlink("x", "/d/l"))
		_, _ = h.Readlink("/d/l")
		_, _ = h.WriteFile(t.Context(), "/d", ownedFile("x"))
		_, _ = h.Query(t.Context(), host.Cmd{Args: []string{"none"}})
		must(t, h.Mkdir("/d/d", 0o755))
		must(t, h.RemoveAll("/d/d"))
	}
	if after := descriptors(t); after != before {
		t.Errorf("open descriptors: %d before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

func TestOpenRejectsInvalidHost(t *testing.T) {
	tests := map[string]linux.Options{
		"two hosts at once":    {Root: "/", PID: 1},
		"a negative process":   {PID: -1},
		"no such process":      {PID: 1 << 30},
		"no such directory":    {Root: "/nonexistent/root"},
		"a file is not a root": {Root: "/proc/self/status"},
	}
	for name, opts := range tests {
		t.Run(name, func(t *testing.T) {
			if h, err := linux.Open(opts); err == nil {
				t.Errorf("opened %+v", h)
			}
		})
	}
}
