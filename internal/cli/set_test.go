package cli_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResourceSetsAttributesAndPrintsManifest(t *testing.T) {
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
		t.Errorf("applying the output: exit %d, %s%s\n%s", again.code, again.out, again.err, got.out)
	}
}

func TestResourceUsesRequestedProviderAndHonorsNoop(t *testing.T) {
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
			t.Errorf("with %s the file was created: %v", flag, err)
		}
	}
}

func TestResourceRejectsInvalidAttributes(t *testing.T) {
	for words, want := range map[string]string{
		"user ann ensure=absnt":                  `fettle: User/ann: ensure: Unsupported value: "absnt": supported values: "present", "absent"`,
		"user ann membership=Minimum":            `fettle: User/ann: membership: Unsupported value: "Minimum": supported values: "minimum", "inclusive"`,
		"tidy t path=/tmp ageSeconds=-1":         "fettle: Tidy/t: ageSeconds: Invalid value: -1: ageSeconds must be a number of seconds from 0, or whole numbers with the units w, d, h, m and s, such as 30d",
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

func TestResourceParsesArgumentsByAttributeType(t *testing.T) {
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

func TestResourceListsInstances(t *testing.T) {
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
