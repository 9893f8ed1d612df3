// Package localuser_test has a local user of a host who acts at random against the providers that work in the user's directories.
package localuser_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/test/fixtures/budget"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// zed is the user, who owns these directories. All else on the host is root's, and is managed by nothing.
const zed = 1001

var zedsDirs = []string{"home/zed", "srv/app"}

// secret is in files that only root may read.
const secret = "root's alone"

// changing are the directories that resources or Fettle itself change. All else must stay as it is.
var changing = []string{"home/zed", "srv/app", "srv/copy", "tmp", "var/lib"}

// FuzzHostileUser runs catalogs while a user acts, before each run and before the steps of each run, as the bytes of the input say. Whatever
// happens, what is not the user's keeps its owner, its mode and its content, the user learns no secret of root's, and no
// program of the user's runs with root's rights.
func FuzzHostileUser(f *testing.F) {
	debian.Require(f)
	for i := range budget.Events(f, 15, 150) {
		f.Add(seed(i))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		w := newWorld(t, input)
		before := w.snapshot()
		for range mostRuns {
			if len(w.input) == 0 {
				return
			}
			w.user.act(w.byte())
			files := w.catalog()
			w.run(files)
			if diff := cmp.Diff(before, w.snapshot()); diff != "" {
				t.Fatalf("what is root's changed (-before +after):\n%s\n%s", diff, w.history())
			}
			if found := w.won(); found != "" {
				t.Fatalf("the user has %s\n%s", found, w.history())
			}
		}
	})
}

// The bounds of an input: how many catalogs run, and how often the user acts for one.
const (
	mostRuns = 8
	mostActs = 200
)

// seed is a random input, the same on every machine.
func seed(n int) []byte {
	var input []byte
	for block := range 4 {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n*4+block)))
		input = append(input, sum[:]...)
	}
	return input
}

// A world is a host with a hostile user.
type world struct {
	t     *testing.T
	dir   string
	host  *linux.Host
	user  *hostile
	kinds []resource.Kind
	input []byte
	log   []string
}

func newWorld(t *testing.T, input []byte) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, dir: dir, input: input, kinds: kinds()}
	must(t, os.Chmod(dir, 0o755)) //nolint:gosec // a root directory
	for _, d := range []string{"etc/cron.d", "root/.ssh", "usr/bin", "srv/src/d", "srv/copy", "home", "var/lib", "tmp"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	must(t, os.Chmod(filepath.Join(dir, "root"), 0o700)) //nolint:gosec // a directory
	for name, text := range map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\nzed:x:1001:1001::/home/zed:/bin/sh\n", "etc/group": "root:x:0:\nzed:x:1001:\n",
		"etc/f": "root's\n", "etc/cron.d/f": "root's\n", "usr/bin/f": "root's\n", "srv/src/f": "copied\n", "srv/src/d/f": "copied\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) //nolint:gosec // as on any host
	}
	for _, name := range []string{"etc/shadow", "root/f", "root/.ssh/authorized_keys"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600))
	}
	for _, name := range []string{"useradd", "usermod", "userdel", "chpasswd", "chage"} {
		must(t, os.WriteFile(filepath.Join(dir, "usr/bin", name), nil, 0o755)) //nolint:gosec // a program, which is not needed to purge keys
	}
	must(t, os.Symlink("/etc", filepath.Join(dir, "etc/alternative")))
	must(t, os.Symlink("d/f", filepath.Join(dir, "srv/src/link")))
	must(t, os.Chmod(filepath.Join(dir, "tmp"), os.ModeSticky|0o777)) //nolint:gosec // as on any host
	for _, d := range zedsDirs {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
		must(t, os.Chown(filepath.Join(dir, d), zed, zed))
	}
	h, err := linux.Open(linux.Options{Root: dir})
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	w.host = h
	w.user = newHostile(w)
	return w
}

// byte takes a byte of the input, 0 at its end.
func (w *world) byte() byte {
	if len(w.input) == 0 {
		return 0
	}
	b := w.input[0]
	w.input = w.input[1:]
	return b
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) history() string { return strings.Join(w.log, "\n") }

// run runs a catalog. Resources may fail, as the user may prevent them.
func (w *world) run(catalog []resource.Item) {
	w.t.Helper()
	h := hostileHost{w.host, w.user}
	kept := bucket.New(w.host, bucket.DefaultDir, bucket.DefaultLimit)
	result, err := engine.Transaction{Host: h, Bucket: kept, Kinds: w.kinds, Now: time.Now}.Run(w.t.Context(), catalog)
	must(w.t, err)
	for _, res := range result.Resources {
		for _, line := range res.Lines() {
			w.note("  %s", line)
		}
	}
}

// snapshot describes everything that must stay as it is.
func (w *world) snapshot() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	w.walk(".", func(name string, st unix.Stat_t) error {
		switch {
		case !slices.Contains(changing, name):
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			return fs.SkipDir
		default:
			return nil
		}
		all[name] = fmt.Sprintf("%o %d:%d %s %q", st.Mode, st.Uid, st.Gid, w.content(name, st), w.attributes(name))
		return nil
	})
	return all
}

// attributes returns the names of a file's extended attributes.
func (w *world) attributes(name string) string {
	w.t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(filepath.Join(w.dir, name), buf)
	must(w.t, err)
	return string(buf[:n])
}

func (w *world) walk(top string, visit func(name string, st unix.Stat_t) error) {
	w.t.Helper()
	must(w.t, filepath.WalkDir(filepath.Join(w.dir, top), func(p string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err = errors.Join(err, unix.Lstat(p, &st)); err != nil {
			return err
		}
		name, err := filepath.Rel(w.dir, p)
		must(w.t, err)
		return visit(name, st)
	}))
}

// content returns the beginning of a file or the text of a symlink.
func (w *world) content(name string, st unix.Stat_t) string {
	file := filepath.Join(w.dir, name)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		text, err := os.Readlink(file)
		must(w.t, err)
		return text
	case unix.S_IFREG:
		f, err := os.Open(file)
		must(w.t, err)
		defer f.Close()
		head := make([]byte, 256)
		n, _ := f.Read(head)
		return string(head[:n])
	}
	return ""
}

// won returns what the user got hold of: a secret, or a program of the user's that runs with root's rights.
func (w *world) won() (found string) {
	w.t.Helper()
	for _, top := range []string{"home", "srv", "tmp"} {
		w.walk(top, func(name string, st unix.Stat_t) error {
			text := w.content(name, st)
			switch {
			case st.Mode&unix.S_IFMT != unix.S_IFREG:
			case strings.Contains(text, secret) && (st.Uid == zed || strings.Contains(w.user.reads("/"+name), secret)):
				found = fmt.Sprintf("a secret in /%s with mode %o of user %d", name, st.Mode, st.Uid)
			case strings.Contains(text, planted) && (st.Uid == 0 && st.Mode&0o4000 != 0 || st.Gid == 0 && st.Mode&0o2000 != 0):
				found = fmt.Sprintf("a program in /%s with mode %o of user %d and group %d", name, st.Mode, st.Uid, st.Gid)
			}
			return nil
		})
	}
	return found
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
