package linux_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// This test verifies that the fake systemd of the other tests behaves like the real one.
func TestSystemdRunsDetachedCommands(t *testing.T) {
	debian.Require(t)
	machine := debian.Boot(t)
	h := open(t, linux.Options{PID: machine.PID(), Transient: true})

	t.Run("equals an attached run except for the control group", func(t *testing.T) {
		script := `printf '%s\n' "$SECRET" "$PATH" "$HOME" "$LC_ALL" "$1"; pwd; cat; echo problem >&2; exit 7`
		cmd := host.Cmd{
			Args:  []string{"sh", "-c", script, "sh", `$HOME ${PATH} $$ %n %% \x "q" 'q'`},
			Env:   []string{"SECRET=line 1\nline 2 \"q\" 'q' $HOME \\n \\ `x` # ; %n"},
			Stdin: []byte("from standard input"),
			Dir:   "/usr",
		}
		want, err := h.Run(t.Context(), cmd)
		must(t, err)
		got, err := h.Run(t.Context(), detached(cmd))
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("result (-plain +detached):\n%s", diff)
		}
		group, err := h.Run(t.Context(), detached(sh("cat /proc/self/cgroup")))
		must(t, err)
		if !strings.Contains(string(group.Stdout), "/system.slice/fettle-") {
			t.Errorf("the control group is %s", group.Stdout)
		}
	})

	t.Run("applies user, groups and environment", func(t *testing.T) {
		cmd := host.Cmd{
			Args: []string{"/bin/sh", "-c", `id -u; id -G; umask; pwd; env -0 | sort -z | grep -zv -e ^_= -e ^PWD= -e ^SHLVL= -e ^OLDPWD= | tr '\0' ';'; test -r /etc/shadow`},
			As:   &host.Credentials{UID: 1234, GID: 2345, Groups: []uint32{2345, 3456}}, Umask: new(uint32(0o027)), Dir: "/usr",
			BareEnv: true, Env: []string{"PATH=/usr/bin:/bin", "unit=a $x `y` \"z\" 'w' \\ b\nc", "HOME=/nowhere"},
		}
		for what, edit := range map[string]func(*host.Cmd){
			"unchanged":                    func(*host.Cmd) {},
			"without supplementary groups": func(c *host.Cmd) { c.As.Groups = nil },
			"as root":                      func(c *host.Cmd) { c.As = nil },
		} {
			edit(&cmd)
			want, err := h.Run(t.Context(), cmd)
			must(t, err)
			got, err := h.Run(t.Context(), detached(cmd))
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-plain +detached):\n%s", what, diff)
			}
			cmd.As = &host.Credentials{UID: 1234, GID: 2345, Groups: []uint32{2345, 3456}}
		}
	})

	t.Run("leaves background processes running", func(t *testing.T) {
		_, err := h.Run(t.Context(), detached(sh("setsid sleep 4343 >/dev/null 2>&1 & true")))
		must(t, err)
		eventually(t, "the background process runs", func() bool { // it may not have called exec yet
			left, err := h.Query(t.Context(), host.Cmd{Args: []string{"pkill", "-f", "^sleep 4343"}})
			must(t, err)
			return left.ExitCode == 0
		})
	})

	t.Run("reports exit codes and signals", func(t *testing.T) {
		for script, code := range map[string]int{"exit 0": 0, "exit 1": 1, "kill -TERM $$": 143, "kill -KILL $$": 137} {
			res, err := h.Run(t.Context(), detached(sh(script)))
			must(t, err)
			if diff := cmp.Diff(host.Result{ExitCode: code}, res); diff != "" {
				t.Errorf("%s (-want +got):\n%s", script, diff)
			}
		}
	})

	t.Run("hides secrets from other users", func(t *testing.T) {
		cmd := detached(sh("systemctl show 'fettle-*'; cat /run/systemd/transient/fettle-*; ls /run; cat /proc/*/cmdline"))
		cmd.Env = []string{"TOKEN=s3cret"}
		res, err := h.Run(t.Context(), cmd)
		must(t, err)
		if !strings.Contains(string(res.Stdout), "EnvironmentFile") {
			t.Errorf("the unit was not found: %+v", res)
		}
		if strings.Contains(string(res.Stdout), "s3cret") {
			t.Errorf("the secret is visible:\n%s", res.Stdout)
		}
	})

	t.Run("kills the command and its children after the timeout", func(t *testing.T) {
		late := detached(sh("setsid sleep 4242 & echo begun; wait"))
		patient.Lengthen(t, 2*time.Second, func(timeout time.Duration) bool {
			late.Timeout = timeout
			res, err := h.Run(t.Context(), late)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %+v, %v", res, err)
			}
			return string(res.Stdout) == "begun\n"
		})
		left, err := h.Query(t.Context(), host.Cmd{Args: []string{"pgrep", "-f", "^sleep 4242"}})
		must(t, err)
		if left.ExitCode != 1 {
			t.Errorf("processes %s are left", left.Stdout)
		}
	})

	t.Run("leaves no units or files", func(t *testing.T) {
		// systemd removes a killed unit once all its processes are gone.
		eventually(t, "no unit and no file of one is left", func() bool {
			res, err := h.Query(t.Context(), sh("systemctl list-units --all --plain --no-legend 'fettle-*'; ls /run/fettle-units"))
			must(t, err)
			return len(res.Stdout) == 0
		})
	})
}
