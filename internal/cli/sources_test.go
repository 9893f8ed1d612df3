package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// three are Files /etc/a, /etc/b and /etc/c. The last requires the first.
var three = file("a", "path: /etc/a, content: x") + file("b", "path: /etc/b, content: x") + file("c", "path: /etc/c, content: x, require: [File/a]")

func TestNamesSelectResources(t *testing.T) {
	for name, c := range map[string]struct {
		args     []string
		out, err []string
		code     int
	}{
		"one": {args: []string{"File/b"}, out: []string{"File/b: created", "3 resources: 0 in sync, 1 changed, 0 refreshed, 0 noop, 2 skipped, 0 failed in N"}},
		"two, in any case, singular or plural": {
			args: []string{"files/c", "FILE/a"},
			out:  []string{"File/a: created", "File/c: created", "3 resources: 0 in sync, 2 changed, 0 refreshed, 0 noop, 1 skipped, 0 failed in N"},
		},
		"with a selector, only the matching ones": {
			args: []string{"File/a", "File/b", "-l", "tier=b"}, out: []string{"File/b: created", "3 resources: 0 in sync, 1 changed, 0 refreshed, 0 noop, 2 skipped, 0 failed in N"},
		},
		"a similar name":  {args: []string{"File/d"}, code: 1, err: []string{"fettle: the manifests have no File/d; did you mean File/a or File/b or File/c?"}},
		"an unknown name": {args: []string{"File/nginx-status"}, code: 1, err: []string{"fettle: the manifests have no File/nginx-status; of kind File they have File/a, File/b, File/c"}},
		"a selector that matches nothing": {
			args: []string{"-l", "tier=z"}, code: 1, err: []string{"fettle: no resource matches --selector tier=z: the manifests have the labels tier=a, tier=b, tier=c"},
		},
		"a selector that matches none of the names": {
			args: []string{"File/a", "-l", "tier=b"}, code: 1, err: []string{"fettle: no resource matches --selector tier=b: the manifests have the labels tier=a, tier=b, tier=c"},
		},
		"a name in Puppet's form":  {args: []string{"File[a]"}, code: 1, err: []string{`fettle: argument "File[a]" is how Puppet writes it: write File/a; use -f FILE for files`}},
		"a kind without resources": {args: []string{"User/ann"}, code: 1, err: []string{"fettle: the manifests have no User/ann, and nothing else of kind User"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := fettle(t, three, append([]string{"apply", "-f", "-", "--root", emptyRoot(t)}, c.args...)...)
			if diff := cmp.Diff(c.out, lines(got.out)); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.err, lines(got.err)); diff != "" || got.code != c.code {
				t.Errorf("exit %d, want %d; stderr (-want +got):\n%s", got.code, c.code, diff)
			}
		})
	}
}

func TestSelectedRunIgnoresFailuresOfOthers(t *testing.T) {
	in := file("a", "path: /etc/a, content: x") + file("b", "path: /etc/twice, content: x") + file("c", "path: /etc/twice, content: z")
	got := fettle(t, in, "plan", "-f", "-", "--root", emptyRoot(t), "File/a", "--detailed-exitcodes")
	if got.code != 2 || got.err != "" {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}

func TestASelectedResourceThatCannotBeAppliedFails(t *testing.T) {
	in := file("x", "path: /etc/x, content: x, require: [File/bad]") + file("bad", "path: /etc/bad, ensure: folder") + file("z", "path: /etc/z, content: z, require: [File/x]") + file("a", "path: /etc/a, content: a")
	for _, command := range []string{"apply", "plan"} {
		for args, want := range map[string]outcome{
			"File/x":                      {code: 1, err: "File/x: waits for File/bad, which is withheld: InvalidSpec\n", out: "4 resources: 0 in sync, 0 changed, 0 refreshed, 0 noop, 2 skipped, 1 failed in N\n"},
			"File/z --detailed-exitcodes": {code: 4, err: "File/z: waits for File/bad, which is withheld: InvalidSpec\n", out: "4 resources: 0 in sync, 0 changed, 0 refreshed, 0 noop, 2 skipped, 1 failed in N\n"},
		} {
			got := fettle(t, in, append([]string{command, "-f", "-", "--root", emptyRoot(t)}, strings.Fields(args)...)...)
			got.out = took.ReplaceAllString(got.out, "N")
			if got.code != want.code || got.err != want.err || !strings.Contains(got.out, "1 failed in N") {
				t.Errorf("%s %s: %+v, want %+v", command, args, got, want)
			}
		}
	}
	got := fettle(t, in, "apply", "-f", "-", "--root", emptyRoot(t), "File/a", "File/x", "--detailed-exitcodes")
	if got.code != 6 {
		t.Errorf("with one that can: %+v", got)
	}
}

func TestDebugShowsUnselectedResources(t *testing.T) {
	got := fettle(t, three, "plan", "-f", "-", "--root", emptyRoot(t), "File/a", "--debug")
	if said := lines(got.out); len(said) < 3 || said[len(said)-3] != "File/b: not selected" {
		t.Error(got.out)
	}
}

func TestPlanExitCodes(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/there"), "x")
	inSync, change, failure := file("a", "path: /etc/there, content: x"), file("b", "path: /etc/b, content: x"), file("c", "path: /etc/c, provider: none")
	refresh := file("d", "path: /etc/d, content: x, noop: false")
	for name, c := range map[string]struct {
		in   string
		want int
	}{
		"nothing to do": {inSync, 0}, "changes": {inSync + change, 2}, "failures": {inSync + failure, 4}, "both": {change + failure, 6},
		"a change with noop: false": {refresh, 2},
	} {
		for _, flags := range [][]string{{"-o", "text"}, {"-o", "json"}} {
			if got := fettle(t, c.in, append([]string{"plan", "-f", "-", "--root", root, "--detailed-exitcodes"}, flags...)...); got.code != c.want {
				t.Errorf("%s: exit %d, want %d: %s", name, got.code, c.want, got.err)
			}
		}
		if got := fettle(t, c.in, "apply", "--noop", "-f", "-", "--root", emptyRoot(t), "--detailed-exitcodes"); name == "changes" && got.code != 0 {
			t.Errorf("apply --noop exits with %d, as Puppet does not", got.code)
		}
	}
	for _, name := range []string{"etc/b", "etc/d", "var"} {
		if _, err := os.Lstat(filepath.Join(root, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("plan created %s: %v", name, err)
		}
	}
}

func TestManifestsAreReadRecursively(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.yaml"), file("a", "path: /etc/a, ensure: file"))
	put(t, filepath.Join(dir, "web/b.yaml"), file("b", "path: /etc/b, ensure: file"))
	for flags, want := range map[string]string{"": "1 resource is valid\n", "-R": "2 resources are valid\n"} {
		args := []string{"validate", "-f", dir}
		if flags != "" {
			args = append(args, flags)
		}
		if got := fettle(t, "", args...); got.out != want {
			t.Errorf("%s: %+v", flags, got)
		}
	}
	got := fettle(t, "", "__complete", "apply", "-R", "-f", dir, "File/")
	if want := "File/a\nFile/b\n:4\n"; got.out != want {
		t.Errorf("completes %q, want %q", got.out, want)
	}
}
