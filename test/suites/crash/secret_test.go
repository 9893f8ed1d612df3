package crash_test

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// spy replaces a tool in a root: it records the arguments of all processes, which any user can see, and then runs the
// tool. If the file /fail exists, it prints all its secrets and fails.
const spy = `#!/bin/sh
cat /proc/[0-9]*/cmdline >> /argv 2>/dev/null
if test -e /fail; then env >&2; cat >&2; exit 1; fi
exec "$0.real" "$@"
`

// A secret is a unique word.
type secret struct{ name, word string }

func TestSecretsStayHidden(t *testing.T) {
	root := debian.Root(t)
	debian.Repository(t, root, debian.Deb{Name: "greeter", Version: "1.0"}, debian.Deb{Name: "late", Version: "1.0"})
	debian.UpdateIndex(t, root)
	install(t, root)
	for _, tool := range []string{"usr/sbin/useradd", "usr/sbin/usermod", "usr/sbin/chpasswd", "usr/bin/apt-get", "usr/bin/dpkg"} {
		path := filepath.Join(root, tool)
		if err := os.Rename(path, path+".real"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(spy), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var all []secret
	mark := func(name string) string {
		all = append(all, secret{name, "Marked" + rand.Text()})
		return all[len(all)-1].word
	}
	manifest := func(pkg string) string {
		var m strings.Builder
		add := func(kind, name, spec string, values ...any) {
			fmt.Fprintf(&m, "apiVersion: fettle.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: {nodeSelector: {}, %s}\n---\n", kind, name, fmt.Sprintf(spec, values...))
		}
		add("User", "ann", `password: "$6$salt$%s"`, mark("password"))
		add("File", "token", `path: /etc/token, mode: "0600", showDiff: false, content: "%s\n", validateCmd: "sh -c 'cat \"$1\"; ! test -e /fail' sh %%"`, mark("content"))
		add("Package", pkg, `environment: ["TOKEN=%s"]`, mark("environment of a package"))
		fmt.Fprintf(&m, "apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: default, labels: {fettle.dev/expose-to-nodes: \"true\"}}\nstringData: {text: %s}\n---\n", mark("Secret of a command"))
		add("Exec", "announce", `command: "sh -c 'cat /proc/[0-9]*/cmdline >> /argv; test -e /fail && { env >&2; exit 1; }; env'", path: [/bin, /usr/bin], logOutput: always, environment: ["TOKEN=%s"],
  environmentFrom: [{name: OTHER, secretKeyRef: {namespace: default, name: token, key: text}}]`, mark("environment of a command"))
		return m.String()
	}

	first, second := manifest("greeter"), manifest("late")
	steps := []struct {
		name, in string
		args     []string
		code     int
	}{
		{"noop", first, []string{"apply", "--noop"}, 0},
		{"plan", first, []string{"plan"}, 0},
		{"apply", first, []string{"apply", "-o", "json", "--debug"}, 2},
		{"again", first, []string{"apply", "--debug"}, 2},
		{"plan of other secrets", second, []string{"plan", "-o", "json", "--debug"}, 0},
		{"failure", second, []string{"apply", "--debug"}, 4},
		{"failure in JSON", second, []string{"apply", "-o", "json"}, 4},
		{"change", second, []string{"apply", "-o", "yaml", "--debug"}, 2},
		{"listed", "", []string{"resource", "user", "ann"}, 0},
	}
	for _, s := range steps {
		fail(t, root, strings.HasPrefix(s.name, "failure"))
		out, code := inRoot(t, root, s.in, s.args...)
		if code != s.code {
			t.Errorf("%s: exit %d, want %d\n%s", s.name, code, s.code, out)
		}
		expectNone(t, s.name, out, all)
	}
	for _, left := range []string{"var/lib/fettle", "var/log", "argv", "run"} {
		expectNoneBelow(t, filepath.Join(root, left), all)
	}
	if told := read(t, filepath.Join(root, "argv")); !strings.Contains(told, "chpasswd") || !strings.Contains(told, "apt-get") {
		t.Errorf("the spies recorded nothing: %q", told)
	}
	if shadow := read(t, filepath.Join(root, "etc/shadow")); !strings.Contains(shadow, all[5].word) {
		t.Error("the password was not set")
	}
}

// fail makes the tools fail or work from now on.
func fail(t *testing.T, root string, on bool) {
	t.Helper()
	path := filepath.Join(root, "fail")
	if on {
		put(t, path, "")
		return
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// inRoot runs the command in a root and returns its output and exit code.
func inRoot(t *testing.T, root, stdin string, args ...string) (string, int) {
	t.Helper()
	if stdin != "" {
		args = append(args, "-f", "-")
	}
	if args[0] == "apply" {
		args = append(args, "--detailed-exitcodes")
	}
	cmd := exec.CommandContext(t.Context(), "chroot", append([]string{root, program}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func expectNone(t *testing.T, where, text string, secrets []secret) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s.word) {
			t.Errorf("%s: the %s is visible:\n%s", where, s.name, strings.ReplaceAll(text, s.word, "<<"+s.name+">>"))
		}
	}
}

// expectNoneBelow searches a file, or all files of a directory.
func expectNoneBelow(t *testing.T, dir string, secrets []secret) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			expectNone(t, path, read(t, path), secrets)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
