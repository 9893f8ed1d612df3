package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestDebugShowsStatesAndChanges(t *testing.T) {
	in := file("a", `path: /etc/a, content: x, owner: 0`)
	got := fettle(t, in, "apply", "-f", "-", "--root", emptyRoot(t), "--debug")
	want := []string{
		"debug: File: provider posix is this host's default",
		"debug: File/a: ensure: current absent, target file",
		"debug: File/a: content: current absent, target {sha256}" + sumX,
		"debug: File/a: owner: current absent, target 0",
		"debug: wrote /etc/a",
		"debug: File/a: ensure: current file, target file",
		"debug: File/a: content: current {sha256}" + sumX + ", target {sha256}" + sumX,
		"debug: File/a: owner: current 0, target 0",
		"debug: File/a: Changed by provider posix in N",
	}
	if diff := cmp.Diff(want, lines(got.err)); diff != "" || !strings.HasPrefix(got.out, "File/a: created\n") {
		t.Errorf("%s%s", diff, got.out)
	}
}

func TestDebugExplainsUnsuitableProviders(t *testing.T) {
	root := emptyRoot(t)
	in := "apiVersion: fettle.dev/v1alpha1\nkind: Package\nmetadata: {name: p}\nspec: {nodeSelector: {}}\n"
	for _, args := range [][]string{{"apply", "-f", "-"}, {"plan", "-f", "-"}, {"resource", "package"}, {"resource", "package", "p"}, {"resource", "package", "p", "ensure=present"}} {
		got := fettle(t, in, append(args, "--root", root, "--debug")...)
		if !strings.Contains(got.err, "debug: Package: provider apt does not work on this host: ") || got.code != 1 {
			t.Errorf("%v: exit %d\n%s", args, got.code, got.err)
		}
	}
	if got := fettle(t, "", "describe", "package", "--root", root); !strings.Contains(got.out, "apt") || !strings.Contains(got.out, "does not work on this host: ") {
		t.Error(got.out)
	}
}

func TestDebugShowsCommandsAndTheirPublicOutput(t *testing.T) {
	root := debian.Root(t)
	for _, c := range []struct {
		in, args string
		want     []string
	}{
		{"", "resource group web gid=1500", []string{"debug: ran groupadd --gid 1500 -- web: exit 0 in N"}},
		{run("fails", `command: /bin/cat /none`), "apply -f -", []string{
			"debug: ran /bin/cat /none: exit 1 in N, 43 bytes of output:", "debug: output: /bin/cat: /none: No such file or directory",
		}},
		{"", "resource user ann ensure=present password=$6$salt$hash", []string{"debug: ran chpasswd --encrypted: exit 0 in N", "debug: User/ann: password: current [redacted], target [redacted]"}},
		{file("a", `path: /etc/a, content: x, validateCmd: "grep -c . %"`), "apply -f -", []string{"debug: output: 1"}},
		{file("b", `path: /etc/b, content: x, showDiff: false, validateCmd: "cat %"`), "apply -f -", []string{"1 byte of output not shown"}},
		{run("says", `command: "echo hello; echo $TOKEN", shell: true, environment: [TOKEN=a-t0ken]`), "apply -f -", []string{
			"debug: ran /bin/sh -c 'echo hello; echo $TOKEN': exit 0 in N, 14 bytes of output:", "debug: output: hello", "debug: output: [redacted]",
		}},
		{run("quiet", `command: echo hello, shell: true, logOutput: never`), "apply -f -", []string{"debug: ran /bin/sh -c 'echo hello': exit 0 in N, 6 bytes of output not shown"}},
		{run("given", `command: /bin/echo a-t0ken, environment: [TOKEN=a-t0ken]`), "apply -f -", []string{`debug: ran /bin/echo \[redacted]: exit 0 in N, 8 bytes of output:`}},
	} {
		got := fettle(t, c.in, append(strings.Fields(c.args), "--root", root, "--debug")...)
		for _, want := range c.want {
			if !slices.ContainsFunc(lines(got.err), func(l string) bool { return l == want || strings.HasSuffix(l, want) }) {
				t.Errorf("%s: %q is not in\n%s", c.args, want, got.err)
			}
		}
		if strings.Contains(got.err, "t0ken") || strings.Contains(got.err, "$6$") {
			t.Errorf("%s shows a secret:\n%s", c.args, got.err)
		}
	}
}

// run returns the manifest of an Exec.
func run(name, spec string) string {
	return "apiVersion: fettle.dev/v1alpha1\nkind: Exec\nmetadata: {name: " + name + "}\nspec: {nodeSelector: {}, " + spec + "}\n---\n"
}

// Output of commands and names on a host may contain control characters.
func TestDebugOutputIsEscapedAndBounded(t *testing.T) {
	root := debian.Root(t)
	in := run("rude", `command: "yes a-line | head -n 10000; printf '\\033[2J'", shell: true`)
	got := fettle(t, in, "apply", "-f", "-", "--root", root, "--debug")
	if !strings.Contains(got.err, `debug: output: \x1b[2J`+"\n") || strings.Contains(got.err, "\x1b") || len(got.err) > 10_000 {
		t.Errorf("%d bytes: %.2000q", len(got.err), got.err)
	}
	in = run("latin1", `command: "printf 'caf\\351'; exit 1", shell: true`)
	got = fettle(t, in, "apply", "-f", "-", "--root", root, "--debug")
	for _, want := range []string{`debug: output: caf\xe9`, `Exec/latin1: command failed: exit status 1; output: caf\xe9`} {
		if !slices.Contains(lines(got.err), want) && !slices.Contains(lines(got.out), want) || !utf8.ValidString(got.out+got.err) {
			t.Errorf("%q is not in\n%q\n%q", want, got.out, got.err)
		}
	}
	if err := os.Symlink("\x1b]0;", filepath.Join(root, "etc/link")); err != nil {
		t.Fatal(err)
	}
	got = fettle(t, file("l", `path: /etc/link, target: x`), "plan", "-f", "-", "--root", root, "--debug")
	if want := `debug: File/l: target: current \x1b]0;, target x`; !slices.Contains(lines(got.err), want) {
		t.Errorf("%q is not in\n%s", want, got.err)
	}
}

func TestDebugPrintsOneLinePerFile(t *testing.T) {
	const n = 100
	var in strings.Builder
	want := map[string]int{}
	for i := range n {
		name := fmt.Sprintf("a%02d", i)
		in.WriteString(file(name, "path: /etc/"+name+", content: x"))
		want["debug: wrote /etc/"+name]++
	}
	got := map[string]int{}
	for _, line := range lines(fettle(t, in.String(), "apply", "-f", "-", "--root", emptyRoot(t), "--debug").err) {
		if strings.HasPrefix(line, "debug: wrote ") {
			got[line]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
