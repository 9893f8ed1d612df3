package tidy_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/providers/tidy"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/rival"
)

// now is the present time in the tests; files are some hours old. Their ctime is after it.
var now = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

func TestLaws(t *testing.T) { resourcetest.Define(t, tidy.Type(clock)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A thing is a path below /x: a directory if it ends in a slash, otherwise a file.
type thing struct {
	path         string
	size         int
	atime, mtime int // hours before now
}

// open returns a Debian tree with these things, each after those below it.
func open(t *testing.T, things []thing) (m enginetest.Machine, h *linux.Host, root string) {
	t.Helper()
	root = debian.Root(t)
	must(t, os.Mkdir(filepath.Join(root, "x"), 0o755))
	for _, th := range things {
		full := filepath.Join(root, "x", th.path)
		if strings.HasSuffix(th.path, "/") {
			must(t, os.MkdirAll(full, 0o755))
		} else {
			must(t, os.MkdirAll(filepath.Dir(full), 0o755))
			must(t, os.WriteFile(full, make([]byte, th.size), 0o644))
		}
	}
	for _, th := range things {
		must(t, os.Chtimes(filepath.Join(root, "x", th.path), hoursAgo(th.atime), hoursAgo(th.mtime)))
	}
	h, err := linux.Open(linux.Options{Root: root})
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return enginetest.Machine{Host: h, Kinds: []resource.Kind{bound.Kind(file.Type(nil)), bound.Kind(tidy.Type(clock))}}, h, root
}

func hoursAgo(n int) time.Time { return now.Add(-time.Duration(n) * time.Hour) }

func removed(names ...string) []string {
	var lines []string
	for _, n := range names {
		lines = append(lines, "File/x: removed")
		lines[len(lines)-1] = "File//x" + n + ": removed"
	}
	return lines
}

func TestRemovesOldOrLargeFiles(t *testing.T) {
	things := []thing{
		{"old.log", 10, 48, 1},
		{"new.log", 10, 1, 48},
		{"large.log", 2048, 1, 1},
		{".hidden.log", 10, 48, 48},
		{"d/old.log", 10, 48, 48},
		{"d/e/old.txt", 10, 48, 48},
		{"d/e/", 0, 1, 48},
		{"d/", 0, 1, 48},
		{"empty/", 0, 1, 48},
		{"new/", 0, 48, 1},
		{"./", 0, 48, 48},
	}
	tests := map[string]struct {
		spec  string
		files []string // of the catalog
		want  []string
	}{
		"a path without recurse is the file itself": {`path: /x/old.log`, nil, removed("/old.log")},
		"a directory without recurse stays":         {`path: /x/d`, nil, nil},
		"a missing path has no files":               {`path: /x/none`, nil, nil},
		"without age and size all files are removed": {
			`path: /x/d, recurse: true`, nil, removed("/d/e/old.txt", "/d/old.log"),
		},
		"by access time": {
			`path: /x, recurse: true, ageSeconds: 86400`, nil, removed("/.hidden.log", "/d/e/old.txt", "/d/old.log", "/old.log"),
		},
		"by modification time": {
			`path: /x, recurse: true, ageSeconds: 1d24h, type: mtime`, nil, removed("/.hidden.log", "/d/e/old.txt", "/d/old.log", "/new.log"),
		},
		"by change time": {
			`path: /x, recurse: true, ageSeconds: 86400, type: ctime`, nil, nil,
		},
		"an age that overflows": {`path: /x, recurse: true, ageSeconds: 9000000000000000`, nil, nil},
		"by size":               {`path: /x, recurse: true, size: 2Ki`, nil, removed("/large.log")},
		"by size in bytes":      {`path: /x, recurse: true, size: 2048b`, nil, removed("/large.log")},
		"not by one byte more":  {`path: /x, recurse: true, size: 2049B`, nil, nil},
		"not by a megabyte":     {`path: /x, recurse: true, size: 1m`, nil, nil},
		"a size that overflows": {`path: /x, recurse: true, size: 999999999999999999t`, nil, nil},
		"by age or size": {
			`path: /x, recurse: true, size: 2k, ageSeconds: 86400, recurseLimit: 1`, nil, removed("/.hidden.log", "/large.log", "/old.log"),
		},
		"by name": {
			`path: /x, recurse: true, matches: ["*.txt", "[!a-m]*.log"], ageSeconds: 86400`, nil, removed("/.hidden.log", "/d/e/old.txt", "/d/old.log", "/old.log"),
		},
		"down to recurseLimit": {
			`path: /x, recurse: true, recurseLimit: 2, ageSeconds: 1d`, nil, removed("/.hidden.log", "/d/old.log", "/old.log"),
		},
		"empty and old directories with rmdirs": {
			`path: /x, recurse: true, rmdirs: true, ageSeconds: 86400`, nil,
			removed("/.hidden.log", "/d/e/old.txt", "/d/e", "/d/old.log", "/d", "/empty", "/old.log"),
		},
		"files of the catalog and the directories above them stay": {
			`path: /x, recurse: true, rmdirs: true, ageSeconds: 86400`,
			[]string{`File/a {path: /x/d/e/old.txt}`, `File/b {path: /x/empty/to-come}`, `File/c {path: /x/old.log}`},
			removed("/.hidden.log", "/d/old.log"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, _, root := open(t, things)
			before := paths(t, root)
			var would []string
			for _, line := range test.want {
				would = append(would, line+" (noop)")
			}
			all := append([]string{"Tidy/a {noop: true, " + test.spec + "}"}, test.files...)
			if diff := cmp.Diff(would, m.Apply(t, all...)); diff != "" {
				t.Errorf("in noop (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, paths(t, root)); diff != "" {
				t.Errorf("noop changed:\n%s", diff)
			}
			all[0] = "Tidy/a {" + test.spec + "}"
			if diff := cmp.Diff(test.want, m.Apply(t, all...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := m.Apply(t, all...); got != nil && !strings.Contains(test.spec, "rmdirs") {
				t.Errorf("a second time: %q", got)
			}
			if left := paths(t, root); len(left) != len(before)-len(test.want) {
				t.Errorf("of %q is left %q", before, left)
			}
		})
	}
}

// paths returns all paths below /x. It reads no file, because that would update its atime.
func paths(t *testing.T, root string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Join(root, "x"), func(p string, _ fs.DirEntry, err error) error {
		all = append(all, p)
		return err
	}))
	return all
}

func TestSymlinksAreNotFollowed(t *testing.T) {
	m, h, root := open(t, []thing{{"kept/f", 1, 48, 48}, {"t/", 0, 0, 0}})
	must(t, os.Symlink("/x/kept", filepath.Join(root, "x/t/link")))
	must(t, os.Symlink("/x/t", filepath.Join(root, "x/way")))
	got := m.Apply(t, `Tidy/a {path: /x/t, recurse: true}`, `Tidy/b {path: /x/way, recurse: true}`)
	want := []string{
		"File//x/t/link: removed",
		"File//x/way: removed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := h.Stat("/x/kept/f"); err != nil {
		t.Error(err)
	}
}

func TestPathFollowsSymlinksOfRoot(t *testing.T) {
	m, h, root := open(t, []thing{{"data/d/f", 1, 48, 48}, {"data/d/link/", 1, 48, 48}, {"kept/f", 1, 48, 48}})
	must(t, os.Symlink("data", filepath.Join(root, "x/way")))
	must(t, os.Remove(filepath.Join(root, "x/data/d/link")))
	must(t, os.Symlink("/x/kept", filepath.Join(root, "x/data/d/link")))
	want := []string{"File//x/way/d/f: removed", "File//x/way/d/link: removed"}
	if diff := cmp.Diff(want, m.Apply(t, `Tidy/a {path: /x/way/d, recurse: true}`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := h.Stat("/x/kept/f"); err != nil {
		t.Error(err)
	}
	must(t, os.Lchown(filepath.Join(root, "x/way"), 4711, 4711))
	refused := []string{"Tidy/a: cannot generate its resources: cannot look at /x/way/d: symlink /x/way is not followed: it belongs to user 4711"}
	if diff := cmp.Diff(refused, m.Apply(t, `Tidy/a {path: /x/way/d, recurse: true}`)); diff != "" {
		t.Errorf("a user's symlink (-want +got):\n%s", diff)
	}
}

// swapping replaces a directory by a symlink as soon as it was examined.
type swapping struct {
	host.Host
	swap func()
}

func (s swapping) Lookup(path string, links host.Links) (host.Handle, error) {
	top, err := s.Host.Lookup(path, links)
	return swappingTop{top, s.swap}, err
}

type swappingTop struct {
	host.Handle
	swap func()
}

func (s swappingTop) Child(name string) (host.Handle, error) {
	child, err := s.Handle.Child(name)
	if name == "d" && err == nil {
		return swappingDir{child, s.swap}, nil
	}
	return child, err
}

type swappingDir struct {
	host.Handle
	swap func()
}

func (s swappingDir) ReadDir() ([]string, error) {
	names, err := s.Handle.ReadDir()
	s.swap()
	return names, err
}

func TestWalkDoesNotFollowSymlinks(t *testing.T) {
	m, h, root := open(t, []thing{{"d/passwd", 1, 48, 48}})
	m.Host = swapping{h, func() {
		must(t, os.RemoveAll(filepath.Join(root, "x/d")))
		must(t, os.Symlink("/etc", filepath.Join(root, "x/d")))
	}}
	m.Apply(t, `Tidy/a {path: /x, recurse: true}`)
	if _, err := h.Stat("/etc/passwd"); err != nil {
		t.Error(err)
	}
}

// late swaps after a removal has examined its target, right before it removes it.
type late struct {
	host.Host
	swapped *bool
	swap    func()
}

func (l late) once() {
	if !*l.swapped {
		*l.swapped = true
		l.swap()
	}
}

func (l late) Edit(path string, links host.Links) (host.WritableHandle, error) {
	l.once()
	return l.Host.Edit(path, links)
}

func (l late) EditParent(path string, links host.Links) (host.WritableHandle, string, error) {
	l.once()
	return l.Host.EditParent(path, links)
}

func TestRemovalDoesNotFollowSymlinks(t *testing.T) {
	m, h, root := open(t, []thing{{"d/passwd", 1, 48, 48}})
	swapped := false
	m.Host = late{h, &swapped, func() {
		must(t, os.RemoveAll(filepath.Join(root, "x/d")))
		must(t, os.Symlink("/etc", filepath.Join(root, "x/d")))
	}}
	m.Apply(t, `Tidy/a {path: /x, recurse: true}`)
	if _, err := h.Stat("/etc/passwd"); err != nil || !swapped {
		t.Errorf("swapped: %t, %v", swapped, err)
	}
}

func TestReplacedFileStays(t *testing.T) {
	m, h, root := open(t, []thing{{"f", 1, 48, 48}})
	swapped := false
	m.Host = late{h, &swapped, func() {
		must(t, os.WriteFile(filepath.Join(root, "x/new"), nil, 0o600))
		must(t, os.Rename(filepath.Join(root, "x/new"), filepath.Join(root, "x/f")))
	}}
	want := []string{"File//x/f: change of ensure from file to absent failed: cannot remove /x/f: another file has replaced it: the next run examines that"}
	if diff := cmp.Diff(want, m.Apply(t, `Tidy/a {path: /x, recurse: true}`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFileThatIsWrittenToIsRemoved(t *testing.T) {
	m, h, root := open(t, []thing{{"f", 1, 48, 48}})
	swapped := false
	m.Host = late{h, &swapped, func() { must(t, os.WriteFile(filepath.Join(root, "x/f"), []byte("more"), 0o600)) }}
	if diff := cmp.Diff(removed("/f"), m.Apply(t, `Tidy/a {path: /x, recurse: true}`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A user exchanges a directory and a symlink to root's, which has files of the same names.
func TestTidyIsSafeFromAUsersSymlinks(t *testing.T) {
	const uid, attempts = 4711, 1000
	m, h, root := open(t, []thing{{"home/d/", 0, 48, 48}, {"home/e/", 0, 48, 48}})
	home := filepath.Join(root, "x/home")
	for _, dir := range []string{home, home + "/d", home + "/e"} {
		must(t, os.Chown(dir, uid, uid))
	}
	must(t, os.Symlink("../../etc", home+"/link"))
	must(t, os.Symlink("home", filepath.Join(root, "x/way")))
	d, err := unix.Open(home+"/d", unix.O_PATH|unix.O_DIRECTORY, 0)
	must(t, err)
	defer unix.Close(d)
	rival.Start(t, root, uid, "exchange", "/x/home/d", "/x/home/link")
	for range attempts {
		for _, name := range []string{"passwd", "group", "shadow"} {
			f, err := unix.Openat(d, name, unix.O_CREAT|unix.O_WRONLY, 0o600)
			must(t, err)
			must(t, unix.Close(f))
		}
		m.Apply(t, `Tidy/a {path: /x/way, recurse: true, matches: [passwd, group, shadow]}`)
	}
	for _, name := range []string{"passwd", "group", "shadow"} {
		if _, err := h.Stat("/etc/" + name); err != nil {
			t.Error(err)
		}
	}
}

func TestOnlyEmptyDirectoriesAreRemoved(t *testing.T) {
	m, h, root := open(t, []thing{{"d/", 0, 48, 48}})
	swapped := false
	m.Host = late{h, &swapped, func() { must(t, os.WriteFile(filepath.Join(root, "x/d/new"), nil, 0o600)) }}
	m.Apply(t, `Tidy/a {path: /x/d, recurse: true, rmdirs: true}`)
	if _, err := h.Stat("/x/d/new"); err != nil || !swapped {
		t.Errorf("swapped: %t, %v", swapped, err)
	}
}

func TestUnreadableFilesDoNotBlockOthers(t *testing.T) {
	m, h, root := open(t, []thing{{"d/f", 1, 48, 48}, {"z", 1, 48, 48}})
	m.Host = swapping{h, func() {
		must(t, os.Rename(filepath.Join(root, "x/d"), filepath.Join(root, "d")))
		must(t, os.Symlink("/d", filepath.Join(root, "x/d")))
	}}
	got := m.Apply(t, `Tidy/a {path: /x, recurse: true}`)
	want := append(removed("/z"), "Tidy/a: cannot generate its resources: cannot look at /x/d/f: /x/d/f contains a symlink, and symlinks are not followed here")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// bindOldFile bind-mounts an old file over another.
func bindOldFile(t *testing.T, root, at string) {
	t.Helper()
	elsewhere := filepath.Join(root, "old")
	must(t, os.WriteFile(elsewhere, nil, 0o644))
	must(t, os.Chtimes(elsewhere, hoursAgo(48), hoursAgo(48)))
	must(t, syscall.Mount(elsewhere, at, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { must(t, syscall.Unmount(at, 0)) })
}

func TestMountsStay(t *testing.T) {
	m, h, root := open(t, []thing{{"d/mounted/", 0, 48, 48}, {"d/one", 1, 48, 48}, {"d/f", 1, 48, 48}})
	at := filepath.Join(root, "x/d/mounted")
	must(t, syscall.Mount("tmpfs", at, "tmpfs", 0, ""))
	t.Cleanup(func() { must(t, syscall.Unmount(at, 0)) })
	must(t, os.WriteFile(filepath.Join(at, "f"), nil, 0o644))
	bindOldFile(t, root, filepath.Join(root, "x/d/one"))
	if diff := cmp.Diff(removed("/d/f"), m.Apply(t, `Tidy/a {path: /x, recurse: true, rmdirs: true}`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := h.Stat("/x/d/mounted/f"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(removed("/d/mounted/f"), m.Apply(t, `Tidy/a {path: /x/d/mounted, recurse: true}`)); diff != "" {
		t.Errorf("named itself it is tidied (-want +got):\n%s", diff)
	}
}

func TestBackup(t *testing.T) {
	m, h, root := open(t, []thing{{"a/", 0, 0, 0}, {"b", 3, 0, 0}})
	must(t, os.WriteFile(filepath.Join(root, "x/a/f"), []byte("precious"), 0o600))
	m.Apply(t, `Tidy/a {path: /x/a, recurse: true, backup: Bucket, rmdirs: true}`, `Tidy/b {path: /x/b}`)
	kept, err := bucket.New(h, bucket.DefaultDir, bucket.DefaultLimit).List()
	must(t, err)
	if len(kept) != 1 || kept[0].Size != 8 || !slices.Equal(kept[0].Paths, []string{"/x/a/f"}) {
		t.Errorf("the bucket has %+v", kept)
	}
}

// counting is a host that counts the directories that are listed.
type counting struct {
	host.Host
	dirs *int
}

func (c counting) Lookup(path string, links host.Links) (host.Handle, error) {
	n, err := c.Host.Lookup(path, links)
	return countingHandle{n, c.dirs}, err
}

type countingHandle struct {
	host.Handle
	dirs *int
}

func (c countingHandle) Child(name string) (host.Handle, error) {
	n, err := c.Handle.Child(name)
	return countingHandle{n, c.dirs}, err
}

func (c countingHandle) ReadDir() ([]string, error) {
	*c.dirs++
	return c.Handle.ReadDir()
}

// nothing is an inventory without other resources.
type nothing struct{ resource.Inventory }

func (nothing) Withheld(string) iter.Seq[resource.Withheld] {
	return func(func(resource.Withheld) bool) {}
}

func (nothing) Names(string) iter.Seq[string] { return func(func(string) bool) {} }

func TestWalkUsesConstantMemory(t *testing.T) {
	var things []thing
	for i := range 50 {
		things = append(things, thing{fmt.Sprintf("%02d/f", i), 1, 48, 48})
	}
	_, h, _ := open(t, things)
	r, err := bound.Kind(tidy.Type(clock)).Bind(resource.Ref{Kind: "Tidy", Name: "a"}, json.RawMessage(`{"path":"/x","recurse":true}`))
	must(t, err)
	dirs, seen := 0, 0
	c := counting{h, &dirs}
	must(t, r.Choose(nil, c, ""))
	for _, err := range r.Generate(t.Context(), resourcetest.Reader(c), nothing{}) {
		must(t, err)
		if seen++; dirs > seen+1 {
			t.Fatalf("%d directories were looked into for %d files", dirs, seen)
		}
	}
	if seen != 50 {
		t.Errorf("%d of 50 files are to go", seen)
	}
}

func TestInvalidAttributes(t *testing.T) {
	tests := map[string]struct{ manifest, err string }{
		"a relative path":         {`{"path": "tmp"}`, `path "tmp" must be absolute: begin it with /`},
		"an invalid pattern":      {`{"path": "/x", "recurse": true, "matches": ["[a"]}`, `matches has "[a", which is not a shell glob for base names: write it as *.log`},
		"a size that is a number": {`{"path": "/x", "size": 1024}`, `cannot read attributes of Tidy/a: json: cannot unmarshal number into Go struct field Attributes.TidyAttributes.size of type string`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := bound.Kind(tidy.Type(clock)).Bind(resource.Ref{Kind: "Tidy", Name: "a"}, json.RawMessage(test.manifest))
			if err == nil || err.Error() != test.err {
				t.Errorf("got  %v\nwant %s", err, test.err)
			}
		})
	}
}

func TestTidyingASystemDirectoryRequiresConfirm(t *testing.T) {
	for spec, refused := range map[string]bool{
		`{"path":"/","recurse":true,"ageSeconds":1}`:          true,
		`{"path":"/var/lib/","recurse":true,"ageSeconds":1}`:  true,
		`{"path":"/etc","recurse":true,"confirm":"/"}`:        true,
		`{"path":"/etc/","recurse":true,"confirm":"/etc/"}`:   false,
		`{"path":"/tmp","recurse":true,"ageSeconds":1}`:       false,
		`{"path":"/var/tmp","recurse":true}`:                  false,
		`{"path":"/var/lib/systemd/coredump","recurse":true}`: false,
	} {
		_, err := bound.Kind(tidy.Type(time.Now)).Bind(resource.Ref{Kind: "Tidy", Name: "a"}, []byte(spec))
		if refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "which the host needs: use a directory below it, or, if that is intended, set confirm: /") {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// A user can fill nested directories with more names than fit into memory.
func TestHugeDirectoriesDoNotBlockOthers(t *testing.T) {
	m, _, root := open(t, []thing{{"home/", 0, 48, 48}, {"z", 1, 48, 48}})
	home := filepath.Join(root, "x/home")
	must(t, syscall.Mount("tmpfs", home, "tmpfs", 0, "nr_inodes=0"))
	t.Cleanup(func() { must(t, syscall.Unmount(home, 0)) })
	must(t, os.MkdirAll(home+"/d/d", 0o755))
	must(t, os.WriteFile(home+"/z", nil, 0o600))
	must(t, os.Chtimes(home+"/z", hoursAgo(48), hoursAgo(48)))
	const names = 130_000 // half of the limit
	rival.Fill(t, home+"/d", names)
	rival.Fill(t, home+"/d/d", names)
	got := m.Apply(t, `Tidy/a {path: /x/home, recurse: true, matches: [z]}`)
	want := append(removed("/home/z"), "Tidy/a: cannot generate its resources: cannot look into /x/home/d/d: its names and those of the directories above exceed 64 MiB: remove files by hand, or exclude it")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
