package providers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// states returns the states of the resources in a report, and the messages of failures.
func states(result report.Report) []string {
	var all []string
	for _, r := range result.Resources {
		line := r.Ref.String() + " " + string(r.State)
		if r.State == report.Failed {
			line += ": " + r.Message
		}
		all = append(all, line)
	}
	return all
}

// trees creates /srv/real, the target of /srv/link, and /srv/from to copy.
func trees(t *testing.T, root string) {
	t.Helper()
	for _, dir := range []string{"srv/real/sub", "srv/from"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	must(t, os.Symlink("real", filepath.Join(root, "srv/link")))
	must(t, os.MkdirAll(filepath.Join(root, "srv/both/real/sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "srv/from/x"), []byte("copied\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "srv/both/real/sub/x"), []byte("copied by another\n"), 0o644))
}

func TestManagedFilesAreNotPurgedByAnotherPath(t *testing.T) {
	for name, resources := range map[string][]string{
		"a directory that is purged": {
			`File/x {path: /srv/link/x, content: own}`, `File/tree {path: /srv/real, ensure: directory, recurse: true, purge: true, force: true}`,
		},
		"a directory that is purged, further up": {
			`File/x {path: /srv/link/sub/x, content: own}`, `File/tree {path: /srv/real, ensure: directory, recurse: true, purge: true, force: true}`,
		},
		"a directory that is purged, afterwards": {
			`File/x {path: /srv/link/x, content: own}`, `File/tree {path: /srv/real, ensure: directory, recurse: true, purge: true, force: true, require: [File/x]}`,
		},
		"a directory that is copied": {
			`File/x {path: /srv/link/x, content: own}`, `File/tree {path: /srv/real, ensure: directory, recurse: true, source: /srv/from}`,
		},
		"a directory with a mode": {
			`File/x {path: /srv/link/x, content: own, mode: "0600"}`, `File/tree {path: /srv/real, ensure: directory, recurse: true, mode: "0644"}`,
		},
		"a directory that is tidied": {
			`File/x {path: /srv/link/sub/x, content: own}`, `Tidy/tree {path: /srv/real, recurse: true, size: 1b, rmdirs: true}`,
		},
		"a file that is tidied": {
			`File/x {path: /srv/link/x, content: own}`, `Tidy/tree {path: /srv/real/x, size: 1b}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			trees(t, root)
			m := machine(t, root)
			m.Report(t, resources...)
			for range 2 {
				if result := m.Report(t, resources...); result.Counts.InSync != result.Counts.Total {
					t.Errorf("later runs: %v", states(result))
				}
			}
			for _, file := range []string{"x", "sub/x"} {
				if content, err := os.ReadFile(filepath.Join(root, "srv/real", file)); err == nil && string(content) != "own" {
					t.Errorf("%s is %q", file, content)
				}
			}
		})
	}
}

func TestGeneratedResourcesThatRevertEachOtherFail(t *testing.T) {
	const copies = `File/copy {path: /srv/real, ensure: directory, recurse: true, source: /srv/from}`
	for name, c := range map[string]struct{ resources, want []string }{
		"copied, then tidied": {
			[]string{copies, `Tidy/tree {path: /srv/real, recurse: true, size: 1b, require: [File/copy]}`},
			[]string{
				"File//srv/real/x Changed",
				"File/copy Failed: File//srv/real/x of this resource was undone in the same run, by Tidy/tree: ensure is absent, should be file: keep the two apart, as by ignore",
				"File//srv/real/x Changed",
				"Tidy/tree Failed: undid in the same run File//srv/real/x of File/copy: keep the two apart, as by ignore",
			},
		},
		"tidied, then copied": {
			[]string{`Tidy/tree {path: /srv/real, recurse: true, size: 1b, before: [File/copy]}`, copies},
			[]string{
				"File//srv/real/x Changed",
				"Tidy/tree Failed: File//srv/real/x of this resource was undone in the same run, by File/copy: ensure is file, should be absent: keep the two apart, as by ignore",
				"File//srv/real/x Changed",
				"File/copy Failed: undid in the same run File//srv/real/x of Tidy/tree: keep the two apart, as by ignore",
			},
		},
		"copied from two directories": {
			[]string{`File/copy {path: /srv/real, ensure: directory, recurse: true, source: /srv/both/real}`, `File/other {path: /srv/link/sub, ensure: directory, recurse: true, source: /srv/from, require: [File/copy]}`},
			[]string{
				"File//srv/real/sub/x Changed",
				"File/copy Failed: File//srv/real/sub/x of this resource was undone in the same run, by File/other: content is {sha256}c859968d74aafda9272be2d13a897eb016930e2c6e9c0054c385d51ec2679d22, should be {sha256}0ba5efc228211b1f1421ce622f8fa61a8ea2175db3819a29eedc9163d13a43e1: keep the two apart, as by ignore",
				"File//srv/link/sub/x Changed",
				"File/other Failed: undid in the same run File//srv/real/sub/x of File/copy: keep the two apart, as by ignore",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			trees(t, root)
			m := machine(t, root)
			m.Report(t, c.resources...)
			for range 2 {
				if diff := cmp.Diff(c.want, states(m.Report(t, c.resources...))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestCopiedFileThatACommandRemovesFails(t *testing.T) {
	root := debian.Root(t)
	trees(t, root)
	m := machine(t, root)
	resources := []string{
		`File/copy {path: /srv/real, ensure: directory, recurse: true, source: /srv/from}`,
		`Exec/clean {command: rm /srv/real/x, onlyIf: [test -e /srv/real/x], path: [/bin], require: [File/copy]}`,
	}
	want := []string{
		"File//srv/real/x Changed",
		"File/copy Failed: File//srv/real/x of this resource was undone in the same run, by Exec/clean: ensure is absent, should be file",
		"Exec/clean Changed",
	}
	for range 2 {
		if diff := cmp.Diff(want, states(m.Report(t, resources...))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
