package linux_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

const zed, bob = 1001, 1002

// homes returns a host with directories of root, of users, and writable by everyone.
func homes(t *testing.T) (h *linux.Host, dir string) {
	t.Helper()
	debian.Require(t)
	h, dir = tempRoot(t)
	must(t, os.Chmod(dir, 0o755))
	for _, d := range []struct {
		name string
		mode uint32
		uid  int
	}{
		{"etc", 0o755, 0},
		{"usr", 0o755, 0},
		{"usr/bin", 0o755, 0},
		{"tmp", 0o1777, 0},
		{"open", 0o777, 0},
		{"shared", 0o775, 0},
		{"run", 0o755, 0},
		{"run/x", 0o755, 0},
		{"var", 0o755, 0},
		{"home", 0o755, 0},
		{"home/zed", 0o755, zed},
		{"home/zed/own", 0o755, zed},
		{"home/bob", 0o755, bob},
		{"home/zed/roots", 0o755, 0},
		{"srv", 0o755, 0},
		{"srv/zed", 0o755, zed},
	} {
		must(t, os.Mkdir(filepath.Join(dir, d.name), 0o700))
		must(t, os.Chown(filepath.Join(dir, d.name), d.uid, d.uid))
		must(t, chmod(h, "/"+d.name, d.mode))
	}
	return h, dir
}

// symlink creates a symlink that belongs to a user.
func symlink(t *testing.T, dir, name, text string, uid int) {
	t.Helper()
	must(t, os.Symlink(text, filepath.Join(dir, name)))
	must(t, os.Lchown(filepath.Join(dir, name), uid, uid))
}

// Each path ends in the file f. found is the directory that it resolves to, err the reason if it does not.
func TestOnlyTrustedSymlinksAreFollowed(t *testing.T) {
	home := &host.Home{UID: zed, Dir: "/home/zed"}
	type link struct {
		name, text string
		uid        int
	}
	tests := map[string]struct {
		links []link
		path  string
		how   host.Links
		found string // the directory of f
		err   string
	}{
		"no symlink":                                      {path: "/etc/f", found: "/etc"},
		"root's, in a directory of root":                  {links: []link{{"bin", "usr/bin", 0}}, path: "/bin/f", found: "/usr/bin"},
		"root's, absolute":                                {links: []link{{"var/run", "/run", 0}}, path: "/var/run/x/f", found: "/run/x"},
		"root's, upwards and beyond the root":             {links: []link{{"var/run", "../../../run", 0}}, path: "/var/run/x/f", found: "/run/x"},
		"root's, through another of root's":               {links: []link{{"a", "b/x", 0}, {"b", "run", 0}}, path: "/a/f", found: "/run/x"},
		"root's, in a sticky directory":                   {links: []link{{"tmp/l", "/etc", 0}}, path: "/tmp/l/f", err: "users other than root can write to its directory"},
		"root's, in a directory that all can write to":    {links: []link{{"open/l", "/etc", 0}}, path: "/open/l/f", err: "users other than root can write to its directory"},
		"root's, in a directory that a group writes to":   {links: []link{{"shared/l", "/etc", 0}}, path: "/shared/l/f", err: "users other than root can write to its directory"},
		"root's, in a user's directory":                   {links: []link{{"home/zed/l", "/etc", 0}}, path: "/home/zed/l/f", how: host.Links{Home: home}, err: "users other than root can write to its directory"},
		"a user's, in a sticky directory":                 {links: []link{{"tmp/l", "/etc", zed}}, path: "/tmp/l/f", err: "it belongs to user 1001"},
		"a user's, in a directory of root":                {links: []link{{"var/l", "/etc", zed}}, path: "/var/l/f", err: "it belongs to user 1001"},
		"a user's, in the user's home":                    {links: []link{{"home/zed/conf", "/etc", zed}}, path: "/home/zed/conf/f", err: "it belongs to user 1001"},
		"the owner's, to a directory of the owner":        {links: []link{{"home/zed/conf", "own", zed}}, path: "/home/zed/conf/f", how: host.Links{Home: home}, found: "/home/zed/own"},
		"the owner's, to the owner's directory elsewhere": {links: []link{{"home/zed/conf", "/srv/zed", zed}}, path: "/home/zed/conf/f", how: host.Links{Home: home}, found: "/srv/zed"},
		"the owner's, through one of root's":              {links: []link{{"home/zed/conf", "/data/zed", zed}, {"data", "srv", 0}}, path: "/home/zed/conf/f", how: host.Links{Home: home}, found: "/srv/zed"},
		"the owner's, to a directory of root":             {links: []link{{"home/zed/conf", "/etc", zed}}, path: "/home/zed/conf/f", how: host.Links{Home: home}, err: "user 1001 made it lead to /etc, which belongs to user 0"},
		"the owner's, to a directory of another":          {links: []link{{"home/zed/conf", "/home/bob", zed}}, path: "/home/zed/conf/f", how: host.Links{Home: home}, err: "user 1001 made it lead to /home/bob, which belongs to user 1002"},
		"the owner's, through root's, to root's":          {links: []link{{"home/zed/conf", "/bin", zed}, {"bin", "usr/bin", 0}}, path: "/home/zed/conf/f", how: host.Links{Home: home}, err: "user 1001 made it lead to /usr/bin, which belongs to user 0"},
		"the owner's, outside the home":                   {links: []link{{"srv/zed/conf", "/home/zed/own", zed}}, path: "/srv/zed/conf/f", how: host.Links{Home: home}, err: "it belongs to user 1001"},
		"the owner's, in root's directory in the home":    {links: []link{{"home/zed/roots/l", "../own", zed}}, path: "/home/zed/roots/l/f", how: host.Links{Home: home}, err: "it belongs to user 1001"},
		"another's, in the owner's home":                  {links: []link{{"home/zed/conf", "own", bob}}, path: "/home/zed/conf/f", how: host.Links{Home: home}, err: "it belongs to user 1002"},
		"a user without a home":                           {links: []link{{"home/zed/conf", "own", zed}}, path: "/home/zed/conf/f", how: host.Links{Home: &host.Home{UID: zed, Dir: "/nonexistent"}}, err: "it belongs to user 1001"},
		"FollowAll, a user's":                             {links: []link{{"home/zed/conf", "/etc", zed}}, path: "/home/zed/conf/f", how: host.Links{Follow: host.FollowAll}, found: "/etc"},
		"FollowNone, root's":                              {links: []link{{"bin", "usr/bin", 0}}, path: "/bin/f", how: host.Links{Follow: host.FollowNone}, err: "/bin/f contains a symlink"},
		"at the end, without AtEnd":                       {links: []link{{"var/f", "/etc/f", 0}}, path: "/var/f", found: "/var"},
		"at the end, root's":                              {links: []link{{"var/l", "/etc/f", 0}}, path: "/var/l", how: host.Links{AtEnd: true}, found: "/etc"},
		"at the end, root's with a missing target":        {links: []link{{"var/l", "/etc/new", 0}}, path: "/var/l", how: host.Links{AtEnd: true}, found: "/etc"},
		"at the end, a user's":                            {links: []link{{"home/zed/l", "/etc/f", zed}}, path: "/home/zed/l", how: host.Links{AtEnd: true}, err: "it belongs to user 1001"},
		"at the end, with FollowAll":                      {links: []link{{"home/zed/l", "/etc/f", zed}}, path: "/home/zed/l", how: host.Links{AtEnd: true, Follow: host.FollowAll}, found: "/etc"},
		"in a cycle":                                      {links: []link{{"a", "b", 0}, {"b", "a", 0}}, path: "/a/f", err: "more than 40 symlinks follow one another"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			h, dir := homes(t)
			for _, l := range test.links {
				symlink(t, dir, l.name, l.text, l.uid)
			}
			at, name, err := h.EditParent(test.path, test.how)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
				if _, err := h.Lookup(test.path, test.how); err == nil || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("Lookup: %v", err)
				}
				return
			}
			must(t, err)
			defer at.Close()
			want, err := h.Lstat(test.found)
			must(t, err)
			if !at.Info().SameFile(want) {
				t.Errorf("the path leads to %s, want %s", at.Path(), test.found)
			}
			if name != "f" && name != "new" && name != filepath.Base(test.path) {
				t.Errorf("the name is %q", name)
			}
			made, err := at.WriteFile(t.Context(), name, ownedFile("found"))
			must(t, err)
			seen, err := h.Lookup(test.path, test.how)
			must(t, err)
			defer seen.Close()
			if seen.Info().Size != 5 || made == [32]byte{} {
				t.Errorf("Lookup finds %+v", seen.Info())
			}
		})
	}
}

// Without protected_hardlinks, a user could link root's symlink elsewhere.
func TestHardLinkToRootSymlinkIsNotTrusted(t *testing.T) {
	h, dir := homes(t)
	symlink(t, dir, "var/l", "/etc", 0)
	must(t, os.Link(filepath.Join(dir, "var/l"), filepath.Join(dir, "tmp/l")))
	if _, err := h.Lookup("/var/l/f", host.Links{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in root's directory: %v", err)
	}
	if _, err := h.Lookup("/tmp/l/f", host.Links{}); err == nil || !strings.Contains(err.Error(), "users other than root can write to its directory") {
		t.Errorf("elsewhere: %v", err)
	}
}

func TestHandleDoesNotFollowSymlinksBelow(t *testing.T) {
	h, dir := homes(t)
	put(t, filepath.Join(dir, "srv/top/a/f"), "f")
	symlink(t, dir, "data", "srv", 0)
	symlink(t, dir, "srv/top/l", "a", 0)
	top, err := h.Edit("/data/top", host.Links{})
	must(t, err)
	defer top.Close()
	for name, want := range map[string]error{"a/f": nil, "l": nil, "l/f": fs.ErrInvalid, "../zed": fs.ErrInvalid, "/etc": fs.ErrInvalid, "b": fs.ErrNotExist, "a/f/g": fs.ErrNotExist} {
		child, err := top.Child(name)
		if err == nil {
			must(t, child.Close())
		}
		w, editErr := top.Edit(name)
		if editErr == nil {
			must(t, w.Close())
		}
		for _, err := range []error{err, editErr} {
			if (want == nil) != (err == nil) || errors.Is(want, fs.ErrNotExist) != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, name := range []string{"a/f", "..", ".", "", "l/f"} {
		if _, err := top.WriteFile(t.Context(), name, ownedFile("x")); err == nil {
			t.Errorf("WriteFile(%q) wrote", name)
		}
	}
	names, err := top.ReadDir()
	must(t, err)
	if diff := cmp.Diff([]string{"a", "l"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
