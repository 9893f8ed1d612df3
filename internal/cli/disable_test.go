package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestRunsAreDisabledAndEnabled(t *testing.T) {
	root := emptyRoot(t)
	call := func(args ...string) outcome {
		got := fettle(t, file("a", "path: /etc/a, content: x"), append(args, "--root", root)...)
		got.out = regexp.MustCompile(`after [0-9]+s`).ReplaceAllString(took.ReplaceAllString(got.out, "N"), "after N")
		return got
	}
	for _, step := range []struct {
		args []string
		want outcome
	}{
		{[]string{"enable"}, outcome{out: "runs were not disabled on this host\n"}},
		{[]string{"disable", "the disk is failing"}, outcome{out: "runs are disabled on this host\n"}},
		{[]string{"apply", "-f", "-"}, outcome{
			out: "File/a: created\n1 resource: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N\n",
			err: "note: runs are disabled on this host (the disk is failing): enable them with fettle enable; this run takes place anyway\n",
		}},
		{[]string{"enable"}, outcome{out: "runs are enabled on this host again, after N\n"}},
		{[]string{"disable"}, outcome{out: "runs are disabled on this host\n"}},
		{[]string{"disable", "the", "disk"}, outcome{err: "fettle: accepts at most 1 arg(s), received 2\n", code: 1}},
	} {
		if diff := cmp.Diff(step.want, call(step.args...), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%v:\n%s", step.args, diff)
		}
	}
}

func TestConcurrentRunIsRejected(t *testing.T) {
	root := emptyRoot(t)
	dir := filepath.Join(root, "var/lib/fettle")
	other, err := state.Open(dir, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	holder := fmt.Sprintf("PID %d (cli.test)", os.Getpid())
	locked := "fettle: another run is in progress on this host: " + holder + " has locked the state in " + dir + ": wait for it to end and try again\n"
	waiting := "waiting for the lock of " + dir + ", which " + holder + " holds\n"
	for _, c := range []struct {
		args []string
		err  string
	}{
		{[]string{"apply"}, locked},
		{[]string{"apply", "--noop"}, locked},
		{[]string{"apply", "--wait-for-lock", "150ms"}, waiting + locked},
		{[]string{"plan"}, locked},
		{[]string{"plan", "--wait-for-lock", "150ms"}, waiting + locked},
	} {
		got := fettle(t, file("a", "path: /etc/a, content: x"), append(c.args, "-f", "-", "--root", root)...)
		if want := (outcome{code: 1, err: c.err}); got != want {
			t.Errorf("%v: %+v, want %+v", c.args, got, want)
		}
	}
	closed := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { closed <- other.Close() })
	got := fettle(t, file("a", "path: /etc/a, content: x"), "apply", "-f", "-", "--root", root, "--wait-for-lock", "1m")
	if err := <-closed; err != nil || got.code != 0 {
		t.Errorf("after the wait: %+v, %v", got, err)
	}
}

func TestRunFailsAfterTimeout(t *testing.T) {
	got := fettle(t, file("a", "path: /etc/a, content: x"), "apply", "-f", "-", "--root", emptyRoot(t), "--run-timeout", "1ns", "--detailed-exitcodes")
	want := outcome{
		code: 4,
		out: "File/a: the run was stopped before its turn: its time limit of 1ns was exceeded\n" +
			"1 resource: 0 in sync, 0 changed, 0 refreshed, 0 noop, 1 skipped, 0 failed in N\n",
		err: "the run was stopped before its end: its time limit of 1ns was exceeded\n",
	}
	got.out = took.ReplaceAllString(got.out, "N")
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
}

// A failed refresh is retried by the next run, even if nothing has changed.
func TestRefreshCountsAsChange(t *testing.T) {
	root := debian.Root(t)
	in := file("a", "path: /etc/a, content: x, notify: [Exec/b]") +
		"apiVersion: fettle.dev/v1alpha1\nkind: Exec\nmetadata: {name: b}\nspec: {nodeSelector: {}, command: test -e /ready, path: [/usr/bin], refreshOnly: true}\n"
	for _, step := range []struct {
		code    int
		summary string
	}{
		{6, "2 resources: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in N"},
		{2, "2 resources: 1 in sync, 0 changed, 1 refreshed, 0 noop, 0 skipped, 0 failed in N"},
		{0, "2 resources: 2 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N"},
	} {
		got := fettle(t, in, "apply", "-f", "-", "--root", root, "--detailed-exitcodes")
		if said := lines(got.out); got.code != step.code || said[len(said)-1] != step.summary {
			t.Errorf("want exit %d and %s: %+v", step.code, step.summary, got)
		}
		put(t, filepath.Join(root, "ready"), "")
	}
}

func TestPreRunAndPostRunCommands(t *testing.T) {
	root := debian.Root(t)
	in := file("a", "path: /etc/a, content: x")
	call := func(args ...string) outcome {
		got := fettle(t, in, append([]string{"apply", "-f", "-", "--root", root}, args...)...)
		got.out = took.ReplaceAllString(got.out, "N")
		return got
	}
	const summary = "1 resource: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N\n"
	for _, step := range []struct {
		args []string
		want outcome
	}{
		{[]string{"--prerun-command", "sh -c 'echo no; exit 5'"}, outcome{code: 1, err: "fettle: the command before the run failed: sh exited with 5: no\n"}},
		{[]string{"--prerun-command", "sh -c 'it"}, outcome{code: 1, err: "fettle: --prerun-command \"sh -c 'it\" has a single quote at character 7 that nothing closes: close it, or run it with sh -c '...'\n"}},
		{[]string{"--prerun-command", "touch /before", "--postrun-command", "test -e /etc/a", "--detailed-exitcodes"}, outcome{code: 2, out: "File/a: created\n" + summary}},
		{[]string{"--postrun-command", "false"}, outcome{
			code: 1, out: "1 resource: 1 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N\n",
			err: "the command after the run failed: false exited with 1\n",
		}},
	} {
		if diff := cmp.Diff(step.want, call(step.args...), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%v:\n%s", step.args, diff)
		}
	}
	if got := read(t, filepath.Join(root, "before")); got != "" {
		t.Error(got)
	}
}
