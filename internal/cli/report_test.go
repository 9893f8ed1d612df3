package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReportsOfTheHostAreShown(t *testing.T) {
	t.Parallel()

	root := emptyRoot(t)
	call := func(args ...string) outcome {
		t.Helper()
		got := fettle(t, "", append(args, "--root", root)...)
		got.out = regexp.MustCompile(`[0-9]+s {3,4}`).ReplaceAllString(took.ReplaceAllString(got.out, "N"), "AGE  ")
		got.out = regexp.MustCompile(`[0-9]{4}-[0-9T:-]+Z`).ReplaceAllString(got.out, "TIME")
		return got
	}
	const header = "NUMBER  AGE  STATUS  CHANGED  REFRESHED  FAILED  NOOP  DURATION\n"
	for line, want := range map[string]outcome{
		"report list": {out: header},
		"report show": {err: "fettle: this host has no reports: see fettle report list\n", code: 1},
	} {
		if diff := cmp.Diff(want, call(strings.Fields(line)...), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s before a run: %s", line, diff)
		}
	}
	for _, in := range []string{
		secretManifest("s3cret", "true") + file("a", tokenFile),
		secretManifest("s3cret", "true") + file("a", tokenFile), // changes nothing, so there is no report
		file("b", "path: /no/such/b, content: x"),
	} {
		fettle(t, in, "apply", "-f", "-", "--root", root)
	}
	for number, text := range map[string]string{
		"3": `{"kind":"Report","status":"changed\u001b[2J","duration":"later"}`,
		"4": `{"kind":"Report","started":"` + time.Now().Format(time.RFC3339) + `","status":"changed","counts":{"total":3,"changed":1,"refreshed":2},"duration":"1s"}`,
	} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/fettle/reports", number+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]outcome{
		"report list": {out: "NUMBER  AGE  STATUS   CHANGED  REFRESHED  FAILED  NOOP  DURATION\n" +
			"1       AGE  changed  1        0          0       0     N\n2       AGE  failed   0        0          1       0     N\n4       AGE  changed  1        2          0       0     N\n"},
		"report list -o csv": {out: "NUMBER,AGE,STATUS,CHANGED,REFRESHED,FAILED,NOOP,DURATION\n1,TIME,changed,1,0,0,0,N\n2,TIME,failed,0,0,1,0,N\n4,TIME,changed,1,2,0,0,N\n"},
		"report show":        {out: "3 resources: 0 in sync, 1 changed, 2 refreshed, 0 noop, 0 skipped, 0 failed in N\n"},
		"report show 2": {
			out: "1 resource: 0 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in N\n",
			err: "File/b: change of ensure from absent to file failed: cannot create /no/such/b: its parent directory /no/such does not exist: create it first, with a File that has ensure: directory\n",
		},
		"report show 1":         {out: "File/a: created\n1 resource: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N\n"},
		"report show 3":         {err: "fettle: this host has no report \"3\": see fettle report list\n", code: 1},
		"report show 01":        {err: "fettle: this host has no report \"01\": see fettle report list\n", code: 1},
		"report show 1 2":       {err: "fettle: accepts at most 1 arg(s), received 2\n", code: 1},
		"report show 1 -o wide": {err: "fettle: --output \"wide\" is not one of [text json yaml]\n", code: 1},
	} {
		if diff := cmp.Diff(want, call(strings.Fields(line)...), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
	for _, line := range []string{"report list -o json", "report list -o yaml", "report show 1 -o json", "report show 1 -o yaml"} {
		if got := call(strings.Fields(line)...); !strings.Contains(got.out, "File/a") || strings.Contains(got.out, "s3cret") || got.code != 0 {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
