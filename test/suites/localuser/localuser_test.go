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

// managedDirs are the directories that resources or Fettle itself change. Everything else must stay as it is.
var managedDirs = []string{"home/zed", "srv/app", "srv/copy", "tmp", "var/lib"}

// FuzzHostileUser runs catalogs while a user acts, before each run and before the steps of each run, as the bytes of the input say. Whatever
// happens, what is not the user's keeps its owner, its mode and its content, the user learns no secret of root's, and no
// program of the user's runs with root's rights.
func FuzzHostileUser(fuzz *testing.F) {
	debian.Require(fuzz)
	for i := range budget.Events(fuzz, 15, 150) {
		fuzz.Add(seed(i))
	}
	fuzz.Fuzz(func(t *testing.T, input []byte) {
		f := newFixture(t, input)
		before := f.snapshot()
		for range maxRuns {
			if len(f.input) == 0 {
				return
			}
			f.user.act(f.nextByte())
			files := f.catalog()
			f.run(files)
			if diff := cmp.Diff(before, f.snapshot()); diff != "" {
				t.Fatalf("what is root's changed (-before +after):\n%s\n%s", diff, f.history())
			}
			if breach := f.findBreach(); breach != "" {
				t.Fatalf("the user has %s\n%s", breach, f.history())
			}
		}
	})
}

// The limits of an input: how many catalogs run, and how many actions the user takes.
const (
	maxRuns    = 8
	maxActions = 200
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

// A fixture is a host with a hostile user.
type fixture struct {
	t     *testing.T
	dir   string
	host  *linux.Host
	user  *hostile
	kinds []resource.Kind
	input []byte
	log   []string
}

func newFixture(t *testing.T, input []byte) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{t: t, dir: dir, input: input, kinds: kinds()}
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
	f.host = h
	f.user = newHostile(f)
	return f
}

// nextByte takes a byte from the input; 0 at its end.
func (f *fixture) nextByte() byte {
	if len(f.input) == 0 {
		return 0
	}
	b := f.input[0]
	f.input = f.input[1:]
	return b
}

func (f *fixture) logf(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

func (f *fixture) history() string { return strings.Join(f.log, "\n") }

// run runs a catalog. Resources may fail, as the user may prevent them.
func (f *fixture) run(catalog []resource.Item) {
	f.t.Helper()
	h := hostileHost{f.host, f.user}
	kept := bucket.New(f.host, bucket.DefaultDir, bucket.DefaultLimit)
	result, err := engine.Transaction{Host: h, Bucket: kept, Kinds: f.kinds, Now: time.Now}.Run(f.t.Context(), catalog)
	must(f.t, err)
	for _, res := range result.Resources {
		for _, line := range res.Lines() {
			f.logf("  %s", line)
		}
	}
}

// snapshot describes everything that must stay as it is.
func (f *fixture) snapshot() map[string]string {
	f.t.Helper()
	all := map[string]string{}
	f.walk(".", func(name string, st unix.Stat_t) error {
		switch {
		case !slices.Contains(managedDirs, name):
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			return fs.SkipDir
		default:
			return nil
		}
		all[name] = fmt.Sprintf("%o %d:%d %s %q", st.Mode, st.Uid, st.Gid, f.content(name, st), f.attributes(name))
		return nil
	})
	return all
}

// attributes returns the names of a file's extended attributes.
func (f *fixture) attributes(name string) string {
	f.t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(filepath.Join(f.dir, name), buf)
	must(f.t, err)
	return string(buf[:n])
}

func (f *fixture) walk(top string, visit func(name string, st unix.Stat_t) error) {
	f.t.Helper()
	must(f.t, filepath.WalkDir(filepath.Join(f.dir, top), func(p string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err = errors.Join(err, unix.Lstat(p, &st)); err != nil {
			return err
		}
		name, err := filepath.Rel(f.dir, p)
		must(f.t, err)
		return visit(name, st)
	}))
}

// content returns the beginning of a file or the text of a symlink.
func (f *fixture) content(name string, st unix.Stat_t) string {
	file := filepath.Join(f.dir, name)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		text, err := os.Readlink(file)
		must(f.t, err)
		return text
	case unix.S_IFREG:
		opened, err := os.Open(file)
		must(f.t, err)
		defer opened.Close()
		head := make([]byte, 256)
		n, _ := opened.Read(head)
		return string(head[:n])
	}
	return ""
}

// findBreach returns what the user has gained: a secret, or a program of the user's that runs with root's rights.
func (f *fixture) findBreach() (found string) {
	f.t.Helper()
	for _, top := range []string{"home", "srv", "tmp"} {
		f.walk(top, func(name string, st unix.Stat_t) error {
			text := f.content(name, st)
			switch {
			case st.Mode&unix.S_IFMT != unix.S_IFREG:
			case strings.Contains(text, secret) && (st.Uid == zed || strings.Contains(f.user.readFile("/"+name), secret)):
				found = fmt.Sprintf("a secret in /%s with mode %o of user %d", name, st.Mode, st.Uid)
			case strings.Contains(text, payload) && (st.Uid == 0 && st.Mode&0o4000 != 0 || st.Gid == 0 && st.Mode&0o2000 != 0):
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
