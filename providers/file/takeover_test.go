package file_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// A user leaves something in a directory, which runs then take over for root. What the user left must not lead root anywhere.
func TestWhatAUserLeftInADirectoryOfRootLeadsNowhere(t *testing.T) {
	const into = `{path: /srv/app/data/f, owner: zed, mode: "0666"}`
	for sentence, c := range map[string]struct {
		leaves func(t *testing.T, dir string)
		runs   [][]string
		says   string // part of what the last run reports
	}{
		"a symlink, and a recursive File takes the directory": {
			leaves: leaveLink, says: "belongs to user 1001",
			runs: [][]string{{`{path: /srv/app, owner: root, recurse: true}`, into}},
		},
		"a symlink, and two Files take it and the directory": {
			leaves: leaveLink, says: "belongs to user 1001",
			runs: [][]string{{`{path: /srv/app, owner: root}`, `{path: /srv/app/data, owner: root}`, into}},
		},
		"a symlink, and one File takes the directory before the other takes it": {
			leaves: leaveLink, says: "belongs to user 1001",
			runs: [][]string{{`{path: /srv/app, owner: root}`}, {`{path: /srv/app/data, owner: root}`}, {into}},
		},
		"a symlink, and a recursive File that follows links comes later": {
			leaves: leaveLink, says: "belongs to user 1001",
			runs: [][]string{
				{`{path: /srv/app, owner: root, recurse: true}`},
				{`{path: /srv/app, owner: zed, mode: "0666", recurse: true, links: follow}`},
			},
		},
		"a symlink, and a recursive File copies it": {
			leaves: leaveLink, says: "symlink /srv/app/data is not copied",
			runs: [][]string{
				{`{path: /srv/copy, source: /srv/app, recurse: true}`},
				{`{path: /srv/copy, source: /srv/app, recurse: true}`, `{path: /srv/copy/data/f, owner: zed, mode: "0666"}`},
			},
		},
		"a symlink in a directory of root's below a user's, and a recursive File copies it": {
			leaves: func(t *testing.T, dir string) {
				must(t, os.Mkdir(filepath.Join(dir, "srv/app/roots"), 0o755))
				must(t, os.Symlink("/etc", filepath.Join(dir, "srv/app/roots/data")))
			}, says: "symlink /srv/app/roots/data is not copied",
			runs: [][]string{
				{`{path: /srv/copy, source: /srv/app, recurse: true}`},
				{`{path: /srv/copy, source: /srv/app, recurse: true}`, `{path: /srv/copy/roots/data/f, owner: zed, mode: "0666"}`},
			},
		},
		"a symlink of root's that the user renamed, and a File takes the directory": {
			leaves: leaveLinkOfRoot, says: "users other than root could write to /srv/app until Fettle changed its owner or mode",
			runs: [][]string{{`{path: /srv/app, owner: root}`, into}, {into}},
		},
		"a symlink of root's that the user renamed, and two Files take the directory": {
			leaves: func(t *testing.T, dir string) {
				leaveLinkOfRoot(t, dir)
				must(t, os.Chmod(filepath.Join(dir, "srv/app"), 0o777)) //nolint:gosec // that is the case
			}, says: "users other than root could write to /srv/app until Fettle changed its owner or mode",
			runs: [][]string{{`{path: /srv/app, owner: root}`}, {`{path: /srv/app, mode: "0755"}`}, {into}},
		},
		"a symlink of root's, and a recursive File copies it from the directory that was the user's": {
			leaves: leaveLinkOfRoot, says: "symlink /srv/app/data is not copied",
			runs: [][]string{
				{`{path: /srv/app, owner: root}`},
				{`{path: /srv/copy, source: /srv/app, recurse: true}`, `{path: /srv/copy/data/f, owner: zed, mode: "0666"}`},
			},
		},
		"a symlink in a directory of root's below the user's": {
			leaves: func(t *testing.T, dir string) {
				must(t, os.MkdirAll(filepath.Join(dir, "srv/app/roots"), 0o755))
				must(t, os.Symlink("/etc", filepath.Join(dir, "srv/app/roots/data")))
			}, says: "users other than root can write to /srv/app, above it",
			runs: [][]string{{`{path: /srv/app/roots/data/f, owner: zed, mode: "0666"}`}},
		},
		"a symlink of root's that the user moved to a sticky directory": {
			leaves: func(t *testing.T, dir string) {
				leaveLinkOfRoot(t, dir)
				must(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o755))
				must(t, os.Chmod(filepath.Join(dir, "tmp"), os.ModeSticky|0o777)) //nolint:gosec // as on any host
				must(t, os.Rename(filepath.Join(dir, "srv/app/data"), filepath.Join(dir, "tmp/data")))
			}, says: "users other than root can write to its directory",
			runs: [][]string{{`{path: /tmp/data/f, owner: zed, mode: "0666"}`}},
		},
		"a hard link, and a recursive File takes the directory": {
			leaves: leaveHardLink, says: "/srv/app/data has several hard links",
			runs: [][]string{{`{path: /srv/app, owner: root, recurse: true, mode: "0666"}`}},
		},
		"a hard link, and one File takes the directory before the other takes it": {
			leaves: leaveHardLink, says: "/srv/app/data has several hard links",
			runs: [][]string{{`{path: /srv/app, owner: root}`}, {`{path: /srv/app/data, owner: zed}`}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := homeOfZed(t)
			plantFile(t, dir+"/etc/f", "root's", 0, 0o600)
			must(t, os.MkdirAll(filepath.Join(dir, "srv/app"), 0o755))
			must(t, os.Chown(filepath.Join(dir, "srv/app"), zed, zed))
			c.leaves(t, dir)
			before := listEtc(t, dir)
			var lines []string
			for _, specs := range c.runs {
				lines = reportLines(runForest(t, h, forest{files: specs}))
			}
			if diff := cmp.Diff(before, listEtc(t, dir)); diff != "" {
				t.Errorf("/etc (-before +after):\n%s", diff)
			}
			if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, c.says) }) {
				t.Errorf("the last run says:\n%s\nwant %q", strings.Join(lines, "\n"), c.says)
			}
		})
	}
}

func leaveLink(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Symlink("/etc", filepath.Join(dir, "srv/app/data")))
	must(t, os.Lchown(filepath.Join(dir, "srv/app/data"), zed, zed))
}

func leaveLinkOfRoot(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Symlink("/etc", filepath.Join(dir, "srv/app/data")))
}

func leaveHardLink(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Link(filepath.Join(dir, "etc/f"), filepath.Join(dir, "srv/app/data")))
}

// A symlink with a managed target is created again, and root's symlinks are given away.
func TestOwnersOfSymlinks(t *testing.T) {
	for sentence, c := range map[string]struct {
		owner int
		spec  string
		want  int
		fails string
	}{
		"a user's becomes root's if it is created again": {zed, `target: /etc, owner: root`, 0, ""},
		"a user's gets another group":                    {zed, `group: root`, zed, ""},
		"a user's stays the user's":                      {zed, `owner: zed`, zed, ""},
		"a user's stays the user's with a new target":    {zed, `target: /usr`, zed, ""},
		"a user's does not become root's as it is":       {zed, `owner: root`, zed, "symlink /home/zed/l belongs to user 1001, who decided where it leads"},
		"a user's does not become another's as it is":    {zed, `owner: 1002`, zed, "symlink /home/zed/l belongs to user 1001"},
		"root's is given away":                           {0, `owner: zed`, zed, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := homeOfZed(t)
			link := filepath.Join(dir, "home/zed/l")
			must(t, os.Symlink("/etc", link))
			must(t, os.Lchown(link, c.owner, zed))
			spec := "{path: /home/zed/l, " + c.spec + "}"
			for _, noop := range []bool{true, false} { // a plan says what an apply would say
				lines := strings.Join(reportLines(runForest(t, h, forest{files: []string{spec}, noop: noop})), "\n")
				if strings.Contains(lines, "belongs to user") != (c.fails != "") || !strings.Contains(lines, c.fails) {
					t.Errorf("noop %v: %s\nwant %q", noop, lines, c.fails)
				}
			}
			var st unix.Stat_t
			must(t, unix.Lstat(link, &st))
			if int(st.Uid) != c.want {
				t.Errorf("it belongs to %d, want %d", st.Uid, c.want)
			}
		})
	}
}
