package cli_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers"
)

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		in       string
		out, err []string
		code     int
	}{
		"what is right": {
			in:  file("a", "path: /etc/a, content: x, require: [File/b]") + file("b", "path: /etc/b, ensure: file"),
			out: []string{"2 resources are valid"},
		},
		"each fault once, from the schema to the references": {
			in: file("a", "path: etc/a, content: x") +
				file("b", "path: /etc/b, require: [File/ghost]") +
				file("c", "path: /etc/c, ensure: file, require: [File/d]") + file("d", "path: /etc/d, ensure: file, require: [File/c]"),
			out: []string{"4 resources, 4 faults"}, code: 1,
			err: []string{
				`stdin:4: File/a: spec.path: Invalid value: "etc/a": path must be absolute, such as /etc/motd`,
				"stdin:6: File/b: require names File/ghost, which does not exist; the node has File/b, File/c, File/d, File/a",
				"stdin:11: File/c: File/c -> File/d -> File/c is a cycle: remove one of these edges",
				"stdin:16: File/d: File/c -> File/d -> File/c is a cycle: remove one of these edges",
			},
		},
		"what needs facts is left to the host": {
			in:  file("a", `path: /etc/a, contentTemplate: "{{ .facts.os.family }}"`),
			out: []string{"1 resource is valid"},
		},
		"other groups are left out": {
			in: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n", out: []string{"0 resources are valid"},
			err: []string{"note: Deployment/web in stdin:1 is not of fettle.dev and was left out"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := fettle(t, c.in, "validate", "-f", "-")
			if diff := cmp.Diff(c.out, lines(got.out)); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.err, lines(got.err)); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			if got.code != c.code {
				t.Errorf("exit %d, want %d", got.code, c.code)
			}
		})
	}
}

func TestResourceSetsAndPrintsWhatApplyTakes(t *testing.T) {
	root := emptyRoot(t)
	got := fettle(t, "", "resource", "file", "/etc/a", "ensure=file", "content=hello", "mode=0640", "--root", root)
	if diff := cmp.Diff([]string{"File/etc-a: created"}, lines(got.err)); diff != "" {
		t.Error(diff)
	}
	if read(t, filepath.Join(root, "etc/a")) != "hello" {
		t.Error("the content was not set")
	}
	again := fettle(t, got.out, "apply", "-f", "-", "--root", root, "--detailed-exitcodes")
	if again.code != 0 || !strings.HasPrefix(again.out, "1 resource: 1 in sync") {
		t.Errorf("applying what was printed: exit %d, %s%s\n%s", again.code, again.out, again.err, got.out)
	}
}

func TestResourceSetsByTheProviderThatIsAskedForAndNothingUnderNoop(t *testing.T) {
	root := emptyRoot(t)
	for flag, want := range map[string]string{
		"--noop":            "File/etc-a: created (noop)\n",
		"--provider=nobody": `provider "nobody" is not one of kind File, which has [posix]`,
	} {
		got := fettle(t, "", "resource", "file", "/etc/a", "content=hello", flag, "--root", root)
		if !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v", flag, got)
		}
		if _, err := os.Lstat(filepath.Join(root, "etc/a")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("with %s the file was made: %v", flag, err)
		}
	}
}

// serverWords are what an API server says of a wrong type and of an unknown field, for which
// there are better words here.
var serverWords = []struct {
	theirs *regexp.Regexp
	ours   string
}{
	{regexp.MustCompile(`^(\S+): Invalid value: "\w+": \S+ in body must be of type .*`), "$1: must be "},
	{regexp.MustCompile(`^unknown field "(\S+)"$`), "$1: unknown field"},
}

// Every file that an API server refuses is refused, in the same words but for those.
func TestValidateRefusesWhatAnAPIServerDoes(t *testing.T) {
	const samples = "../../config/samples"
	files, err := filepath.Glob(samples + "/invalid/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	written := providers.Kinds()
	for _, f := range files {
		text := read(t, f)
		head, _, _ := strings.Cut(text, "\n")
		message := strings.TrimPrefix(head, "# error: ")
		if !slices.ContainsFunc(written, func(k resource.Kind) bool { return strings.Contains(text, "\nkind: "+k.Name()+"\n") }) {
			message = "is not known; " // kinds between manager and agents
		}
		for _, w := range serverWords {
			message = w.theirs.ReplaceAllString(message, w.ours)
		}
		got := fettle(t, "", "validate", "-f", f)
		if got.code != 1 || !strings.Contains(got.err, message) || !strings.HasPrefix(got.err, f+":") {
			t.Errorf("%s: exit %d\ngot  %swant %s", f, got.code, got.err, message)
		}
	}
	for _, valid := range []string{samples, samples + "/attributes"} {
		if got := fettle(t, "", "validate", "-f", valid); got.code != 0 || got.err != "" {
			t.Errorf("%s: exit %d, %s", valid, got.code, got.err)
		}
	}
}

func TestResourceRefusesWhatAManifestCouldNotHave(t *testing.T) {
	for words, want := range map[string]string{
		"user ann ensure=absnt":                  `fettle: ensure "absnt" is not known: use present or absent`,
		"user ann membership=Minimum":            `fettle: membership "Minimum" is not known: use minimum or inclusive`,
		"tidy t path=/tmp ageSeconds=-1":         "fettle: Tidy/t: ageSeconds: Invalid value: -1: spec.ageSeconds in body should be greater than or equal to 0",
		"purge all kind=Package confirm=Package": "fettle: Purge/all: kind: ",
	} {
		t.Run(words, func(t *testing.T) {
			root := emptyRoot(t)
			got := fettle(t, "", append(strings.Fields("resource "+words), "--root", root)...)
			if got.code != 1 || !strings.HasPrefix(got.err, want) {
				t.Errorf("exit %d: %s", got.code, got.err)
			}
		})
	}
}

func TestResourceTakesWordsAsTheTypesOfItsAttributes(t *testing.T) {
	for words, want := range map[string]string{
		"user ann uid=1600 groups=[games,audio] comment=123": "",
		"user ann groups=games,audio system=true":            "",
		"user ann groups= shell=/bin/sh":                     "",
		"file /etc/a ensure=file mode=0644 owner=0":          "",
		"file /etc/a content=true":                           "",
		"user ann uid=many":                                  "fettle: uid=many: uid: must be a whole number, not a string",
		"user ann system=5":                                  "fettle: system=5: system: must be true or false, not a number\n",
		"user ann colour=red":                                `unknown field "colour"; User has: name, ensure, uid,`,
		"user ann uid=5 colour":                              "fettle: \"colour\" is not ATTRIBUTE=VALUE\n",
	} {
		t.Run(words, func(t *testing.T) {
			got := fettle(t, "", append(strings.Fields("resource "+words), "--noop", "--root", emptyRoot(t))...)
			if want == "" && strings.Contains(got.err, "must be") || !strings.Contains(got.err, want) {
				t.Errorf("exit %d: %s", got.code, got.err)
			}
		})
	}
}

func TestResourceListsWhereTheProviderCan(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/group"), "root:x:0:\nWeb:x:1500:ann\n")
	for _, tool := range []string{"groupadd", "groupmod", "groupdel", "gpasswd"} {
		put(t, filepath.Join(root, "usr/sbin", tool), "")
		chmodAll(t, root, filepath.Join("usr/sbin", tool))
	}
	got := fettle(t, "", "resource", "groups", "--root", root)
	want := strings.Split(strings.TrimSpace(`
apiVersion: fettle.dev/v1alpha1
kind: Group
metadata:
  name: web-29751047
spec:
  ensure: present
  gid: 1500
  members:
  - ann
  name: Web
  nodeSelector: {}
---
apiVersion: fettle.dev/v1alpha1
kind: Group
metadata:
  name: root
spec:
  ensure: present
  gid: 0
  name: root
  nodeSelector: {}`), "\n")
	if diff := cmp.Diff(want, lines(got.out)); diff != "" {
		t.Errorf("%s%s", diff, got.err)
	}
	var list struct {
		Kind  string
		Items []struct{ Kind string }
	}
	asJSON := fettle(t, "", "resource", "groups", "-ojson", "--root", root)
	if err := json.Unmarshal([]byte(asJSON.out), &list); err != nil || list.Kind != "List" || len(list.Items) != 2 {
		t.Errorf("in JSON: %v, %+v", err, asJSON)
	}
	none := fettle(t, "", "resource", "file", "--root", root)
	if diff := cmp.Diff([]string{"fettle: cannot list all of kind File: provider posix can't; give a name"}, lines(none.err)); diff != "" || none.code != 1 {
		t.Error(diff)
	}
}

func TestDescribeSaysWhatWorksOnTheHostAndWhyNot(t *testing.T) {
	root := emptyRoot(t)
	all := fettle(t, "", "describe", "--root", root)
	words := strings.Join(strings.Fields(all.out), " ") // columns are as wide as the longest name
	if !strings.Contains(words, "File posix A file, a directory or a symlink.") ||
		!strings.Contains(words, "Package none suitable Software packages") {
		t.Error(all.out, all.err)
	}
	if n := len(lines(all.out)); n != len(providers.Kinds())+1 {
		t.Errorf("%d lines, want one for each kind:\n%s", n, all.out)
	}
	for kind, parts := range map[string][]string{
		"packages": {
			"apt does not work on this host: the command apt-get is not installed; ", "kind: Package",
			"commands: apt-get, apt-cache, dpkg default where os.family is Debian features: installable, ",
			" mark property hold holds the package at its version, none releases it. Needs the feature holdable. ",
			" purgeable Packages can be removed together with their configuration",
		},
		"file": {" path namevar ", " mode property ", " force parameter ", " ctime audited ", " posix is this host's default "},
	} {
		one := fettle(t, "", "describe", kind, "--root", root)
		words := strings.Join(strings.Fields(one.out), " ")
		for _, want := range parts {
			if !strings.Contains(words, want) {
				t.Errorf("%q is not in\n%s%s", want, one.out, one.err)
			}
		}
	}
	service := fettle(t, "", "describe", "systemservice", "--root", root)
	if !strings.Contains(service.out, "commands: update-rc.d\n    files: /etc/init.d\n    default where init is init\n") {
		t.Error(service.out, service.err)
	}
	var kinds []string
	for _, k := range providers.Kinds() {
		kinds = append(kinds, k.Name())
	}
	unknown := fettle(t, "", "describe", "nothing", "--root", root)
	if diff := cmp.Diff([]string{`fettle: kind "nothing" is not known; there are ` + strings.Join(kinds, ", ")}, lines(unknown.err)); diff != "" {
		t.Error(diff)
	}
}

func TestFactsAnswersAQuery(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/os-release"), "ID=debian\nVERSION_ID=\"12\"\n")
	for query, want := range map[string][]string{
		"os.family":         {"Debian"},
		"os.release.major":  {"12"},
		"os.release -ojson": {"{", `  "full": "12",`, `  "major": "12"`, "}"},
	} {
		got := fettle(t, "", append([]string{"facts", "--root", root}, strings.Fields(query)...)...)
		if diff := cmp.Diff(want, lines(got.out)); diff != "" {
			t.Errorf("%s: %s%s", query, diff, got.err)
		}
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(fettle(t, "", "facts", "-ojson", "--root", root).out), &all); err != nil || all["kernel"] != "Linux" {
		t.Errorf("all facts are %v, %v", all, err)
	}
	if got := fettle(t, "", "facts", "no.such", "--root", root); got.code != 1 || !strings.Contains(got.err, `there is no fact "no.such"`) {
		t.Error(got)
	}
}

func TestARootThatIsNone(t *testing.T) {
	got := fettle(t, "", "facts", "--root", "/no/such/dir")
	if diff := cmp.Diff([]string{"fettle: --root /no/such/dir is not a directory"}, lines(got.err)); diff != "" {
		t.Error(diff)
	}
}
