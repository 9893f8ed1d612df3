package file_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// ref is the resource of all tests.
var ref = resource.Ref{Kind: "File", Name: "test"}

// bind returns a resource from the spec of a manifest.
func bind(t testing.TB, spec string) (resource.Resource, error) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	return bound.Kind(file.Type(nowhere)).Bind(ref, raw)
}

// look binds a resource and reads its state, as a run does.
func look(t testing.TB, h host.Reader, spec string) resource.Resource {
	t.Helper()
	r, err := bind(t, spec)
	if err == nil {
		err = errors.Join(r.Choose(nil, h, ""), r.Read(t.Context(), resourcetest.Reader(h)))
	}
	if err != nil {
		t.Fatalf("cannot look: %v", err)
	}
	return r
}

// An outcome is the complete result of one resource.
type outcome struct {
	Changes []string // "property: message"
	Err     string
	Done    []string // the changes to the host
	After   string   // what /x then is
	Left    []string // remaining changes
}

// apply applies one resource as a run does.
func apply(t *testing.T, h *hosttest.Host, spec string) (o outcome) {
	t.Helper()
	h.Reset()
	r := look(t, h.ReadOnly(), spec)
	changes := r.Compare().Changes
	if len(changes) > 0 {
		if err := r.Write(t.Context(), resourcetest.Writer(h), changes); err != nil {
			o.Err = err.Error()
		}
	}
	o.Changes = messages(changes)
	for _, line := range h.Transcript() {
		if !strings.Contains(line, " /var") { // backups have their own tests
			o.Done = append(o.Done, line[len("! "):])
		}
	}
	o.After = resourcetest.Files(h, "/x")(t)
	o.Left = messages(look(t, h.ReadOnly(), spec).Compare().Changes)
	return o
}

func messages(changes []resource.Change) (out []string) {
	for _, c := range changes {
		out = append(out, c.Message)
	}
	return out
}

// newHost returns a host with some accounts and, at /x, the entry that given creates.
func newHost(t *testing.T, given func(t *testing.T, h *hosttest.Host)) *hosttest.Host {
	t.Helper()
	h := hosttest.New(t)
	h.Put("/etc/passwd", "root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/root:/bin/sh\nann:x:1001:1001::/:/bin/sh\n")
	h.Put("/etc/group", "root:x:0:\nweb:x:2001:\n")
	if given != nil {
		given(t, h)
	}
	return h
}

// The entries at /x.

func text(content string, mode uint32, uid, gid int) func(*testing.T, *hosttest.Host) {
	return func(t *testing.T, h *hosttest.Host) {
		t.Helper()
		h.Put("/x", content)
		own(t, h, uid, gid)
		must(t, h.Chmod("/x", mode))
	}
}

func dir(mode uint32, uid, gid int) func(*testing.T, *hosttest.Host) {
	return func(t *testing.T, h *hosttest.Host) {
		t.Helper()
		h.PutDir("/x")
		own(t, h, uid, gid)
		must(t, h.Chmod("/x", mode))
	}
}

func fullDir(t *testing.T, h *hosttest.Host) {
	t.Helper()
	h.Put("/x/sub/f", "kept")
}

func symlink(target string, uid, gid int) func(*testing.T, *hosttest.Host) {
	return func(t *testing.T, h *hosttest.Host) {
		t.Helper()
		must(t, h.Symlink(target, "/x"))
		own(t, h, uid, gid)
	}
}

func own(t *testing.T, h *hosttest.Host, uid, gid int) {
	t.Helper()
	must(t, h.Chown("/x", uid, gid))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The SHA-256 of "one\n" and "two\n".
const (
	sumOne = "{sha256}2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"
	sumTwo = "{sha256}27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"
)

// A scenario is a host and the outcome of one resource there.
type scenario struct {
	given func(*testing.T, *hosttest.Host)
	root  bool // requires root
	spec  string
	want  outcome
}

func try(t *testing.T, scenarios map[string]scenario) {
	t.Helper()
	for sentence, c := range scenarios {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if c.root {
				debian.Require(t)
			}
			got := apply(t, newHost(t, c.given), c.spec)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApply(t *testing.T) {
	t.Parallel()

	try(t, map[string]scenario{
		"a file is created with content, owner, group and mode at once": {
			spec: `{path: /x, content: "one\n", owner: ann, group: web, mode: "4750"}`,
			want: outcome{
				Changes: []string{"created"},
				Done:    []string{"write /x 4750 1001 2001"},
				After:   "/x ---------- 4750 1001:2001\n  one\n  \n",
			},
		},
		"a file without attributes is root's, 0644 and empty": {
			spec: `{path: /x, ensure: file}`,
			want: outcome{
				Changes: []string{"created"},
				Done:    []string{"write /x 0644 root root"},
				After:   "/x ---------- 0644 0:0\n  \n",
			},
		},
		"present creates a file": {
			spec: `{path: /x, ensure: present, mode: "0600"}`,
			want: outcome{
				Changes: []string{"created"},
				Done:    []string{"write /x 0600 root root"},
				After:   "/x ---------- 0600 0:0\n  \n",
			},
		},
		"a symbolic mode of a new file begins with 0644": {
			spec: `{path: /x, ensure: file, mode: "go="}`,
			want: outcome{
				Changes: []string{"created"},
				Done:    []string{"write /x 0600 root root"},
				After:   "/x ---------- 0600 0:0\n  \n",
			},
		},
		"content changes and unmanaged attributes are preserved": {
			given: text("one\n", 0o4751, 1001, 2001),
			spec:  `{path: /x, content: "two\n"}`,
			want: outcome{
				Changes: []string{"content changed " + sumOne + " to " + sumTwo},
				Done:    []string{"write /x 4751 1001 2001"},
				After:   "/x ---------- 4751 1001:2001\n  two\n  \n",
			},
		},
		"content changes together with owner and mode in one step": {
			given: text("one\n", 0o4755, 1001, 0),
			spec:  `{path: /x, content: "two\n", owner: root, group: web, mode: "0640"}`,
			want: outcome{
				Changes: []string{
					"content changed " + sumOne + " to " + sumTwo, "owner changed ann to root", "group changed root to web", "mode changed 4755 to 0640",
				},
				Done:  []string{"write /x 0640 root 2001"},
				After: "/x ---------- 0640 0:2001\n  two\n  \n",
			},
		},
		"content that comes with a new owner does not keep set-user-ID": {
			given: text("one\n", 0o4755, 1001, 1001),
			spec:  `{path: /x, content: "two\n", owner: root}`,
			want: outcome{
				Changes: []string{"content changed " + sumOne + " to " + sumTwo, "owner changed ann to root"},
				Done:    []string{"write /x 0755 root 1001"},
				After:   "/x ---------- 0755 0:1001\n  two\n  \n",
			},
		},
		"content of the same size is compared": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, content: "one\n"}`,
			want:  outcome{After: "/x ---------- 0644 0:0\n  one\n  \n"},
		},
		"content that looks like a checksum is content": {
			given: text("", 0o644, 0, 0),
			spec:  `{path: /x, content: "{sha256}e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`,
			want: outcome{
				Changes: []string{"content changed {sha256}e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 to " +
					"{sha256}f30e59a0a8df47ef01a0722fdadcb0a785eeb22a86c406fc03ded063d9af9f2f"},
				Done:  []string{"write /x 0644 root root"},
				After: "/x ---------- 0644 0:0\n  {sha256}e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n",
			},
		},
		"with replace: false only owner and mode of an existing file are managed": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, content: "two\n", replace: false, owner: 1001, mode: "0600"}`,
			want: outcome{
				Changes: []string{"owner changed 0 to 1001", "mode changed 0644 to 0600"},
				Done:    []string{"chown /x 1001 -", "chmod /x 0600"},
				After:   "/x ---------- 0600 1001:0\n  one\n  \n",
			},
		},
		"replace: false preserves an entry that is not a file": {
			given: symlink("/else", 0, 0),
			spec:  `{path: /x, content: "two\n", replace: false, mode: "0600"}`,
			want:  outcome{After: "/x L--------- 0777 0:0\n  -> /else\n"},
		},
		"replace: false creates a missing file": {
			spec: `{path: /x, content: "two\n", replace: false}`,
			want: outcome{
				Changes: []string{"created"},
				Done:    []string{"write /x 0644 root root"},
				After:   "/x ---------- 0644 0:0\n  two\n  \n",
			},
		},

		"only the owner changes": {
			given: text("one\n", 0o644, 0, 2001),
			spec:  `{path: /x, content: "one\n", owner: ann, group: web, mode: "0644"}`,
			want: outcome{
				Changes: []string{"owner changed root to ann"},
				Done:    []string{"chown /x 1001 -"},
				After:   "/x ---------- 0644 1001:2001\n  one\n  \n",
			},
		},
		"only the group changes": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, group: web}`,
			want: outcome{
				Changes: []string{"group changed root to web"},
				Done:    []string{"chown /x - 2001"},
				After:   "/x ---------- 0644 0:2001\n  one\n  \n",
			},
		},
		"only the mode changes": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, content: "one\n", mode: "600"}`,
			want: outcome{
				Changes: []string{"mode changed 0644 to 0600"},
				Done:    []string{"chmod /x 0600"},
				After:   "/x ---------- 0600 0:0\n  one\n  \n",
			},
		},
		"a desired set-user-ID bit survives a change of owner": {
			root:  true, // the kernel only clears the bit when the owner is really changed
			given: text("one\n", 0o4755, 0, 0),
			spec:  `{path: /x, owner: ann, mode: "4755"}`,
			want: outcome{
				Changes: []string{"owner changed root to ann"},
				Done:    []string{"chown /x 1001 -", "chmod /x 4755"},
				After:   "/x ---------- 4755 1001:0\n  one\n  \n",
			},
		},
		"an undesired set-user-ID bit is lost with a change of owner": {
			root:  true, // the kernel only clears the bit when the owner is really changed
			given: text("one\n", 0o4755, 0, 0),
			spec:  `{path: /x, owner: ann, mode: "g+w"}`,
			want: outcome{
				Changes: []string{"owner changed root to ann", "mode changed 4755 to 0775"},
				Done:    []string{"chown /x 1001 -", "chmod /x 0775"},
				After:   "/x ---------- 0775 1001:0\n  one\n  \n",
			},
		},
		"an owner with the same number is the same owner": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, owner: toor, group: "0"}`,
			want:  outcome{After: "/x ---------- 0644 0:0\n  one\n  \n"},
		},
		"a number in quotes is a number": {
			given: text("one\n", 0o644, 1001, 7),
			spec:  `{path: /x, owner: "01001", group: "2001"}`,
			want: outcome{
				Changes: []string{"group changed 7 to 2001"},
				Done:    []string{"chown /x - 2001"},
				After:   "/x ---------- 0644 1001:2001\n  one\n  \n",
			},
		},
		"an owner without a name is reported by number": {
			given: text("one\n", 0o644, 3000000000, 0),
			spec:  `{path: /x, owner: ann, group: "3000000000"}`,
			want: outcome{
				Changes: []string{"owner changed 3000000000 to ann", "group changed 0 to 3000000000"},
				Done:    []string{"chown /x 1001 -", "chown /x - 3000000000"},
				After:   "/x ---------- 0644 1001:3000000000\n  one\n  \n",
			},
		},
		"an unknown owner fails only its property": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, owner: eve, mode: "0600"}`,
			want: outcome{
				Changes: []string{"owner changed root to eve", "mode changed 0644 to 0600"},
				Err:     `cannot set owner: the host has no user "eve": create it first, or use a number`,
				Done:    []string{"chmod /x 0600"},
				After:   "/x ---------- 0600 0:0\n  one\n  \n",
				Left:    []string{"owner changed root to eve"},
			},
		},
		"nothing is created for an unknown owner or group": {
			spec: `{path: /x, content: "one\n", owner: eve, group: eves}`,
			want: outcome{
				Changes: []string{"created"},
				Err: `cannot set owner: the host has no user "eve": create it first, or use a number` + "\n" +
					`cannot set group: the host has no group "eves": create it first, or use a number`,
				After: "/x absent\n",
				Left:  []string{"created"},
			},
		},
		"a missing file is not created without ensure and content": {
			spec: `{path: /x, owner: ann, mode: "0600"}`,
			want: outcome{After: "/x absent\n"},
		},

		"a directory is created with owner and mode": {
			spec: `{path: /x/, ensure: directory, owner: ann, group: 2001, mode: "2640"}`,
			want: outcome{
				Changes: []string{"created"},
				Done:    []string{"mkdir /x 2750", "chown /x 1001 -", "chown /x - 2001"},
				After:   "/x d--------- 2750 1001:2001\n",
			},
		},
		"a directory without attributes is root's and 0755": {
			spec: `{path: //x//, ensure: directory}`,
			want: outcome{
				Changes: []string{"created"},
				Done:    []string{"mkdir /x 0755"},
				After:   "/x d--------- 0755 0:0\n",
			},
		},
		"an octal mode makes a directory searchable, also without ensure": {
			given: dir(0o700, 0, 0),
			spec:  `{path: /x, mode: "0644"}`,
			want: outcome{
				Changes: []string{"mode changed 0700 to 0755"},
				Done:    []string{"chmod /x 0755"},
				After:   "/x d--------- 0755 0:0\n",
			},
		},
		"a directory replaces a file": {
			given: text("one\n", 0o600, 1001, 0),
			spec:  `{path: /x, ensure: directory}`,
			want: outcome{
				Changes: []string{"ensure changed file to directory"},
				Done:    []string{"remove /x", "mkdir /x 0755"},
				After:   "/x d--------- 0755 0:0\n",
			},
		},
		"a link to a directory is replaced by a directory": {
			given: symlink("/etc", 0, 0),
			spec:  `{path: /x, ensure: directory}`,
			want: outcome{
				Changes: []string{"ensure changed link to directory"},
				Done:    []string{"remove /x", "mkdir /x 0755"},
				After:   "/x d--------- 0755 0:0\n",
			},
		},
		"a file does not replace a directory without force": {
			given: fullDir,
			spec:  `{path: /x, content: "one\n"}`,
			want: outcome{
				Changes: []string{"ensure changed directory to file"},
				Err:     "cannot replace /x: it is a directory: set force: true to delete it with its contents",
				After:   "/x d--------- 0755 0:0\n/x/sub d--------- 0755 0:0\n/x/sub/f ---------- 0644 0:0\n  kept\n",
				Left:    []string{"ensure changed directory to file"},
			},
		},
		"a link does not replace a directory without force": {
			given: fullDir,
			spec:  `{path: /x, target: /etc, force: false}`,
			want: outcome{
				Changes: []string{"ensure changed directory to link"},
				Err:     "cannot replace /x: it is a directory: set force: true to delete it with its contents",
				After:   "/x d--------- 0755 0:0\n/x/sub d--------- 0755 0:0\n/x/sub/f ---------- 0644 0:0\n  kept\n",
				Left:    []string{"ensure changed directory to link"},
			},
		},
		"a file replaces a directory with force": {
			given: fullDir,
			spec:  `{path: /x, content: "one\n", mode: "0600", force: true}`,
			want: outcome{
				Changes: []string{"ensure changed directory to file"},
				Done:    []string{"removeall /x", "write /x 0600 root root"},
				After:   "/x ---------- 0600 0:0\n  one\n  \n",
			},
		},
		"a link replaces a directory with force": {
			given: fullDir,
			spec:  `{path: /x, target: /etc, force: true}`,
			want: outcome{
				Changes: []string{"ensure changed directory to link"},
				Done:    []string{"removeall /x", "symlink /x /etc"},
				After:   "/x L--------- 0777 0:0\n  -> /etc\n",
			},
		},

		"a link to a missing target is created": {
			spec: `{path: /x, target: ../no/where, owner: ann, mode: "0600"}`,
			want: outcome{
				Changes: []string{"created"},
				Done:    []string{"symlink /x ../no/where", "chown /x 1001 -"},
				After:   "/x L--------- 0777 1001:0\n  -> ../no/where\n",
			},
		},
		"present with a target creates a link": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, ensure: present, target: /etc}`,
			want: outcome{
				Changes: []string{"ensure changed file to link"},
				Done:    []string{"symlink /x /etc"},
				After:   "/x L--------- 0777 0:0\n  -> /etc\n",
			},
		},
		"a corrected link keeps its owner": {
			given: symlink("/old", 1001, 2001),
			spec:  `{path: /x, target: /new, group: root}`,
			want: outcome{
				Changes: []string{"target changed /old to /new", "group changed web to root"},
				Done:    []string{"symlink /x /new", "chown /x 1001 -"},
				After:   "/x L--------- 0777 1001:0\n  -> /new\n",
			},
		},
		"owner applies to the link itself": {
			given: symlink("/etc", 0, 0),
			spec:  `{path: /x, owner: ann, mode: "0600"}`,
			want: outcome{
				Changes: []string{"owner changed root to ann"},
				Done:    []string{"chown /x 1001 -"},
				After:   "/x L--------- 0777 1001:0\n  -> /etc\n",
			},
		},
		"a file replaces a link and not its target": {
			given: symlink("/etc/passwd", 1001, 1001),
			spec:  `{path: /x, content: "one\n"}`,
			want: outcome{
				Changes: []string{"ensure changed link to file"},
				Done:    []string{"write /x 0644 root root"},
				After:   "/x ---------- 0644 0:0\n  one\n  \n",
			},
		},
		"present accepts a link": {
			given: symlink("/nowhere", 0, 0),
			spec:  `{path: /x, ensure: present}`,
			want:  outcome{After: "/x L--------- 0777 0:0\n  -> /nowhere\n"},
		},
		"present does not write content through a link": {
			given: symlink("/etc/passwd", 0, 0),
			spec:  `{path: /x, ensure: present, content: "one\n"}`,
			want: outcome{
				Changes: []string{"content changed link to " + sumOne},
				Err:     "cannot set content: /x is a link, which has no content: set ensure: file to replace it, or remove content",
				After:   "/x L--------- 0777 0:0\n  -> /etc/passwd\n",
				Left:    []string{"content changed link to " + sumOne},
			},
		},

		"a file is removed": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, ensure: absent, owner: nobody-here}`,
			want:  outcome{Changes: []string{"removed"}, Done: []string{"remove /x"}, After: "/x absent\n"},
		},
		"a link is removed and not its target": {
			given: symlink("/etc", 0, 0),
			spec:  `{path: /x, ensure: absent, force: true}`,
			want:  outcome{Changes: []string{"removed"}, Done: []string{"remove /x"}, After: "/x absent\n"},
		},
		"a directory is not removed without force": {
			given: fullDir,
			spec:  `{path: /x, ensure: absent}`,
			want: outcome{
				Changes: []string{"removed"},
				Err:     "cannot remove /x: it is a directory: set force: true to delete it with its contents",
				After:   "/x d--------- 0755 0:0\n/x/sub d--------- 0755 0:0\n/x/sub/f ---------- 0644 0:0\n  kept\n",
				Left:    []string{"removed"},
			},
		},
		"a directory is not removed with force: false": {
			given: fullDir,
			spec:  `{path: /x, ensure: absent, force: false}`,
			want: outcome{
				Changes: []string{"removed"},
				Err:     "cannot remove /x: it is a directory: set force: true to delete it with its contents",
				After:   "/x d--------- 0755 0:0\n/x/sub d--------- 0755 0:0\n/x/sub/f ---------- 0644 0:0\n  kept\n",
				Left:    []string{"removed"},
			},
		},
		"a directory is removed with force": {
			given: fullDir,
			spec:  `{path: /x, ensure: absent, force: true}`,
			want:  outcome{Changes: []string{"removed"}, Done: []string{"removeall /x"}, After: "/x absent\n"},
		},
		"a missing file is in sync with absent": {
			spec: `{path: /x, ensure: absent}`,
			want: outcome{After: "/x absent\n"},
		},
		"a path below a file is absent": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x/y, ensure: absent}`,
			want:  outcome{After: "/x ---------- 0644 0:0\n  one\n  \n"},
		},
		"the error names a missing parent": {
			spec: `{path: /x/y/z, content: "one\n"}`,
			want: outcome{
				Changes: []string{"created"},
				Err:     "cannot create /x/y/z: its parent directory /x/y does not exist: create it first, with a File that has ensure: directory",
				After:   "/x absent\n",
				Left:    []string{"created"},
			},
		},
		"the error names a parent that is not a directory": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x/y, target: /etc}`,
			want: outcome{
				Changes: []string{"created"},
				Err:     "cannot create /x/y: its parent /x is not a directory: use another path",
				After:   "/x ---------- 0644 0:0\n  one\n  \n",
				Left:    []string{"created"},
			},
		},
	})
}
