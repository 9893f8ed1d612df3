package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// hasSystemd checks what sd_booted(3) checks.
func (r *Runner) hasSystemd() bool {
	info, err := r.files.Stat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// unitScript runs in the unit. It deletes the environment file, which systemd has read by then, and
// writes the exit code after the unit's name: the exit code of systemd-run does not distinguish a signal from an
// exit, nor its own failure from the command's. The unit never fails, because a failed unit stays
// as long as any process that the command left running. The shell's own messages about signals are dropped.
const unitScript = `/bin/rm -f -- "$1"; fettle_unit=$2; shift 2; exec 3>&2 2>/dev/null; ` +
	`("$@" 2>&3 3>&-); fettle_code=$?; printf '\n%s %d\n' "$fettle_unit" "$fettle_code" >&3; exit 0`

// bareScript comes before unitScript for a command with BareEnv. systemd adds variables to every unit, so
// the shell starts with an empty environment and reads the file itself.
const bareScript = `set -a; . "$1"; set +a; `

// A unit is one transient service of the host.
type unit struct {
	name string
	env  string // path of its environment file
	cmd  host.Cmd
}

// runTransient runs a completed command outside our control group. Its streams are files in memory
// rather than pipes: if we die, the command neither blocks nor fails on them.
func (r *Runner) runTransient(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	file, err := r.files.LookPath(cmd.Args[0])
	if err != nil {
		return host.Result{}, err
	}
	if info, err := r.files.Stat(cmd.Dir); err != nil || !info.IsDir() {
		return host.Result{}, fmt.Errorf("cannot start %s in %s: %w", file, cmd.Dir, cause(err))
	}
	cmd.Args = append([]string{file}, cmd.Args[1:]...)
	name := "fettle-" + strings.ToLower(rand.Text())
	u := unit{name: name, env: "/run/" + name + ".env", cmd: cmd}
	s, err := newStreams(cmd.Stdin)
	if err != nil {
		return host.Result{}, err
	}
	res, err := r.runUnit(ctx, u, s)
	return res, errors.Join(err, s.Close())
}

// cause returns why a directory cannot be entered: the error of its path or, without one, that it is no directory.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return unix.ENOTDIR
}

func (r *Runner) runUnit(ctx context.Context, u unit, s *streams) (res host.Result, err error) {
	if err := r.writeEnvironment(ctx, u); err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.files.Remove(u.env)) }()
	ctx, cancel := context.WithTimeout(ctx, u.cmd.Timeout)
	defer cancel()
	waitKill := r.killAtEnd(ctx, u.name)
	p := &process{cmd: host.Cmd{
		Args:    u.argv(),
		Env:     []string{"PATH=" + host.SearchPath, "LC_ALL=C.UTF-8"},
		Dir:     "/",
		Timeout: u.cmd.Timeout + unitGrace,
	}}
	stop := s.trim(u.cmd.MaxOutput)
	_, runErr := p.run(context.WithoutCancel(ctx), r, s.wire)
	stop()
	waitKill()
	if ctx.Err() != nil {
		r.systemctl(ctx, "reset-failed", u.name+".service") // otherwise the failed unit may stay in systemd's list
	}
	res, ended, err := s.result(u.name, u.cmd.MaxOutput)
	if ended || err != nil {
		return res, err
	}
	return res, r.unitError(ctx, u, res, runErr)
}

// unitError says why a unit did not report the exit code of its command.
func (r *Runner) unitError(ctx context.Context, u unit, res host.Result, runErr error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("killed after its timeout of %s: %w", u.cmd.Timeout, err)
	}
	if runErr != nil {
		return runErr
	}
	if _, err := r.files.Lstat(u.env); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("transient unit %s was stopped by another process", u.name)
	}
	// The command never started, so this is the output of systemd-run, which contains no secret.
	return fmt.Errorf("cannot start transient unit %s: %s", u.name, bytes.TrimSpace(res.Stderr))
}

// unitGrace is how long a unit may take to end after it was killed.
const unitGrace = 30 * time.Second

// argv is the systemd-run command of a unit. systemd enforces its own limit in case this process
// dies before ours.
func (u unit) argv() []string {
	limit := int((u.cmd.Timeout + unitGrace).Seconds())
	args := []string{
		"systemd-run", "--unit=" + u.name, "--wait", "--pipe", "--quiet", "--collect",
		"--working-directory=" + u.cmd.Dir,
		"--property=KillMode=process", // processes that the command leaves running survive, as without a unit
		"--property=RuntimeMaxSec=" + strconv.Itoa(limit),
	}
	if u.cmd.Umask != nil {
		args = append(args, fmt.Sprintf("--property=UMask=%04o", *u.cmd.Umask))
	}
	if u.cmd.BareEnv {
		args = append(args, "--", "/usr/bin/env", "-i", "/bin/sh", "-c", escapeVariables(bareScript+unitScript))
	} else {
		args = append(args, "--property=EnvironmentFile="+u.env, "--", "/bin/sh", "-c", escapeVariables(unitScript))
	}
	args = append(args, "fettle", u.env, u.name)
	for _, arg := range u.words() {
		args = append(args, escapeVariables(arg))
	}
	return args
}

// words are the command, with a prefix that changes the user and removes the variables that the
// shell has added.
func (u unit) words() []string {
	words := u.cmd.Args
	if as := u.cmd.As; as != nil {
		words = slices.Concat([]string{"/usr/bin/setpriv", fmt.Sprintf("--reuid=%d", as.UID), fmt.Sprintf("--regid=%d", as.GID), groupsOption(as.Groups), "--"}, words)
	}
	if !u.cmd.BareEnv {
		return words
	}
	without := []string{"/usr/bin/env"}
	for _, name := range []string{"PWD", "OLDPWD", "SHLVL", "_"} {
		if !slices.ContainsFunc(u.cmd.Env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			without = append(without, "-u", name)
		}
	}
	return slices.Concat(without, words)
}

func groupsOption(groups []uint32) string {
	if len(groups) == 0 {
		return "--clear-groups"
	}
	return "--groups=" + strings.Trim(strings.ReplaceAll(fmt.Sprint(groups), " ", ","), "[]")
}

// escapeVariables escapes an argument for systemd, which expands variables.
func escapeVariables(arg string) string { return strings.ReplaceAll(arg, "$", "$$") }

// systemctl runs systemctl for a unit. Errors are ignored: the unit may be gone by then.
func (r *Runner) systemctl(ctx context.Context, args ...string) {
	cmd, err := r.complete(host.Cmd{Args: append([]string{"systemctl"}, args...), Timeout: unitGrace})
	if err == nil {
		_, _ = r.runPlain(context.WithoutCancel(ctx), cmd)
	}
}

// killAtEnd kills a unit when ctx ends before the returned function is called.
func (r *Runner) killAtEnd(ctx context.Context, name string) (wait func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		// If that fails, RuntimeMaxSec ends the unit.
		r.systemctl(ctx, "kill", "--signal=SIGKILL", name+".service")
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}
