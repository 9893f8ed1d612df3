package file_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
)

// linked returns homeOfZed with symlinks in various places, each to a directory with a file f.
func linked(t *testing.T) (h *linux.Host, dir string) {
	t.Helper()
	h, dir = homeOfZed(t)
	for _, name := range []string{"home/zed/own", "data", "tmp"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	must(t, os.Chown(filepath.Join(dir, "home/zed/own"), zed, zed))
	must(t, unix.Chmod(filepath.Join(dir, "tmp"), 0o1777))
	for _, name := range []string{"home/zed/own/f", "etc/f", "data/f"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("old\n"), 0o644))
	}
	for _, l := range []struct {
		name, text string
		uid        int
	}{
		{"home/zed/conf", "/etc", zed},
		{"home/zed/dots", "own", zed},
		{"home/zed/f", "/etc/f", zed},
		{"var", "data", 0},
		{"tmp/zeds", "/etc", zed},
		{"tmp/roots", "/data", 0},
		{"home/zed/roots", "/data", 0},
	} {
		must(t, os.Symlink(l.text, filepath.Join(dir, l.name)))
		must(t, os.Lchown(filepath.Join(dir, l.name), l.uid, l.uid))
	}
	return h, dir
}

func TestSymlinksAboveAFile(t *testing.T) {
	for sentence, c := range map[string]struct{ spec, refused, written string }{
		"root's link in root's directory is followed":                 {spec: `{path: /var/f, content: new}`, written: "data/f"},
		"root's link in a sticky directory is not followed":           {spec: `{path: /tmp/roots/f, content: new}`, refused: "symlink /tmp/roots is not followed: users other than root can write to its directory"},
		"root's link in a user's directory is not followed":           {spec: `{path: /home/zed/roots/f, content: new}`, refused: "symlink /home/zed/roots is not followed: users other than root can write to its directory"},
		"a user's link is not followed":                               {spec: `{path: /home/zed/conf/f, content: new}`, refused: "symlink /home/zed/conf is not followed: it belongs to user 1001"},
		"a user's link in a sticky directory is not followed":         {spec: `{path: /tmp/zeds/f, content: new}`, refused: "it belongs to user 1001"},
		"a user's link is not followed to create a directory":         {spec: `{path: /home/zed/conf/new, ensure: directory}`, refused: "it belongs to user 1001"},
		"a user's link is not followed to remove a file":              {spec: `{path: /home/zed/conf/f, ensure: absent}`, refused: "it belongs to user 1001"},
		"a user's link is not followed to a file of root's":           {spec: `{path: /home/zed/conf/f, owner: zed}`, refused: "user 1001 made it lead to /etc, which belongs to user 0"},
		"a user's link at the path is not followed":                   {spec: `{path: /home/zed/f, content: new, links: follow}`, refused: "it belongs to user 1001"},
		"the owner's link is followed within the owner's directories": {spec: `{path: /home/zed/dots/f, owner: zed, content: new}`, written: "home/zed/own/f"},
		"the owner's link is followed if owner is a number":           {spec: `{path: /home/zed/dots/f, owner: 1001, content: new}`, written: "home/zed/own/f"},
		"another user's link is not followed":                         {spec: `{path: /home/zed/dots/f, owner: root, content: new}`, refused: "it belongs to user 1001"},
		"an owner without an account has no links to follow":          {spec: `{path: /home/zed/dots/f, owner: 1234, content: new}`, refused: "it belongs to user 1001"},
		"followParentLinks follows a user's link":                     {spec: `{path: /home/zed/conf/f, content: new, followParentLinks: true}`, written: "etc/f"},
		"followParentLinks follows a user's link at the path":         {spec: `{path: /home/zed/f, content: new, links: follow, followParentLinks: true}`, written: "etc/f"},
		"a user's link to a source is not followed":                   {spec: `{path: /etc/new, source: /home/zed/conf/f}`, refused: "it belongs to user 1001"},
		"a user's link as the source is not followed":                 {spec: `{path: /etc/new, source: /home/zed/f}`, refused: "it belongs to user 1001"},
		"root's link to a source is followed":                         {spec: `{path: /etc/new, source: /var/f}`, written: ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := linked(t)
			err := applyOnce(t, h, c.spec)
			if c.refused == "" {
				must(t, err)
			} else if err == nil || !strings.Contains(err.Error(), c.refused) || !strings.HasSuffix(err.Error(), "set followParentLinks: true to follow it wherever it leads") {
				t.Errorf("got %v", err)
			}
			for _, name := range []string{"home/zed/own/f", "etc/f", "data/f"} {
				want := "old\n"
				if name == c.written {
					want = "new"
				}
				text, err := os.ReadFile(filepath.Join(dir, name))
				must(t, err)
				var st unix.Stat_t
				must(t, unix.Stat(filepath.Join(dir, name), &st))
				if string(text) != want || name == "etc/f" && st.Uid != 0 {
					t.Errorf("%s contains %q and belongs to %d", name, text, st.Uid)
				}
			}
		})
	}
}

func TestOwnerOfHardLinksIsNotChanged(t *testing.T) {
	for sentence, spec := range map[string]string{
		"an owner":          `{path: /home/zed/link, owner: zed}`,
		"a group":           `{path: /home/zed/link, group: zed}`,
		"a mode":            `{path: /home/zed/link, mode: "0666"}`,
		"a symbolic mode":   `{path: /home/zed/link, mode: o+rw}`,
		"a mode and absent": `{path: /home/zed/link, owner: zed, mode: "0666", ensure: file}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := homeOfZed(t)
			shadow := filepath.Join(dir, "etc/shadow")
			must(t, os.WriteFile(shadow, []byte("secret"), 0o600))
			must(t, os.Link(shadow, filepath.Join(dir, "home/zed/link")))
			err := applyOnce(t, h, spec)
			if err == nil || !strings.Contains(err.Error(), "/home/zed/link has several hard links, and users other than root can write to its directory") {
				t.Errorf("got %v", err)
			}
			var st unix.Stat_t
			must(t, unix.Stat(shadow, &st))
			if st.Uid != 0 || st.Gid != 0 || st.Mode&0o777 != 0o600 {
				t.Errorf("the file elsewhere is now %d:%d %04o", st.Uid, st.Gid, st.Mode)
			}
		})
	}
}

// New content creates a new file, so that the other links are preserved.
func TestContentReplacesHardLinks(t *testing.T) {
	h, dir := homeOfZed(t)
	shadow := filepath.Join(dir, "etc/shadow")
	must(t, os.WriteFile(shadow, []byte("secret"), 0o600))
	must(t, os.Link(shadow, filepath.Join(dir, "home/zed/link")))
	must(t, applyOnce(t, h, `{path: /home/zed/link, content: new, owner: zed, mode: "0600"}`))
	var st unix.Stat_t
	must(t, unix.Stat(shadow, &st))
	if text, err := os.ReadFile(shadow); err != nil || string(text) != "secret" || st.Uid != 0 {
		t.Errorf("the target contains %q and belongs to %d: %v", text, st.Uid, err)
	}
}

// The user may still have the file open.
func TestAFileThatChangesItsOwnerIsWrittenAgain(t *testing.T) {
	h, dir := homeOfZed(t)
	file := filepath.Join(dir, "home/zed/f")
	plantFile(t, file, "one\n", zed, 0o644)
	open, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	defer open.Close()
	must(t, applyOnce(t, h, `{path: /home/zed/f, content: "one\n", owner: root, mode: "4755"}`))
	_, err = open.WriteAt([]byte("zed"), 0)
	must(t, err)
	text, err := os.ReadFile(file)
	must(t, err)
	var st unix.Stat_t
	must(t, unix.Stat(file, &st))
	if string(text) != "one\n" || st.Uid != 0 || st.Mode&0o7777 != 0o4755 {
		t.Errorf("it contains %q, belongs to %d and has mode %04o", text, st.Uid, st.Mode&0o7777)
	}
}

func TestSymbolicModePreservesOnlyTrustedSetIDBits(t *testing.T) {
	for sentence, c := range map[string]struct {
		path, spec string
		uid        int
		want       uint32
	}{
		"a symbolic mode preserves them in root's directory":                {path: "etc/f", spec: `mode: o-x`, want: 0o6754},
		"a symbolic mode clears them in a user's directory":                 {path: "home/zed/f", spec: `mode: o-x`, uid: zed, want: 0o754},
		"a symbolic mode clears those of root's file in a user's directory": {path: "home/zed/f", spec: `mode: o-x`, want: 0o754},
		"a symbolic mode sets those that it names":                          {path: "home/zed/f", spec: `mode: "u+s,o-x"`, want: 0o4754},
		"new content clears them in a user's directory":                     {path: "home/zed/f", spec: `content: new`, uid: zed, want: 0o755},
		"new content preserves them in root's directory":                    {path: "etc/f", spec: `content: new`, want: 0o6755},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := homeOfZed(t)
			file := filepath.Join(dir, c.path)
			plantFile(t, file, "old", c.uid, 0o6755)
			spec := "{path: /" + c.path + ", " + c.spec + "}"
			must(t, applyOnce(t, h, spec))
			var st unix.Stat_t
			must(t, unix.Stat(file, &st))
			if st.Mode&0o7777 != c.want {
				t.Errorf("the mode is %04o, want %04o", st.Mode&0o7777, c.want)
			}
			if changes := look(t, h, spec).Compare().Changes; len(changes) > 0 {
				t.Errorf("changes remain: %v", messages(changes))
			}
		})
	}
}

// A checkedBy runs a check by inspecting its arguments.
type checkedBy struct {
	host.Host
	staged *[]host.FileInfo
}

func (h checkedBy) Run(_ context.Context, cmd host.Cmd) (host.Result, error) {
	info, err := h.Lstat(cmd.Args[len(cmd.Args)-1])
	*h.staged = append(*h.staged, info)
	return host.Result{}, err
}

// Content checked before a directory is removed has a name that a user may predict.
func TestStagedContentBelongsToRoot(t *testing.T) {
	h, dir := homeOfZed(t)
	plantFile(t, filepath.Join(dir, "home/zed/.fettle-check"), "", zed, 0o600)
	must(t, os.Mkdir(filepath.Join(dir, "home/zed/d"), 0o755))
	var staged []host.FileInfo
	must(t, applyOnce(t, checkedBy{h, &staged}, `{path: /home/zed/d, ensure: file, content: root's, mode: "0600", force: true, validateCmd: check %}`))
	if len(staged) != 2 {
		t.Fatalf("it was checked %d times", len(staged))
	}
	for _, info := range staged {
		if info.UID != 0 || info.GID != 0 || info.Mode != 0o600 {
			t.Errorf("it was %+v", info)
		}
	}
}
