package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/test/fixtures/hostile"
)

// forged are lines that hostile texts try to inject into the output.
var forged = []string{"User/root: created", "File/motd: created", "1 resource: 1 in sync", "- injected: true", `{"level"`}

// clean fails the test if output moves the cursor, hides or reorders text, is not UTF-8, or contains an injected
// line. allowed are additional characters, such as tabs in diffs.
func clean(t *testing.T, what, printed, allowed string) {
	t.Helper()
	if !utf8.ValidString(printed) {
		t.Errorf("%s is not UTF-8: %q", what, printed)
	}
	for _, r := range printed {
		if r != '\n' && !unicode.IsGraphic(r) && !strings.ContainsRune(allowed, r) {
			t.Errorf("%s contains %U: %q", what, r, printed)
			break
		}
	}
	for line := range strings.Lines(printed) {
		for _, f := range forged {
			if strings.HasPrefix(line, f) {
				t.Errorf("%s contains the forged line %q", what, line)
			}
		}
	}
}

// hostileRoot returns a root in which every name that a local user can choose is hostile, and the paths of the
// files in /srv/drop.
func hostileRoot(t *testing.T, r *rand.Rand) (root string, names []string) {
	t.Helper()
	root = emptyRoot(t)
	found := map[string]bool{}
	for range 20 {
		name := "/srv/drop/" + hostile.Name(r)
		found[name] = true
		put(t, filepath.Join(root, name), hostile.String(r))
	}
	put(t, filepath.Join(root, "etc/content"), hostile.String(r)+"\n"+hostile.String(r)+"\n")
	put(t, filepath.Join(root, "etc/binary"), "\x00"+hostile.String(r))
	if err := os.Symlink("/tmp/"+hostile.Name(r), filepath.Join(root, "etc/link")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "etc/os-release"), fmt.Sprintf("ID=debian\nVERSION_ID=\"%s\"\n", strings.ReplaceAll(hostile.String(r), "\n", " ")))
	member := strings.NewReplacer("\n", "", ":", "", ",", "", "\r", "").Replace(hostile.String(r))
	put(t, filepath.Join(root, "etc/group"), "root:x:0:\nweb:x:1500:"+member+"\n")
	for _, tool := range []string{"groupadd", "groupmod", "groupdel", "gpasswd"} {
		put(t, filepath.Join(root, "usr/sbin", tool), "#!/bin/sh\nexit 1\n")
		chmodAll(t, root, filepath.Join("usr/sbin", tool))
	}
	return root, slices.Sorted(maps.Keys(found))
}

// hostileManifests returns manifests of a malicious author.
func hostileManifests(r *rand.Rand) string {
	quoted := func() string {
		raw, err := json.Marshal(strings.ToValidUTF8(hostile.String(r), "?"))
		if err != nil {
			panic(err)
		}
		return string(raw)
	}
	return file("drop", "path: /srv/drop, ensure: directory, recurse: true, purge: true, force: true") +
		file("content", "path: /etc/content, showDiff: true, content: "+quoted()) +
		file("binary", "path: /etc/binary, content: "+quoted()) +
		file("link", "path: /etc/link, ensure: link, target: /tmp/x") +
		file("made", "path: /etc/made, ensure: link, target: "+quoted()) +
		file("named", "path: /etc/named, ensure: file, owner: "+quoted()) +
		strings.ReplaceAll(file("message", "message: "+quoted()), "kind: File", "kind: Notify") +
		strings.ReplaceAll(file("web", "members: ["+quoted()+"], ensure: present"), "kind: File", "kind: Group")
}

func TestTerminalOutputIsEscaped(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 13))
		root, names := hostileRoot(t, r)
		manifests := hostileManifests(r)
		for _, c := range []struct {
			args    string
			allowed string
		}{
			{"plan -f - --debug", "\t"},
			{"plan -f - -o json", ""},
			{"plan -f - -o yaml", ""},
			{"validate -f -", ""},
			{"graph -f -", "\t"},
			{"facts", ""},
			{"facts -o json", ""},
			{"facts os.release.full", ""},
			{"describe", ""},
			{"describe group", ""},
			{"resource file /etc/link", ""},
			{"resource group", ""},
			{"resource group -o json", ""},
			{"__complete resource group --root ROOT ", "\t"},
			{"__complete facts --root ROOT ", "\t"},
			{"apply -f - --debug", "\t"},
			{"bucket list", ""},
			{"__complete bucket get --root ROOT ", "\t"},
		} {
			words := strings.Fields(strings.ReplaceAll(c.args, "ROOT", root))
			if words[0] == "__complete" {
				words = append(words, "")
			} else if words[0] != "validate" && words[0] != "graph" {
				words = append(words, "--root", root)
			}
			got := fettle(t, manifests, words...)
			clean(t, "stdout of "+c.args, got.out, c.allowed)
			clean(t, "stderr of "+c.args, got.err, "")
		}
		for _, path := range names {
			shown := fettle(t, "", "resource", "file", path, "--root", root)
			clean(t, "resource file", shown.out+shown.err, "")
			reason := fettle(t, "", "disable", path, "--root", root)
			noted := fettle(t, file("a", "path: /etc/a, ensure: file"), "apply", "-f", "-", "--root", root, path)
			clean(t, "a reason and an argument", reason.out+reason.err+noted.out+noted.err, "")
		}
	}
}

// reported is the part of a report that the test decodes.
type reported struct {
	Resources []struct {
		Ref    string
		Events []struct{ Is, Should string }
	}
}

func TestNonUTF8NamesRoundTripThroughJSONAndYAML(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 14))
		root, names := hostileRoot(t, r)
		manifest := file("drop", "path: /srv/drop, ensure: directory, recurse: true, purge: true, backup: Bucket")
		for format, decode := range map[string]func([]byte, any) error{
			"json": json.Unmarshal,
			"yaml": func(raw []byte, v any) error { return yaml.Unmarshal(raw, v) },
		} {
			got := fettle(t, manifest, "plan", "-f", "-", "--root", root, "-o", format)
			var report reported
			if err := decode([]byte(got.out), &report); err != nil {
				t.Fatalf("%v: %s", err, got.out)
			}
			var told []string
			for _, res := range report.Resources {
				if name, generated := strings.CutPrefix(res.Ref, "File/"); generated && name != "drop" {
					told = append(told, text.Decode(name))
				}
			}
			slices.Sort(told)
			if diff := cmp.Diff(names, told); diff != "" {
				t.Errorf("as %s (-want +got):\n%s", format, diff)
			}
		}
		applied := fettle(t, manifest, "apply", "-f", "-", "--root", root)
		if applied.code != 0 {
			t.Fatal(applied.err)
		}
		kept := read(t, filepath.Join(root, "var/lib/fettle/last_run_report.json"))
		clean(t, "the report that is kept", kept, "")
		for _, name := range names {
			encoded, err := json.Marshal(text.Encode("File/" + name))
			if err != nil || !strings.Contains(kept, string(text.EscapeJSON(encoded))) {
				t.Errorf("the saved report lacks %s, %v:\n%s", encoded, err, kept)
			}
		}
	}
}

// apply accepts the output of resource and finds it in sync. Anything else is not printed.
func TestResourceOutputRoundTripsOrFails(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 15))
		root := emptyRoot(t)
		target := strings.ReplaceAll(hostile.String(r), "\x00", "") + "x"
		if err := os.Symlink(target, filepath.Join(root, "etc/link")); err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{"yaml", "json"} {
			got := fettle(t, "", "resource", "file", "/etc/link", "--root", root, "-o", format)
			if !utf8.ValidString(target) {
				want := "omitted File /etc/link: it has text that is not UTF-8, which no manifest can contain\n"
				if got.code != 1 || got.err != want || strings.Contains(got.out, "target") {
					t.Errorf("%q: %+v", target, got)
				}
				continue
			}
			again := fettle(t, got.out, "apply", "-f", "-", "--root", root, "--detailed-exitcodes")
			if is, err := os.Readlink(filepath.Join(root, "etc/link")); got.code != 0 || again.code != 0 || is != target || err != nil {
				t.Errorf("%q: %+v\napplied: %+v", target, got, again)
			}
		}
	}
}
