package cli_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tokenFile = `path: /etc/token, mode: "0600", showDiff: true, contentFrom: {secretKeyRef: {namespace: default, name: token, key: text}}`

func secretManifest(value, label string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: token, labels: {fettle.dev/expose-to-nodes: \"" + label + "\"}}\nstringData: {text: \"" + value + "\"}\n---\n"
}

func TestSecretFromManifestsIsAppliedAndHidden(t *testing.T) {
	root := emptyRoot(t)
	var said strings.Builder
	for _, value := range []string{"s3cret one", "s3cret two"} {
		in := secretManifest(value, "true") + file("token", tokenFile)
		for _, args := range [][]string{{"plan"}, {"plan", "-o", "json"}, {"apply", "--debug"}, {"apply", "-o", "yaml"}} {
			got := fettle(t, in, append(args, "-f", "-", "--root", root)...)
			if got.code != 0 {
				t.Errorf("%v: exit %d: %s", args, got.code, got.err)
			}
			said.WriteString(got.out + got.err)
		}
		if text, err := os.ReadFile(filepath.Join(root, "etc/token")); err != nil || string(text) != value {
			t.Errorf("the file contains %q, %v", text, err)
		}
	}
	if strings.Contains(said.String(), "s3cret") || !strings.Contains(said.String(), "content changed") && !strings.Contains(said.String(), "changed content") {
		t.Errorf("the output contains the secret:\n%s", said.String())
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, "/etc/token") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "s3cret") {
			t.Errorf("%s contains the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A secret that was in place before the first run is never written by a run, and someone may edit it. It remains a
// secret when its File gets ordinary content.
func TestPreviousSecretIsHidden(t *testing.T) {
	for name, now := range map[string]string{"as it was": "s3cret one", "altered": "s3cret one, and two"} {
		t.Run(name, func(t *testing.T) {
			root := emptyRoot(t)
			put(t, filepath.Join(root, "etc/token"), "s3cret one")
			if err := os.Chmod(filepath.Join(root, "etc/token"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := fettle(t, secretManifest("s3cret one", "true")+file("token", tokenFile), "apply", "-f", "-", "--root", root); !strings.Contains(got.out, "1 in sync") {
				t.Fatalf("the secret is not in sync: %s%s", got.out, got.err)
			}
			put(t, filepath.Join(root, "etc/token"), now)
			in := file("token", `path: /etc/token, mode: "0600", showDiff: true, audit: [all], content: plain`)
			var said strings.Builder
			for _, args := range [][]string{
				{"resource", "file", "/etc/token"},
				{"resource", "file", "/etc/token", "-o", "json"},
				{"plan", "-f", "-"},
				{"plan", "-f", "-", "-o", "json", "--debug"},
				{"apply", "-f", "-", "-o", "json", "--debug"},
				{"bucket", "list"},
			} {
				got := fettle(t, in, append(args, "--root", root)...)
				if got.code != 0 {
					t.Errorf("%v: exit %d: %s", args, got.code, got.err)
				}
				said.WriteString(got.out + got.err)
			}
			sum := fmt.Sprintf("%x", sha256.Sum256([]byte(now)))
			tells := func(text string) bool { return strings.Contains(text, "s3cret") || strings.Contains(text, sum) }
			if tells(said.String()) || !strings.Contains(said.String(), "changed content") {
				t.Errorf("the output contains the secret:\n%s", said.String())
			}
			err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				text, err := os.ReadFile(path)
				if tells(path + string(text)) {
					t.Errorf("%s contains the secret", path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(root, "etc/token")); err != nil || string(text) != "plain" {
				t.Errorf("the file contains %q, %v", text, err)
			}
		})
	}
}

func TestMissingOrUnsharedSecretFails(t *testing.T) {
	for what, in := range map[string]string{
		"not there":     file("token", tokenFile),
		"not for nodes": secretManifest("s3cret", "false") + file("token", tokenFile),
	} {
		root := emptyRoot(t)
		got := fettle(t, in, "apply", "-f", "-", "--root", root, "--detailed-exitcodes")
		if want := "contentFrom names Secret default/token, which does not exist or is not labelled fettle.dev/expose-to-nodes=true"; got.code != 4 || !strings.Contains(got.err+got.out, want) {
			t.Errorf("%s: exit %d\n%s%s", what, got.code, got.out, got.err)
		}
		if got := fettle(t, in, "validate", "-f", "-"); got.code != 0 || got.err != "" {
			t.Errorf("%s: validate rejects a reference to an object that only the cluster has: exit %d, %s", what, got.code, got.err)
		}
	}
}
