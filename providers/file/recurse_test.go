package file_test

import (
	"encoding/json"
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
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/test/fixtures/mounts"
)

// A forest is a host with directories, and the Files of a run.
type forest struct {
	// given has "path content" for files, "path/" for directories and "path -> text" for
	// links, in the order of their creation.
	given []string
	// before prepares the host further. Optional.
	before func(t *testing.T, dir string)
	// files has the specs of Files, named a, b, ...
	files    []string
	withheld []resource.Withheld
	noop     bool
	lines    []string
	tree     []string // entries below /x afterwards
}

// withheldAt returns a File that is withheld and manages something there.
func withheldAt(location string) []resource.Withheld {
	return []resource.Withheld{{Ref: resource.Ref{Kind: "File", Name: "w"}, Location: location, Why: "Conflict: of two"}}
}

// plant creates the host of a forest.
func plant(t testing.TB, given []string) *hosttest.Host {
	t.Helper()
	h := hosttest.New(t)
	h.Put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1001:1001::/:/bin/sh\n")
	h.Put("/etc/group", "root:x:0:\nweb:x:2001:\n")
	for _, entry := range given {
		name, text, isLink := strings.Cut(entry, " -> ")
		if isLink {
			if err := os.Symlink(text, filepath.Join(h.Dir(), name)); err != nil {
				t.Fatal(err)
			}
		} else if name, ok := strings.CutSuffix(entry, "/"); ok {
			h.PutDir(name)
		} else {
			name, text, _ := strings.Cut(entry, " ")
			h.Put(name, text)
		}
	}
	return h
}

// runForest runs Files on a host.
func runForest(t testing.TB, h host.Host, f forest) report.Report {
	t.Helper()
	kind := bound.Kind(file.Type(nowhere))
	var items []resource.Item
	for i, spec := range f.files {
		raw, err := yaml.YAMLToJSON([]byte(spec))
		if err != nil {
			t.Fatal(err)
		}
		item := resource.Item{Ref: resource.Ref{Kind: "File", Name: string(rune('a' + i))}}
		item.Resource, item.Invalid = kind.Bind(item.Ref, raw)
		item.Location = kind.Location(item.Ref, json.RawMessage(raw))
		items = append(items, item)
	}
	result, err := engine.Transaction{Host: h, Bucket: bucket.New(h, bucket.DefaultDir, bucket.DefaultLimit), Kinds: []resource.Kind{kind}, Withheld: f.withheld, Noop: f.noop, Now: time.Now}.Run(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func reportLines(result report.Report) (lines []string) {
	for _, res := range result.Resources {
		lines = append(lines, res.Lines()...)
	}
	return lines
}

// listing lists the entries below /x: path, mode, owner unless it is root, and content or text.
func listing(t *testing.T, h *hosttest.Host) (all []string) {
	t.Helper()
	top := filepath.Join(h.Dir(), "x")
	must(t, filepath.WalkDir(top, func(p string, _ fs.DirEntry, err error) error {
		if err != nil || p == top {
			return err
		}
		all = append(all, describeOne(t, h, strings.TrimPrefix(p, h.Dir())))
		return nil
	}))
	return all
}

func describeOne(t *testing.T, h *hosttest.Host, p string) string {
	t.Helper()
	info, err := h.Lstat(p)
	must(t, err)
	owner := ""
	if info.UID != 0 {
		owner = fmt.Sprintf(" %d", info.UID)
	}
	switch {
	case info.IsDir():
		return fmt.Sprintf("%s/ %04o%s", p, info.Mode, owner)
	case info.IsSymlink():
		text, err := h.Readlink(p)
		must(t, err)
		return fmt.Sprintf("%s ->%s %s", p, owner, text)
	case !info.IsRegular():
		return fmt.Sprintf("%s special%s", p, owner)
	}
	text, err := h.ReadFile(p)
	must(t, err)
	return fmt.Sprintf("%s %04o%s %s", p, info.Mode, owner, text)
}

func (f forest) check(t *testing.T) {
	t.Helper()
	h := plant(t, f.given)
	if f.before != nil {
		f.before(t, h.Dir())
	}
	if diff := cmp.Diff(f.lines, reportLines(runForest(t, h, f))); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(f.tree, listing(t, h)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if failed := slices.ContainsFunc(f.lines, func(l string) bool { return strings.Contains(l, "cannot") }); failed || f.noop {
		return
	}
	if again := runForest(t, h, f); again.Status != "unchanged" {
		t.Errorf("a second run: %v", reportLines(again))
	}
}

func TestRecurse(t *testing.T) {
	t.Parallel()

	deep := []string{"/x/f one", "/x/d/g two", "/x/d/e/h three", "/x/l -> /etc"}
	for sentence, f := range map[string]forest{
		"owner and mode apply to everything below, also to links": {
			given: deep, files: []string{`{path: /x, recurse: true, owner: ann, mode: "0640"}`},
			lines: []string{
				"File//x/d: owner changed root to ann", "File//x/d: mode changed 0755 to 0750",
				"File//x/d/e: owner changed root to ann", "File//x/d/e: mode changed 0755 to 0750",
				"File//x/d/e/h: owner changed root to ann", "File//x/d/e/h: mode changed 0644 to 0640",
				"File//x/d/g: owner changed root to ann", "File//x/d/g: mode changed 0644 to 0640",
				"File//x/f: owner changed root to ann", "File//x/f: mode changed 0644 to 0640",
				"File//x/l: owner changed root to ann",
				"File/a: owner changed root to ann", "File/a: mode changed 0755 to 0750",
			},
			tree: []string{
				"/x/d/ 0750 1001", "/x/d/e/ 0750 1001", "/x/d/e/h 0640 1001 three", "/x/d/g 0640 1001 two", "/x/f 0640 1001 one", "/x/l -> 1001 /etc",
			},
		},
		"nothing is done without recurse": {
			given: deep, files: []string{`{path: /x, mode: "0755"}`},
			tree: []string{"/x/d/ 0755", "/x/d/e/ 0755", "/x/d/e/h 0644 three", "/x/d/g 0644 two", "/x/f 0644 one", "/x/l -> /etc"},
		},
		"recurseLimit: 1 covers only the directory's entries": {
			given: deep, files: []string{`{path: /x, recurse: true, recurseLimit: 1, mode: "0600"}`},
			lines: []string{
				"File//x/d: mode changed 0755 to 0700", "File//x/f: mode changed 0644 to 0600", "File/a: mode changed 0755 to 0700",
			},
			tree: []string{"/x/d/ 0700", "/x/d/e/ 0755", "/x/d/e/h 0644 three", "/x/d/g 0644 two", "/x/f 0600 one", "/x/l -> /etc"},
		},
		"ignored entries and everything below them are left alone": {
			given: append([]string{"/x/.f a"}, deep...), files: []string{`{path: /x, recurse: true, ignore: ["[!f]", "*f"], mode: "0600"}`},
			lines: []string{"File//x/.f: mode changed 0644 to 0600", "File/a: mode changed 0755 to 0700"},
			tree:  []string{"/x/.f 0600 a", "/x/d/ 0755", "/x/d/e/ 0755", "/x/d/e/h 0644 three", "/x/d/g 0644 two", "/x/f 0644 one", "/x/l -> /etc"},
		},
		"the path of another File and everything below it are left alone": {
			given: deep, files: []string{`{path: /x, recurse: true, mode: "0600"}`, `{path: /x/d/e, mode: "0711"}`},
			lines: []string{
				"File//x/d: mode changed 0755 to 0700", "File//x/d/g: mode changed 0644 to 0600", "File//x/f: mode changed 0644 to 0600",
				"File/a: mode changed 0755 to 0700", "File/b: mode changed 0755 to 0711",
			},
			tree: []string{"/x/d/ 0700", "/x/d/e/ 0711", "/x/d/e/h 0644 three", "/x/d/g 0600 two", "/x/f 0600 one", "/x/l -> /etc"},
		},
		"links: follow visits a cycle of links once": {
			given: []string{"/y/d/f one", "/x/", "/x/l -> ../y", "/y/ring -> /x", "/x/lost -> /nowhere"},
			files: []string{`{path: /x, recurse: true, links: follow, mode: "0600"}`},
			lines: []string{
				"File//x/l: mode changed 0755 to 0700", "File//x/l/d: mode changed 0755 to 0700", "File//x/l/d/f: mode changed 0644 to 0600",
				"File/a: mode changed 0755 to 0700",
			},
			tree: []string{"/x/l -> ../y", "/x/lost -> /nowhere"},
		},
		"a file is not recursed into": {
			given: []string{"/x one"}, files: []string{`{path: /x, recurse: true, mode: "0600"}`},
			lines: []string{"File/a: mode changed 0644 to 0600"},
		},
		"a missing directory has no entries": {given: []string{"/x/"}, files: []string{`{path: /y, recurse: true, mode: "0600"}`}},
		"noop reports and changes nothing": {
			given: []string{"/x/f one"}, noop: true, files: []string{`{path: /x, recurse: true, mode: "0600"}`},
			lines: []string{"File//x/f: mode changed 0644 to 0600 (noop)", "File/a: mode changed 0755 to 0700 (noop)"},
			tree:  []string{"/x/f 0644 one"},
		},
		"more files than maxFiles fail before anything is changed": {
			given: deep, files: []string{`{path: /x, recurse: true, maxFiles: 4, mode: "0600"}`},
			lines: []string{"File/a: cannot read the present state: /x has more than 4 files below it: raise maxFiles, or leave some out by ignore or recurseLimit"},
			tree:  []string{"/x/d/ 0755", "/x/d/e/ 0755", "/x/d/e/h 0644 three", "/x/d/g 0644 two", "/x/f 0644 one", "/x/l -> /etc"},
		},
		"exactly maxFiles files are accepted": {
			given: []string{"/x/f one"}, files: []string{`{path: /x, recurse: true, maxFiles: 1, mode: "0600"}`},
			lines: []string{"File//x/f: mode changed 0644 to 0600", "File/a: mode changed 0755 to 0700"},
			tree:  []string{"/x/f 0600 one"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f.check(t)
		})
	}
}

func TestRecursiveCopy(t *testing.T) {
	t.Parallel()

	source := []string{"/src/f one", "/src/d/g two", "/src/l -> f"}
	for sentence, f := range map[string]forest{
		"copies files, directories and links": {
			given: source, files: []string{`{path: /x, source: /src, recurse: true, group: web, mode: "0640"}`},
			lines: []string{"File//x/d: created", "File//x/d/g: created", "File//x/f: created", "File//x/l: created", "File/a: created"},
			tree:  []string{"/x/d/ 0750", "/x/d/g 0640 two", "/x/f 0640 one", "/x/l -> f"},
		},
		"copies the targets of links with links: follow": {
			given: append(slices.Clone(source), "/more/h three", "/src/m -> /more"), files: []string{`{path: /x, source: /src, recurse: true, links: follow}`},
			lines: []string{
				"File//x/d: created", "File//x/d/g: created", "File//x/f: created", "File//x/l: created", "File//x/m: created", "File//x/m/h: created",
				"File/a: created",
			},
			tree: []string{"/x/d/ 0755", "/x/d/g 0644 two", "/x/f 0644 one", "/x/l 0644 one", "/x/m/ 0755", "/x/m/h 0644 three"},
		},
		"other entries only get owner and mode": {
			given: append([]string{"/x/f old", "/x/d/own mine"}, source...), files: []string{`{path: /x, source: /src, recurse: true, owner: ann}`},
			lines: []string{
				"File//x/d: owner changed root to ann", "File//x/d/g: created", "File//x/d/own: owner changed root to ann",
				"File//x/f: content changed {sha256}cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4 to {sha256}7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
				"File//x/f: owner changed root to ann", "File//x/l: created", "File/a: owner changed root to ann",
			},
			tree: []string{"/x/d/ 0755 1001", "/x/d/g 0644 1001 two", "/x/d/own 0644 1001 mine", "/x/f 0644 1001 one", "/x/l -> 1001 f"},
		},
		"recurseScope: Source leaves other entries alone": {
			given: append([]string{"/x/own mine", "/x/d/own mine"}, source...), files: []string{`{path: /x, source: /src, recurse: true, recurseScope: Source, owner: ann}`},
			lines: []string{
				"File//x/d: owner changed root to ann", "File//x/d/g: created", "File//x/f: created", "File//x/l: created", "File/a: owner changed root to ann",
			},
			tree: []string{"/x/d/ 0755 1001", "/x/d/g 0644 1001 two", "/x/d/own 0644 mine", "/x/f 0644 1001 one", "/x/l -> 1001 f", "/x/own 0644 mine"},
		},
		"skips ignored files and those of other Files": {
			given: source, files: []string{`{path: /x, source: /src, recurse: true, ignore: [l]}`, `{path: /x/d/g, content: mine}`},
			lines: []string{"File//x/d: created", "File//x/f: created", "File/a: created", "File/b: created"},
			tree:  []string{"/x/d/ 0755", "/x/d/g 0644 mine", "/x/f 0644 one"},
		},
		"copies one level with recurseLimit: 1": {
			given: source, files: []string{`{path: /x, source: "file:///src", recurse: true, recurseLimit: 1}`},
			lines: []string{"File//x/d: created", "File//x/f: created", "File//x/l: created", "File/a: created"},
			tree:  []string{"/x/d/ 0755", "/x/f 0644 one", "/x/l -> f"},
		},
		"in noop it is told": {
			given: append([]string{"/x/"}, source...), noop: true, files: []string{`{path: /x, source: /src, recurse: true}`},
			lines: []string{"File//x/d: created (noop)", "File//x/d/g: created (noop)", "File//x/f: created (noop)", "File//x/l: created (noop)"},
		},
		"replaces a link by a directory": {
			given: []string{"/src/d/g two", "/x/", "/else/own mine", "/x/d -> /else"}, files: []string{`{path: /x, source: /src, recurse: true}`},
			lines: []string{"File//x/d: ensure changed link to directory", "File//x/d/g: created"},
			tree:  []string{"/x/d/ 0755", "/x/d/g 0644 two"},
		},
		"a file as the source fails": {
			given: []string{"/src one", "/x/"}, files: []string{`{path: /x, source: /src, recurse: true}`},
			lines: []string{"File/a: cannot read the present state: source /src is a file, and recurse needs a directory: name one, or remove recurse"},
		},
		"a missing source fails and nothing is purged": {
			given: []string{"/x/own mine"}, files: []string{`{path: /x, source: /src, recurse: true, purge: true}`},
			lines: []string{"File/a: cannot read the present state: cannot look at source: lookup /src: no such file or directory"},
			tree:  []string{"/x/own 0644 mine"},
		},
		"an entry that cannot be copied fails alone": {
			given:  []string{"/src/a one", "/src/z two"},
			before: func(t *testing.T, dir string) { t.Helper(); must(t, unix.Mkfifo(dir+"/src/m", 0o600)) },
			files:  []string{`{path: /x, source: /src, recurse: true}`},
			lines: []string{
				"File//x/a: created", "File//x/m: change of ensure from absent to file failed: cannot read source: /src/m is a fifo, and only a file has content to copy",
				"File//x/z: created", "File/a: created",
			},
			tree: []string{"/x/a 0644 one", "/x/z 0644 two"},
		},
		"a source whose links lead into itself fails": {
			given: []string{"/src/d/", "/src/d/up -> ..", "/x/"}, files: []string{`{path: /x, source: /src, recurse: true, links: follow}`},
			lines: []string{
				"File//x/d: created", "File//x/d/up: created",
				"File/a: cannot generate its resources: cannot copy /src/d/up: it leads back to a directory above it, or into /x: remove the link, or use links: manage",
			},
			tree: []string{"/x/d/ 0755", "/x/d/up/ 0755"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f.check(t)
		})
	}
}

func TestPurge(t *testing.T) {
	t.Parallel()

	given := []string{"/x/f one", "/x/d/g two", "/x/l -> /else", "/else/kept three"}
	for sentence, f := range map[string]forest{
		"unmanaged entries are removed, directories with force": {
			given: given, files: []string{`{path: /x, recurse: true, purge: true, force: true}`},
			lines: []string{"File//x/d/g: removed", "File//x/d: removed", "File//x/f: removed", "File//x/l: removed"},
		},
		"a directory without force fails and stays": {
			given: given, files: []string{`{path: /x, recurse: true, purge: true}`},
			lines: []string{
				"File//x/d/g: removed",
				"File//x/d: change of ensure from directory to absent failed: cannot remove /x/d: it is a directory: set force: true to delete it with its contents",
				"File//x/f: removed", "File//x/l: removed",
			},
			tree: []string{"/x/d/ 0755"},
		},
		"entries of the source stay": {
			given: append([]string{"/src/d/h new"}, given...), files: []string{`{path: /x, source: /src, recurse: true, purge: true, force: true}`},
			lines: []string{"File//x/d/g: removed", "File//x/d/h: created", "File//x/f: removed", "File//x/l: removed"},
			tree:  []string{"/x/d/ 0755", "/x/d/h 0644 new"},
		},
		"the paths of other Files and the directories above them stay": {
			given: append([]string{"/x/d/e/kept four", "/x/d/e/lost five"}, given...),
			files: []string{`{path: /x, recurse: true, purge: true, force: true, mode: "0755"}`, `{path: /x/d/e/kept}`, `{path: /x/later/f, ensure: absent}`},
			lines: []string{"File//x/d/e/lost: removed", "File//x/d/g: removed", "File//x/f: removed", "File//x/l: removed"},
			tree:  []string{"/x/d/ 0755", "/x/d/e/ 0755", "/x/d/e/kept 0644 four"},
		},
		"the directories above a deeply nested File stay": {
			given: append([]string{"/x/d/e/kept four"}, given...),
			files: []string{`{path: /x, recurse: true, recurseLimit: 1, purge: true, force: true}`, `{path: /x/d/e/kept}`},
			lines: []string{"File//x/f: removed", "File//x/l: removed"},
			tree:  []string{"/x/d/ 0755", "/x/d/e/ 0755", "/x/d/e/kept 0644 four", "/x/d/g 0644 two"},
		},
		"ignored entries and the directories above them stay": {
			given: append([]string{"/x/d/.keep a"}, given...), files: []string{`{path: /x, recurse: true, purge: true, force: true, ignore: [".*"]}`},
			lines: []string{"File//x/d/g: removed", "File//x/f: removed", "File//x/l: removed"},
			tree:  []string{"/x/d/ 0755", "/x/d/.keep 0644 a"},
		},
		"the target of a link stays": {
			given: given, files: []string{`{path: /x, recurse: true, purge: true, force: true, links: follow, ignore: [d, f]}`},
			lines: []string{"File//x/l: removed"},
			tree:  []string{"/x/d/ 0755", "/x/d/g 0644 two", "/x/f 0644 one"},
		},
		"nothing is purged while a File is withheld": {
			given: given, withheld: withheldAt(""), files: []string{`{path: /x, recurse: true, purge: true, force: true, mode: "0755"}`},
			lines: []string{
				"File//x/f: mode changed 0644 to 0755", "File//x/d/g: mode changed 0644 to 0755",
				"File/a: nothing is purged: File/w is withheld (Conflict: of two) and may manage files at or below /x",
			},
			tree: []string{"/x/d/ 0755", "/x/d/g 0755 two", "/x/f 0755 one", "/x/l -> /else"},
		},
		"nothing is purged while a File below is withheld": {
			given: given, withheld: withheldAt("/x/d/new"), files: []string{`{path: /x, recurse: true, purge: true, force: true}`},
			lines: []string{"File/a: nothing is purged: File/w is withheld (Conflict: of two) and manages /x/d/new"},
			tree:  []string{"/x/d/ 0755", "/x/d/g 0644 two", "/x/f 0644 one", "/x/l -> /else"},
		},
		"nothing is purged while a File above is withheld that is recursive": {
			given: given, withheld: withheldAt("/x/"), files: []string{`{path: /x/d, recurse: true, purge: true}`},
			lines: []string{"File/a: nothing is purged: File/w is withheld (Conflict: of two) and may manage all below /x"},
			tree:  []string{"/x/d/ 0755", "/x/d/g 0644 two", "/x/f 0644 one", "/x/l -> /else"},
		},
		"nothing is purged while a recursive File is withheld that leads there by a link": {
			given: append([]string{"/y -> x"}, given...), withheld: withheldAt("/y/"), files: []string{`{path: /x/d, recurse: true, purge: true}`},
			lines: []string{"File/a: nothing is purged: File/w is withheld (Conflict: of two) and may manage all below /y"},
			tree:  []string{"/x/d/ 0755", "/x/d/g 0644 two", "/x/f 0644 one", "/x/l -> /else"},
		},
		"a directory is purged while a File above or elsewhere is withheld": {
			given: given, withheld: slices.Concat(withheldAt("/x"), withheldAt("/x/dd/new"), withheldAt("/y/")),
			files: []string{`{path: /x/d, recurse: true, purge: true}`},
			lines: []string{"File//x/d/g: removed"},
			tree:  []string{"/x/d/ 0755", "/x/f 0644 one", "/x/l -> /else"},
		},
		"what a withheld File manages by another path stays": {
			given: append([]string{"/y -> x"}, given...), withheld: withheldAt("/y/d/g"), files: []string{`{path: /x, recurse: true, purge: true, force: true}`},
			lines: []string{"File//x/f: removed", "File//x/l: removed"},
			tree:  []string{"/x/d/ 0755", "/x/d/g 0644 two"},
		},
		"only a purge waits": {
			given: given, withheld: withheldAt("/x/d/new"), files: []string{`{path: /x, recurse: true, mode: "0755"}`},
			lines: []string{"File//x/f: mode changed 0644 to 0755", "File//x/d/g: mode changed 0644 to 0755"},
			tree:  []string{"/x/d/ 0755", "/x/d/g 0755 two", "/x/f 0755 one", "/x/l -> /else"},
		},
		"nothing is purged while a File is invalid": {
			given: given, files: []string{`{path: /x, recurse: true, purge: true, force: true}`, `{path: etc}`},
			lines: []string{
				`File/a: nothing is purged: File/b is withheld (path "etc" must be absolute, such as /etc/motd) and may manage files at or below /x`,
				`File/b: path "etc" must be absolute, such as /etc/motd`,
			},
			tree: []string{"/x/d/ 0755", "/x/d/g 0644 two", "/x/f 0644 one", "/x/l -> /else"},
		},
		"in noop it is told": {
			given: given, noop: true, files: []string{`{path: /x, recurse: true, purge: true, force: true}`},
			lines: []string{"File//x/d/g: removed (noop)", "File//x/d: removed (noop)", "File//x/f: removed (noop)", "File//x/l: removed (noop)"},
			tree:  []string{"/x/d/ 0755", "/x/d/g 0644 two", "/x/f 0644 one", "/x/l -> /else"},
		},
		"a directory at the recurseLimit is removed with everything below it": {
			given: given, files: []string{`{path: /x, recurse: true, recurseLimit: 1, purge: true, force: true}`},
			lines: []string{"File//x/d: removed", "File//x/f: removed", "File//x/l: removed"},
		},
	} {
		slices.Sort(f.lines)
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := plant(t, f.given)
			got := reportLines(runForest(t, h, f))
			slices.Sort(got)
			if diff := cmp.Diff(f.lines, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(f.tree, listing(t, h)); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
			if text, err := h.ReadFile("/else/kept"); string(text) != "three" || err != nil {
				t.Errorf("the other file contains %q, %v", text, err)
			}
		})
	}
}

// Each purged file is saved in the bucket separately.
func TestPurgedFilesAreBackedUp(t *testing.T) {
	t.Parallel()

	h := plant(t, []string{"/x/f one", "/x/d/g two"})
	runForest(t, h, forest{files: []string{`{path: /x, recurse: true, purge: true, force: true}`}})
	if diff := cmp.Diff([]string{`"one" [/x/f]`, `"two" [/x/d/g]`}, saved(t, h)); diff != "" {
		t.Error(diff)
	}
}

func TestBackupCopiesAreNotPurged(t *testing.T) {
	t.Parallel()

	h := plant(t, []string{"/x/d/g two", "/x/e.bak/", "/x/f one"})
	f := forest{files: []string{`{path: /x, recurse: true, purge: true, force: true, backup: .bak}`}}
	for _, want := range [][]string{{"File//x/d/g: removed", "File//x/e.bak: removed", "File//x/f: removed"}, nil} {
		if diff := cmp.Diff(want, reportLines(runForest(t, h, f))); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"/x/d/ 0755", "/x/d/g.bak 0644 two", "/x/f.bak 0644 one"}, listing(t, h)); diff != "" {
			t.Errorf("tree (-want +got):\n%s", diff)
		}
	}
}

func TestMountsAreNotPurged(t *testing.T) {
	t.Parallel()

	mounts.Own(t, func() {
		// A bind mount has the device number of its surroundings, a tmpfs its own.
		h := plant(t, []string{"/data/f one", "/x/d/bound/", "/x/other/", "/x/file old", "/x/stray two"})
		for _, m := range []struct {
			from, to, kind string
			flags          uintptr
		}{{"/data", "/x/d/bound", "", unix.MS_BIND}, {"/data/f", "/x/file", "", unix.MS_BIND}, {"tmpfs", "/x/other", "tmpfs", 0}} {
			from := m.from
			if m.kind == "" {
				from = h.Dir() + m.from
			}
			if err := unix.Mount(from, h.Dir()+m.to, m.kind, m.flags, ""); err != nil {
				t.Error(err)
				return
			}
		}
		h.Put("/x/other/inside", "three")
		lines := reportLines(runForest(t, h, forest{files: []string{`{path: /x, recurse: true, purge: true, force: true}`}}))
		if diff := cmp.Diff([]string{"File//x/stray: removed"}, lines); diff != "" {
			t.Error(diff)
		}
		for _, p := range []string{"/data/f", "/x/d/bound/f", "/x/file", "/x/other/inside"} {
			if _, err := h.Lstat(p); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestManyFilesCauseAWarning(t *testing.T) {
	t.Parallel()

	h := plant(t, []string{"/x/"})
	for i := range 1001 {
		h.Put(fmt.Sprintf("/x/%d", i), "")
	}
	for spec, want := range map[string][]string{
		`{path: /x, recurse: true, mode: "0644"}`: {
			"File/a: warning: 1001 files below /x are many for one resource: " +
				"leave some out by ignore or recurseLimit, or set maxFiles to how many are expected, -1 for any number",
		},
		`{path: /x, recurse: true, maxFiles: -1, mode: "0644"}`:   nil,
		`{path: /x, recurse: true, maxFiles: 2000, mode: "0644"}`: nil,
	} {
		if diff := cmp.Diff(want, reportLines(runForest(t, h, forest{files: []string{spec}}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}
