package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/test/fixtures/budget"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/rival"
)

const zed = 1001

// homeOfZed returns a host with the user zed, who has a home.
func homeOfZed(t *testing.T) (h *linux.Host, dir string) {
	t.Helper()
	debian.Require(t)
	dir = t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	for _, d := range []string{"etc", "home", "home/zed"} {
		must(t, os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	must(t, os.Chown(filepath.Join(dir, "home/zed"), zed, zed))
	must(t, os.WriteFile(filepath.Join(dir, "etc/passwd"), []byte("root:x:0:0::/root:/bin/sh\nzed:x:1001:1001::/home/zed:/bin/sh\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "etc/group"), []byte("root:x:0:\nzed:x:1001:\n"), 0o644))
	h, err := linux.Open(linux.Options{Root: dir})
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h, dir
}

const planted = "what zed would run as root"

// attempts is how often root acts in a race.
func attempts(t *testing.T) int {
	t.Helper()
	return budget.Events(t, 100, 2000)
}

// plant replaces a file by another in one step, even if it is moved meanwhile.
func plantFile(t *testing.T, file, content string, uid int, mode uint32) {
	t.Helper()
	temp := file + ".new"
	must(t, os.WriteFile(temp, []byte(content), 0o600))
	must(t, os.Chown(temp, uid, uid))
	must(t, unix.Chmod(temp, mode))
	must(t, os.Rename(temp, file))
}

// A user has two files in a directory of their own, one of them root's, and exchanges
// them in a loop while root changes one. Each attribute of one of them, its owner, mode
// and content, could come from the other.
func TestNoSetIDBitsUnderConcurrentReplacement(t *testing.T) {
	for sentence, c := range map[string]struct {
		specs  []string // applied in turn
		anyone bool     // mode asks for set-ID bits: only what zed wrote must not have them
	}{
		"new content":               {specs: []string{`{path: /home/zed/f, content: "one\n", backup: None}`, `{path: /home/zed/f, content: "two\n", backup: None}`}},
		"new content and a backup":  {specs: []string{`{path: /home/zed/f, content: "one\n", backup: .bak}`, `{path: /home/zed/f, content: "two\n", backup: .bak}`}},
		"a symbolic mode":           {specs: []string{`{path: /home/zed/f, mode: u+x}`, `{path: /home/zed/f, mode: u-x}`}},
		"an owner, a symbolic mode": {specs: []string{`{path: /home/zed/f, owner: root, group: root, mode: g+x}`, `{path: /home/zed/f, owner: root, mode: g-x}`}},
		"an owner, a set-ID mode":   {specs: []string{`{path: /home/zed/f, owner: root, mode: "4755"}`}, anyone: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := homeOfZed(t)
			home := filepath.Join(dir, "home/zed")
			plantFile(t, home+"/f", planted, zed, 0o6777)
			plantFile(t, home+"/g", "root's", 0, 0o644)
			rival.Start(t, dir, zed, "exchange", "/home/zed/f", "/home/zed/g")
			for tries := range attempts(t) {
				plantFile(t, home+"/f", planted, zed, 0o6777)
				plantFile(t, home+"/g", "root's", 0, 0o644)
				_ = applyOnce(t, h, c.specs[tries%len(c.specs)])
				if won := setIDOfRoot(t, home, c.anyone); won != "" {
					t.Fatalf("zed won after %d attempts: %s", tries+1, won)
				}
			}
		})
	}
}

// applyOnce applies one resource as a run does. A user may make it fail.
func applyOnce(t *testing.T, h host.Host, spec string) error {
	t.Helper()
	r, err := bind(t, spec)
	must(t, err)
	must(t, r.Choose(nil, h, ""))
	if err := r.Read(t.Context(), resourcetest.Reader(h)); err != nil {
		return err
	}
	changes := r.Compare().Changes
	if len(changes) == 0 {
		return nil
	}
	return r.Write(t.Context(), resourcetest.Writer(h), changes)
}

// setIDOfRoot reports a file of root or of root's group that runs with their rights.
func setIDOfRoot(t *testing.T, dir string, onlyPlanted bool) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		var st unix.Stat_t
		fd, err := unix.Open(filepath.Join(dir, e.Name()), unix.O_RDONLY|unix.O_NOFOLLOW, 0)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		must(t, err)
		must(t, unix.Fstat(fd, &st))
		f := os.NewFile(uintptr(fd), e.Name())
		head := make([]byte, 64)
		n, _ := f.Read(head)
		must(t, f.Close())
		runs := st.Uid == 0 && st.Mode&0o4000 != 0 || st.Gid == 0 && st.Mode&0o2000 != 0
		if runs && (!onlyPlanted || strings.HasPrefix(string(head[:n]), planted)) {
			return fmt.Sprintf("%s has mode %04o, belongs to %d:%d and holds %q", e.Name(), st.Mode&0o7777, st.Uid, st.Gid, head[:n])
		}
	}
	return ""
}

// A user exchanges a directory and a symlink to one of root's.
func TestNoWriteThroughAUsersSymlinks(t *testing.T) {
	for sentence, specs := range map[string][]string{
		"content":     {`{path: /home/zed/d/f, content: "one\n", backup: None}`, `{path: /home/zed/d/f, content: "two\n", backup: .bak}`},
		"an owner":    {`{path: /home/zed/d/f, owner: zed}`, `{path: /home/zed/d/f, owner: root}`},
		"a directory": {`{path: /home/zed/d/new, ensure: directory}`, `{path: /home/zed/d/new, ensure: absent, force: true}`},
		"a symlink":   {`{path: /home/zed/d/new, target: f}`, `{path: /home/zed/d/new, ensure: absent}`},
		"a removal":   {`{path: /home/zed/d/f, ensure: absent, backup: None}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := homeOfZed(t)
			home := filepath.Join(dir, "home/zed")
			must(t, os.Mkdir(home+"/d", 0o755))
			must(t, os.Chown(home+"/d", zed, zed))
			must(t, os.Symlink("/etc", home+"/l"))
			must(t, os.Lchown(home+"/l", zed, zed))
			plantFile(t, dir+"/etc/f", "root's", 0, 0o600)
			before := listEtc(t, dir)
			rival.Start(t, dir, zed, "exchange", "/home/zed/d", "/home/zed/l")
			for tries := range attempts(t) {
				_ = applyOnce(t, h, specs[tries%len(specs)])
				if after := listEtc(t, dir); after != before {
					t.Fatalf("zed won after %d attempts: %s was %s", tries+1, after, before)
				}
			}
		})
	}
}

// listEtc lists /etc.
func listEtc(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "etc"))
	must(t, err)
	var all strings.Builder
	for _, e := range entries {
		file := filepath.Join(dir, "etc", e.Name())
		var st unix.Stat_t
		must(t, unix.Lstat(file, &st))
		text, err := os.ReadFile(file)
		must(t, err)
		fmt.Fprintf(&all, "%s %d:%d %04o %q\n", e.Name(), st.Uid, st.Gid, st.Mode, text)
	}
	return all.String()
}

// A user makes and removes a hard link of root's file in a loop, in the place of a file. The
// rival is root where the test's machine protects hard links.
func TestNoChownThroughConcurrentHardLinks(t *testing.T) {
	for sentence, spec := range map[string]string{
		"an owner":        `{path: /home/zed/l, owner: zed}`,
		"a mode":          `{path: /home/zed/l, mode: "0666"}`,
		"a symbolic mode": `{path: /home/zed/l, owner: zed, mode: o+r}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := homeOfZed(t)
			plantFile(t, dir+"/etc/f", "root's", 0, 0o600)
			before := listEtc(t, dir)
			rival.Start(t, dir, 0, "link", "/etc/f", "/home/zed/l")
			for tries := range attempts(t) {
				_ = applyOnce(t, h, spec)
				if after := listEtc(t, dir); after != before {
					t.Fatalf("zed won after %d attempts: %s was %s", tries+1, after, before)
				}
			}
		})
	}
}

// A user makes and removes a hard link in a loop. The rival is root where the test's machine
// protects hard links.
func TestNoCopyThroughConcurrentHardLinks(t *testing.T) {
	h, dir := homeOfZed(t)
	must(t, os.WriteFile(filepath.Join(dir, "etc/shadow"), []byte(prize), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "out"), 0o755))
	rival.Start(t, dir, 0, "link", "/etc/shadow", "/home/zed/notes")
	for tries := range 10 * attempts(t) {
		_ = applyOnce(t, h, `{path: /out/file, source: /home/zed/notes, mode: "0644"}`)
		if found := leaked(t, filepath.Join(dir, "out")); found != "" {
			t.Fatalf("zed won after %d attempts: %s was copied", tries+1, found)
		}
	}
}
