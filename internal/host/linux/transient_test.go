package linux_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

func transient(t *testing.T) *linux.Host {
	t.Helper()
	return open(t, linux.Options{PID: startInOtherNamespaces(t), Transient: true})
}

func detached(cmd host.Cmd) host.Cmd {
	cmd.Detached = true
	return cmd
}

func TestDetachedCommandRunsInTransientUnit(t *testing.T) {
	h := transient(t)
	cmd := detached(sh(`printf '%s\n' "$SECRET" "$HOME" "$1"; pwd; cat; echo problem >&2; exit 7`))
	cmd.Args = append(cmd.Args, "sh", "$HOME and ${PATH}")
	cmd.Env = []string{"SECRET=s3cret \"quoted\" $HOME \\ `x`"}
	cmd.Stdin = []byte("from standard input")
	cmd.Dir = "/usr"

	res, err := h.Run(t.Context(), cmd)
	must(t, err)
	want := host.Result{
		ExitCode: 7,
		Stdout:   []byte("s3cret \"quoted\" $HOME \\ `x`\n/root\n$HOME and ${PATH}\n/usr\nfrom standard input"),
		Stderr:   []byte("problem\n"),
	}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}

	argv, err := h.ReadFile("/run/argv")
	must(t, err)
	unit := regexp.MustCompile(`fettle-([a-z2-7]{16}-)?[a-z2-7]{26}`)
	wantArgv := "--unit=UNIT\n--wait\n--pipe\n--quiet\n--collect\n--working-directory=/usr\n" +
		"--property=KillMode=process\n--property=RuntimeMaxSec=330\n" +
		"--property=ExecStopPost=-/bin/sh -c '[ \"$$EXIT_CODE\" = exited ] || exec systemctl kill --signal=SIGKILL UNIT.service'\n" +
		"--property=EnvironmentFile=/run/fettle-units/UNIT/env\n--\n/bin/sh\n-c\n"
	if got := unit.ReplaceAllString(string(argv), "UNIT"); !strings.HasPrefix(got, wantArgv) || strings.Contains(got, "s3cret") {
		t.Errorf("systemd-run was called with\n%s\nwant the prefix\n%s", got, wantArgv)
	}
	left, err := h.ReadDir("/run/fettle-units")
	must(t, err)
	if len(left) > 0 {
		t.Errorf("%s is left in /run/fettle-units", left)
	}
}

func TestTransientUnitExit(t *testing.T) {
	h := transient(t)
	tests := map[string]struct {
		script string
		want   host.Result
	}{
		"well":                         {"echo done", host.Result{Stdout: []byte("done\n")}},
		"by a signal":                  {"kill -TERM $$", host.Result{ExitCode: 143}},
		"without a final newline":      {"printf partial >&2", host.Result{Stderr: []byte("partial")}},
		"with output beyond the limit": {"printf 123456789; printf 123456789 >&2", host.Result{Stdout: []byte("12345678"), Stderr: []byte("12345678"), Truncated: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := detached(sh(test.script))
			if test.want.Truncated {
				cmd.MaxOutput = 8
			}
			res, err := h.Run(t.Context(), cmd)
			must(t, err)
			if diff := cmp.Diff(test.want, res); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTransientUnitOutlivesCallerUntilTimeout(t *testing.T) {
	h := transient(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for t.Context().Err() == nil {
			if _, err := h.Lstat("/run/begun"); err == nil {
				break
			}
			<-time.After(time.Millisecond)
		}
		cancel()
		_, _ = h.WriteFile(t.Context(), "/run/cancelled", ownedFile("")) // without it, the command does not end
	}()
	res, err := h.Run(ctx, detached(sh("touch /run/begun; until [ -e /run/cancelled ]; do sleep 0.01; done; echo finished")))
	if err != nil || string(res.Stdout) != "finished\n" {
		t.Errorf("after the caller's end: %+v, %v", res, err)
	}

	late := detached(sh("echo begun; sleep 1000"))
	patient.Lengthen(t, 300*time.Millisecond, func(timeout time.Duration) bool {
		late.Timeout = timeout
		res, err = h.Run(t.Context(), late)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the timeout: %+v, %v", res, err)
		}
		return string(res.Stdout) == "begun\n"
	})
	if said, err := h.ReadFile("/run/systemctl"); err != nil || !strings.HasPrefix(string(said), "kill --signal=SIGKILL fettle-") {
		t.Errorf("systemctl was called with %q, %v", said, err)
	}
}

func TestUnitStartFailureIsExplained(t *testing.T) {
	h := transient(t)
	_, err := h.WriteFile(t.Context(), "/run/no-bus", ownedFile(""))
	must(t, err)
	_, err = h.Run(t.Context(), detached(sh("echo never")))
	want := regexp.MustCompile(`^cannot run "sh": cannot start transient unit fettle-\w+: Failed to connect to bus: No such file or directory$`)
	if err == nil || !want.MatchString(err.Error()) {
		t.Errorf("got %v", err)
	}
}

func TestInvalidUnitEnvironmentIsRejected(t *testing.T) {
	h := transient(t)
	tests := map[string]string{
		"A=s3cret\x01":   `cannot run "sh": environment variable A: a transient unit takes UTF-8 without control characters in a value`,
		"A=s3cret\xff":   `cannot run "sh": environment variable A: a transient unit takes UTF-8 without control characters in a value`,
		"1A=s3cret":      `cannot run "sh": environment variable "1A": a transient unit takes letters, digits and _ in a name`,
		"A.B=s3cret\x01": `cannot run "sh": environment variable "A.B": a transient unit takes letters, digits and _ in a name`,
	}
	for kv, want := range tests {
		cmd := detached(sh("echo never"))
		cmd.Env = []string{kv}
		if _, err := h.Run(t.Context(), cmd); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", kv, err, want)
		}
	}
}
