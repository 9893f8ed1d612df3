package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// Whatever keeps a File from being applied, only what could remove its file waits.
func TestOnlyRemovalsWhereAnInvalidFileMayBeWait(t *testing.T) {
	removers := resourceOf("Tidy", "t", "path: /x, recurse: true") + file("p", "path: /x, recurse: true, purge: true")
	for name, c := range map[string]struct {
		file string // with %s for its path
		why  string // with %[1]s for its path
		more string
	}{
		"an invalid when": {
			file: file("w", `path: %s, when: "fact.x"`), why: `InvalidWhen: when "fact.x" is invalid: line 1, column 1: undeclared reference to 'fact' (in container '')`,
		},
		"a missing reference": {
			file: file("w", "path: %s, require: [File/z]"), why: "MissingReference: require names File/z, which does not exist; the node has File/p, File/w",
		},
		"a conflict": {
			file: file("w", "path: %[1]s") + file("v", "path: %[1]s"), more: "; and 1 more",
			why: `Conflict: path "%[1]s" is also claimed by File/v on the same node: keep one, or let their nodeSelector or when exclude each other`,
		},
		"an invalid template": {
			file: file("w", `path: %s, contentTemplate: "{{ if }}"`), why: "InvalidTemplate: cannot parse contentTemplate: line 1: missing value for if",
		},
		"a dependency cycle": {
			file: file("w", "path: %s, require: [File/v]") + file("v", "path: /v, require: [File/w]"), why: "DependencyCycle: File/w -> File/v -> File/w is a cycle: remove one of these edges",
		},
		"a dependency": {
			file: file("w", "path: %s, require: [File/v]") + file("v", `path: /v, when: "fact.x"`), why: "DependsOnProblem: waits for File/v, which is withheld: InvalidWhen",
		},
		"a missing ConfigMap": {
			file: file("w", "path: %s, contentFrom: {configMapKeyRef: {namespace: a, name: b, key: c}}"),
			why:  `MissingSource: contentFrom names key "c" of ConfigMap a/b, which does not exist: create it, or correct contentFrom`,
		},
	} {
		for command, done := range map[string]string{"plan": " (noop)", "apply": ""} {
			t.Run(name+", "+command, func(t *testing.T) {
				for path, want := range map[string][]string{
					"/x/new": {
						"File/p: nothing is purged: File/w is withheld (" + c.why + ") and manages /x/new" + c.more,
						"Tidy/t: skipped: File/w is withheld (" + c.why + ") and manages /x/new" + c.more,
					},
					"/y/new": {"File//x/old: removed" + done},
				} {
					root := emptyRoot(t)
					put(t, filepath.Join(root, "x/old"), "")
					got := fettle(t, removers+fill(c.file, path), command, "-f", "-", "--root", root)
					for i := range want {
						want[i] = fill(want[i], path)
					}
					if diff := cmp.Diff(want, ofRemovers(got.out)); diff != "" {
						t.Errorf("%s (-want +got):\n%s\n%s", path, diff, got.err)
					}
					if _, err := os.Stat(filepath.Join(root, "x/old")); os.IsNotExist(err) != (command == "apply" && path == "/y/new") {
						t.Errorf("%s: %v", path, err)
					}
				}
			})
		}
	}
}

// fill inserts a path into a text where that has a verb.
func fill(text, path string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	return fmt.Sprintf(text, path)
}

// ofRemovers returns the lines about a Tidy, a purging File and what they remove, which is reported once.
func ofRemovers(out string) (lines []string) {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "Tidy/t: ") || strings.HasPrefix(line, "File/p: ") || strings.HasPrefix(line, "File//x/") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines) // both would remove the same
}

func resourceOf(kind, name, spec string) string {
	return "apiVersion: fettle.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {nodeSelector: {}, " + spec + "}\n---\n"
}

// Of a document that an API server would reject, the path is known if it can be read.
func TestRemovalsWaitForRejectedFilesAtPathsThatCanBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		files string
		waits bool
	}{
		"a wrong mode below it":                      {file("w", `path: /x/new, mode: "999"`), true},
		"a wrong mode elsewhere":                     {file("w", `path: /y/new, mode: "999"`), false},
		"a wrong type elsewhere":                     {file("w", `path: /y/new, force: please`), false},
		"an unknown field elsewhere":                 {file("w", `path: /y/new, modus: "0600"`), false},
		"what may be a tree above it":                {file("w", `path: /, recurse: please`), true},
		"a path that is relative":                    {file("w", `path: new`), true},
		"a path of the wrong type":                   {file("w", `path: [/y/new]`), true},
		"none":                                       {file("w", `mode: "0600"`), true},
		"two of one name elsewhere":                  {file("w", `path: /y/a`) + file("w", `path: /y/b`), false},
		"two of one name, the second of them is not": {file("w", `path: /y/a`) + file("w", `path: /x/b`), true},
		"an invalid resource of another kind":        {resourceOf("Package", "w", "ensure: [1]"), false},
	} {
		t.Run(name, func(t *testing.T) {
			root := emptyRoot(t)
			put(t, filepath.Join(root, "x/old"), "")
			got := fettle(t, resourceOf("Tidy", "t", "path: /x, recurse: true")+c.files, "apply", "-f", "-", "--root", root)
			if waits := strings.HasPrefix(got.out, "Tidy/t: skipped: File/w is withheld (InvalidSpec: stdin:"); waits != c.waits || got.code != 1 {
				t.Errorf("exit %d\n%s%s", got.code, got.out, got.err)
			}
			if _, err := os.Stat(filepath.Join(root, "x/old")); os.IsNotExist(err) == c.waits {
				t.Errorf("the file: %v", err)
			}
		})
	}
}

func TestPurgesWaitOnlyForTheirKindAndUser(t *testing.T) {
	const stray = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f stray\n"
	all := resourceOf("Purge", "users", "kind: User") + resourceOf("User", "ann", "purgeSSHKeys: true")
	const invalid = `, when: "fact.x"`
	const why = `is withheld (InvalidWhen: when "fact.x" is invalid: line 1, column 1: undeclared reference to 'fact' (in container ''))`
	for name, c := range map[string]struct {
		resource string
		want     []string
	}{
		"a File": {file("w", "path: /home/ann/.ssh/authorized_keys"+invalid), []string{"SSHAuthorizedKey/stray: removed (noop)", "User/eve: removed (noop)"}},
		"a User": {resourceOf("User", "eve", "ensure: present"+invalid), []string{
			"Purge/users: skipped: User/eve " + why + " and may manage what would be removed", "SSHAuthorizedKey/stray: removed (noop)",
		}},
		"a key of the user": {key("w", "user: ann"+invalid), []string{
			"User/ann: no key is purged: SSHAuthorizedKey/w " + why + " and may be a key of ann", "User/eve: removed (noop)",
		}},
		"a key of another user": {key("w", "user: eve"+invalid), []string{"SSHAuthorizedKey/stray: removed (noop)", "User/eve: removed (noop)"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := debian.Root(t)
			debian.Chroot(t, root, "useradd", "--create-home", "--uid", "54001", "ann") // no process of the machine has these numbers
			debian.Chroot(t, root, "useradd", "--create-home", "--uid", "54002", "eve")
			put(t, filepath.Join(root, "home/ann/.ssh/authorized_keys"), stray)
			debian.Chroot(t, root, "chown", "-R", "ann:", "/home/ann/.ssh")
			got := sorted(fettle(t, all+c.resource, "plan", "-f", "-", "--root", root, "--state-dir", t.TempDir()).out)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// sorted returns the lines of a report without its summary.
func sorted(out string) []string {
	all := lines(out)
	all = all[:max(0, len(all)-1)]
	slices.Sort(all)
	return all
}
