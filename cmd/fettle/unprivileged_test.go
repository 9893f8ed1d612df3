package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	programs "github.com/fettle-dev/fettle/test/fixtures/program"
)

// nobody is a user who may do nothing in particular.
const nobody = 65534

// manifest returns Files with their paths and contents.
func manifest(files ...[2]string) string {
	var all strings.Builder
	for _, f := range files {
		fmt.Fprintf(&all, "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: %s}\nspec: {nodeSelector: {}, path: %s, content: %q}\n---\n", path.Base(f[0]), f[0], f[1])
	}
	return all.String()
}

// said is what a process said, with N for durations.
type said struct {
	Code     int
	Out, Err string
}

// calls returns functions that run fettle on a root with a state that only root can read, with input, as root and as nobody.
func calls(t *testing.T, in string) (dir string, asRoot, asNobody func(args ...string) said) {
	t.Helper()
	debian.Require(t)
	dir = filepath.Join(t.TempDir(), "root")
	for _, d := range []string{"bin", "etc", "var/lib"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	above := filepath.Dir(dir)
	for _, d := range []string{above, filepath.Dir(above)} { // which others may not enter by default
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(above, "fettle")
	programs.Build(t, "fettle", program)
	as := func(uid uint32) func(args ...string) said {
		return func(args ...string) said {
			cmd := exec.CommandContext(t.Context(), program, args...)
			var out, stderr strings.Builder
			cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = strings.NewReader(in), &out, &stderr, above
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
			_ = cmd.Run() // the exit code says it
			clean := func(s string) string {
				return regexp.MustCompile(`in [0-9.]+s\n`).ReplaceAllString(strings.ReplaceAll(s, dir, "ROOT"), "in N\n")
			}
			return said{cmd.ProcessState.ExitCode(), clean(out.String()), clean(stderr.String())}
		}
	}
	return dir, as(0), as(nobody)
}

func TestOrdinaryUserIsToldWhatAPlanCannotKnow(t *testing.T) {
	dir, asRoot, asNobody := calls(t, manifest([2]string{"/etc/motd", "new\n"}, [2]string{"/etc/issue", "same\n"}, [2]string{"/etc/private", "new\n"}, [2]string{"/etc/missing", "new\n"})+
		"apiVersion: fettle.dev/v1alpha1\nkind: Exec\nmetadata: {name: checked}\nspec: {nodeSelector: {}, command: /bin/true, unless: [/bin/false]}\n")
	for name, content := range map[string]string{"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n", "etc/motd": "old\n", "etc/issue": "same\n", "etc/private": "old\n", "bin/true": "", "bin/false": "", "bin/unshare": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "etc/private"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := asRoot("enable", "--root", dir); got.Code != 0 {
		t.Fatal(got)
	}
	if err := os.Mkdir(filepath.Join(dir, "var/lib/fettle"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := said{
		Code: 6,
		Out: "File/motd: changed content (noop)\n" +
			"File/missing: created (noop)\n" +
			"5 resources: 1 in sync, 0 changed, 0 refreshed, 2 noop, 0 skipped, 2 failed in N\n",
		Err: "note: fettle does not run as root: what only root can read fails here, and what only root can change is planned as for root\n" +
			"note: cannot tell whether runs are disabled on this host: open ROOT/var/lib/fettle/disabled.json: permission denied\n" +
			"warning: the state in ROOT/var/lib/fettle cannot be read by this user: it is unknown which refreshes are pending, which drift is " +
			"corrective, what was audited before and which contents are secrets, so no content is shown; root can read it\n" +
			"File/private: cannot read the present state: cannot read content: open /etc/private: permission denied\n" +
			"Exec/checked: cannot read the present state: cannot check unless \"/bin/false\": cannot run \"/bin/false\": cannot confine the command: " +
			"cannot copy the mounts of the host: operation not permitted: run as root\n",
	}
	// Whether there is a state, and whether runs are disabled, makes no difference to who can't see it.
	for _, before := range [][]string{nil, {"plan", "-f", "-", "--root", dir}, {"disable", "--root", dir, "a reason"}, {"enable", "--root", dir}} {
		if before != nil {
			asRoot(before...)
		}
		if diff := cmp.Diff(want, asNobody("plan", "-f", "-", "--root", dir, "--detailed-exitcodes")); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", before, diff)
		}
	}
	if diff := cmp.Diff(said{Out: "5 resources are valid\n"}, asNobody("validate", "-f", "-")); diff != "" {
		t.Errorf("validate (-want +got):\n%s", diff)
	}
	want = said{Code: 1, Err: "note: fettle does not run as root: what only root can read or change fails\n" +
		"note: cannot tell whether runs are disabled on this host: open ROOT/var/lib/fettle/disabled.json: permission denied\n" +
		"fettle: cannot open the state in ROOT/var/lib/fettle: open ROOT/var/lib/fettle/state.db: permission denied; run fettle as root, or give a --state-dir of your own\n"}
	if diff := cmp.Diff(want, asNobody("apply", "-f", "-", "--root", dir)); diff != "" {
		t.Errorf("apply (-want +got):\n%s", diff)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if got := asNobody("plan", "-f", "-", "--root", dir); strings.Contains(got.Err, "does not run as root") {
		t.Errorf("in a directory of their own: %+v", got)
	}
}
