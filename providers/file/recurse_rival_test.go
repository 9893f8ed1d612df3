package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/rival"
)

// prized has the names of root's files that a user attacks, which are also those of the user's own files.
var prized = []string{"group-", "gshadow", "hosts", "motd", "passwd-", "shadow", "sudoers"}

const prize = "root's alone"

// An estate is a host where /home leads to /data/home by a symlink of root's. There zed has
// a directory d and a symlink to /etc, which a rival exchanges in a loop.
type estate struct {
	h         *linux.Host
	dir, home string
	own       int // descriptor of d, wherever it is
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	h, dir := homeOfZed(t)
	must(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))
	must(t, os.Rename(filepath.Join(dir, "home"), filepath.Join(dir, "data/home")))
	must(t, os.Symlink("data/home", filepath.Join(dir, "home")))
	for _, name := range prized {
		must(t, os.WriteFile(filepath.Join(dir, "etc", name), []byte(prize), 0o600))
	}
	e := &estate{h: h, dir: dir, home: filepath.Join(dir, "data/home/zed"), own: -1}
	t.Cleanup(func() { _ = unix.Close(e.own) })
	e.restoreFiles(t)
	rival.Start(t, dir, zed, "exchange", "/home/zed/d", "/home/zed/link")
	return e
}

// restoreFiles restores all files in zed's directory, and the symlink beside it. If
// one of them is missing, the other is not exchanged.
func (e *estate) restoreFiles(t *testing.T) {
	t.Helper()
	var st unix.Stat_t
	if e.own < 0 || unix.Fstat(e.own, &st) != nil || st.Nlink == 0 {
		made := filepath.Join(e.dir, "data/made")
		must(t, os.Mkdir(made, 0o755))
		must(t, os.Chown(made, zed, zed))
		_ = unix.Close(e.own)
		fd, err := unix.Open(made, unix.O_PATH|unix.O_DIRECTORY, 0)
		must(t, err)
		e.own = fd
		e.place(t, made)
	}
	made := filepath.Join(e.dir, "data/made")
	must(t, os.Symlink("../../../etc", made))
	e.place(t, made)
	must(t, os.RemoveAll(made))
	for _, name := range prized {
		fd, err := unix.Openat(e.own, name, unix.O_CREAT|unix.O_WRONLY|unix.O_NOFOLLOW, 0o644)
		must(t, err)
		must(t, unix.Fchown(fd, zed+1, zed+1))
		must(t, unix.Fchmod(fd, 0o640))
		must(t, unix.Close(fd))
	}
}

// place moves a file to whichever name is free, if any.
func (e *estate) place(t *testing.T, made string) {
	t.Helper()
	for _, name := range []string{"d", "link"} {
		err := unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, filepath.Join(e.home, name), unix.RENAME_NOREPLACE)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EEXIST) {
			t.Fatal(err)
		}
	}
}

// changedFiles reports files of root's that were changed.
func (e *estate) changedFiles(t *testing.T) string {
	t.Helper()
	for _, name := range prized {
		file := filepath.Join(e.dir, "etc", name)
		info, err := e.h.Stat("/etc/" + name)
		if err != nil || info.Mode != 0o600 || info.UID != 0 {
			return fmt.Sprintf("/etc/%s is %+v, %v", name, info, err)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != prize {
			return fmt.Sprintf("/etc/%s holds %q, %v", name, text, err)
		}
	}
	return ""
}

// leaked reports files of root's in a directory that others may read.
func leaked(t *testing.T, dir string) (found string) {
	t.Helper()
	must(t, filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(p)
		if strings.Contains(string(text), prize) {
			found = p
		}
		return err
	}))
	return found
}

// runs is the number of attempts on each of the files.
const runs = 300

func TestRecursionIsSafeFromAUsersSymlinks(t *testing.T) {
	for sentence, specs := range map[string][]string{
		"changing owners":                     {`{path: /home/zed, recurse: true, owner: zed, mode: "0644"}`, `{path: /home/zed, recurse: true, owner: zed, mode: "0666"}`},
		"copying":                             {`{path: /home/zed, recurse: true, source: /src, backup: None}`},
		"purging":                             {`{path: /home/zed, recurse: true, purge: true, backup: None}`},
		"changing owners with links followed": {`{path: /home/zed, recurse: true, owner: zed, mode: "0644", links: follow}`, `{path: /home/zed, recurse: true, owner: zed, mode: "0666", links: follow}`},
		"copying with links followed":         {`{path: /home/zed, recurse: true, source: /src, backup: None, links: follow}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			e := newEstate(t)
			must(t, os.MkdirAll(filepath.Join(e.dir, "src/d"), 0o755))
			for _, name := range prized {
				must(t, os.WriteFile(filepath.Join(e.dir, "src/d", name), []byte("from the source"), 0o644))
			}
			for i := range runs {
				e.restoreFiles(t)
				runForest(t, e.h, forest{files: []string{specs[i%len(specs)]}})
				if won := e.changedFiles(t); won != "" {
					t.Fatalf("zed won in run %d: %s", i+1, won)
				}
			}
		})
	}
}

func TestCopyIsSafeFromAUsersSymlinks(t *testing.T) {
	for sentence, spec := range map[string]string{
		"copying":                              `{path: /out, recurse: true, source: /home/zed, mode: "0644", backup: None}`,
		"copying with links followed":          `{path: /out, recurse: true, source: /home/zed, mode: "0644", backup: None, links: follow}`,
		"purging into the bucket":              `{path: /home/zed, recurse: true, purge: true}`,
		"removing a directory into the bucket": `{path: /home/zed/d, ensure: absent, force: true}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			e := newEstate(t)
			must(t, os.Mkdir(filepath.Join(e.dir, "out"), 0o755))
			for i := range runs {
				e.restoreFiles(t)
				runForest(t, e.h, forest{files: []string{spec}})
				for _, dir := range []string{filepath.Join(e.dir, "out"), filepath.Join(e.dir, bucket.DefaultDir)} {
					if _, err := os.Lstat(dir); err != nil {
						continue
					}
					if found := leaked(t, dir); found != "" {
						t.Fatalf("zed won in run %d: %s", i+1, found)
					}
				}
				must(t, os.RemoveAll(filepath.Join(e.dir, "out/d")))
				must(t, os.RemoveAll(filepath.Join(e.dir, "out/link")))
			}
		})
	}
}

// A user can nest directories deeper than the maximum length of a path.
func TestUnreadableEntriesDoNotBlockOthers(t *testing.T) {
	h, dir := homeOfZed(t)
	fd, err := unix.Open(filepath.Join(dir, "home/zed"), unix.O_PATH|unix.O_DIRECTORY, 0)
	must(t, err)
	const levels, name = 20, "a-long-name-"
	for range levels {
		long := strings.Repeat(name, 250/len(name))
		must(t, unix.Mkdirat(fd, long, 0o755))
		next, err := unix.Openat(fd, long, unix.O_PATH|unix.O_DIRECTORY, 0)
		must(t, err)
		must(t, unix.Close(fd))
		fd = next
	}
	must(t, unix.Close(fd))
	must(t, os.WriteFile(filepath.Join(dir, "home/zed/z"), nil, 0o600))
	report := runForest(t, h, forest{files: []string{`{path: /home/zed, recurse: true, owner: zed, maxFiles: 1000}`}})
	if lines := strings.Join(reportLines(report), "\n"); !strings.Contains(lines, "File/a: cannot generate its resources: cannot look at file: lookup /home/zed/a-long") {
		t.Error(lines)
	}
	if info, err := h.Stat("/home/zed/z"); err != nil || info.UID != zed {
		t.Errorf("the second state is %+v, %v", info, err)
	}
}

func TestHardLinksAreNotCopied(t *testing.T) {
	h, dir := homeOfZed(t)
	must(t, os.WriteFile(filepath.Join(dir, "etc/shadow"), []byte(prize), 0o600))
	must(t, os.Link(filepath.Join(dir, "etc/shadow"), filepath.Join(dir, "home/zed/notes")))
	must(t, os.WriteFile(filepath.Join(dir, "home/zed/own"), []byte("own"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "out"), 0o755))
	runForest(t, h, forest{files: []string{`{path: /out, recurse: true, source: /home/zed, mode: "0644"}`}})
	err := applyOnce(t, h, `{path: /out/file, source: /home/zed/notes, mode: "0644"}`)
	if hard := new(host.HardLinkError); !errors.As(err, &hard) || hard.Path != "/home/zed/notes" {
		t.Errorf("got %v", err)
	}
	if found := leaked(t, filepath.Join(dir, "out")); found != "" {
		t.Errorf("%s was copied", found)
	}
	if _, err := h.Stat("/out/own"); err != nil {
		t.Error(err)
	}
}

// A user can fill nested directories with more names than fit into memory.
func TestHugeDirectoriesDoNotBlockOthers(t *testing.T) {
	h, dir := homeOfZed(t)
	home := filepath.Join(dir, "home/zed")
	must(t, unix.Mount("tmpfs", home, "tmpfs", 0, "nr_inodes=0"))
	t.Cleanup(func() { must(t, unix.Unmount(home, 0)) })
	must(t, os.MkdirAll(home+"/d/d", 0o755))
	must(t, os.WriteFile(home+"/z", nil, 0o600))
	const names = 130_000 // half of the limit
	rival.Fill(t, home+"/d", names)
	rival.Fill(t, home+"/d/d", names)
	report := runForest(t, h, forest{files: []string{`{path: /home/zed, recurse: true, owner: zed, ignore: ["x*"], maxFiles: -1}`}})
	if lines := strings.Join(reportLines(report), "\n"); !strings.Contains(lines, "cannot read directory /home/zed/d/d: its names and those of the directories above exceed 64 MiB") {
		t.Error(lines)
	}
	if info, err := h.Stat("/home/zed/z"); err != nil || info.UID != zed {
		t.Errorf("the second state is %+v, %v", info, err)
	}
	if err := applyOnce(t, h, `{path: /home/zed/d, ensure: absent, force: true}`); err == nil || !strings.Contains(err.Error(), "it contains more than 1000 files") {
		t.Errorf("to back up: %v", err)
	}
}
