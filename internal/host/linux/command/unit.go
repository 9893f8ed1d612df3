package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// underSystemd reports whether the machine of this process is one of systemd: in a container and in a chroot, /run/systemd
// may belong to another one, whose units have other files. Only root can find out, and only root can start units there.
func underSystemd() bool {
	var here, first unix.Stat_t
	name, err := os.ReadFile("/proc/1/comm")
	return err == nil && string(name) == "systemd\n" &&
		unix.Stat("/", &here) == nil && unix.Stat("/proc/1/root/", &first) == nil && here.Dev == first.Dev && here.Ino == first.Ino
}

// unitScript runs in the unit, with the directory of the unit and a limit of bytes for each output before the
// command. It creates the directory "started", unless an agent has done so to prevent the start, and
// deletes the environment file, which has been read by then. In the end it saves the outputs and then the exit code, in
// case there is no agent: the exit code of systemd-run does not distinguish a signal from an exit, nor its own failure
// from the command's. One byte beyond the limit shows that an output was truncated. The unit never fails, because a
// failed unit stays as long as any process that the command left running. The shell's own messages about signals
// are dropped.
const unitScript = `exec 3>&2 2>/dev/null; /bin/mkdir -- "$1/started" || exit 0; /bin/rm -f -- "$1/env"; ` +
	`fettle_unit=$1; fettle_limit=$2; shift 2; ("$@" 2>&3 3>&-); fettle_code=$?; umask 077; ` +
	`/usr/bin/head -c "$fettle_limit" </proc/self/fd/1 >"$fettle_unit/out"; ` +
	`/usr/bin/head -c "$fettle_limit" </proc/self/fd/3 >"$fettle_unit/err"; ` +
	`printf %d "$fettle_code" >"$fettle_unit/code.new" && /bin/mv -- "$fettle_unit/code.new" "$fettle_unit/code"; exit 0`

// bareScript comes before unitScript for a command with BareEnv. systemd adds variables to every unit, so
// the shell starts with an empty environment and reads the file itself.
const bareScript = `set -a; . "$1/env"; set +a; `

// killScript ends the command if the shell of its unit was killed, as by systemd after RuntimeMaxSec: the end of a
// unit spares the other processes.
const killScript = `[ "$EXIT_CODE" = exited ] || exec systemctl kill --signal=SIGKILL `

// A unit is one transient service of the host.
type unit struct {
	name string
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
	if _, err := r.Resume(ctx, cmd.Job.Owner); err != nil {
		return host.Result{}, err
	}
	u := unit{name: newUnitName(cmd.Job.Owner), cmd: cmd}
	u.cmd.Args = append([]string{file}, cmd.Args[1:]...)
	s, err := newStreams(cmd.Stdin)
	if err != nil {
		return host.Result{}, err
	}
	if err = r.prepareUnit(ctx, u, cmd.Args); err != nil {
		return host.Result{}, errors.Join(err, s.Close())
	}
	res, err := r.runUnit(ctx, u, s)
	if !errors.Is(err, errLeft) {
		err = errors.Join(err, r.forget(u.name))
	}
	return res, errors.Join(err, s.Close())
}

// errLeft is the error of a unit that may still run.
var errLeft = errors.New("aborted")

// cause returns why a directory cannot be entered: the error of its path or, without one, that it is no directory.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return unix.ENOTDIR
}

func (r *Runner) runUnit(ctx context.Context, u unit, s *streams) (host.Result, error) {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.cmd.Timeout)
	defer cancel()
	waitKill := r.killAtEnd(limit, u.name)
	p := &process{cmd: host.Cmd{
		Args:    u.argv(),
		Env:     []string{"PATH=" + host.SearchPath, "LC_ALL=C.UTF-8"},
		Dir:     "/",
		Timeout: u.cmd.Timeout + unitGrace,
	}}
	stop := s.trim(u.cmd.MaxOutput + 1)
	_, runErr := p.run(ctx, r, s.wire)
	stop()
	waitKill()
	if limit.Err() != nil {
		_, _ = r.systemctl(ctx, "reset-failed", u.name+".service") // otherwise the failed unit may stay in systemd's list
	}
	res, ended, err := r.result(u.name, u.cmd.MaxOutput)
	if ended || err != nil {
		return res, err
	}
	if ctx.Err() != nil && limit.Err() == nil {
		return res, fmt.Errorf("%w, but transient unit %s may still run it: the next run waits for that; systemctl stop %s ends it", errLeft, u.name, u.name)
	}
	if res, err = s.output(u.cmd.MaxOutput); err != nil {
		return res, err
	}
	return res, r.unitError(limit, u, res, runErr)
}

// unitError says why a unit did not report the exit code of its command.
func (r *Runner) unitError(ctx context.Context, u unit, res host.Result, runErr error) error {
	if ctx.Err() != nil {
		return timeoutError(u.cmd.Timeout)
	}
	if runErr != nil {
		return runErr
	}
	if _, err := r.files.Lstat(startedMark(u.name)); err == nil {
		err = stoppedError(u.name)
		if u.cmd.Confinement != nil {
			err = fmt.Errorf("%w, or exceeded the limits of its memory or tasks", err)
		}
		return err
	}
	// The command never started, so this is the output of systemd-run, which contains no secret.
	return fmt.Errorf("cannot start transient unit %s: %s", u.name, bytes.TrimSpace(res.Stderr))
}

func timeoutError(timeout time.Duration) error {
	return fmt.Errorf("killed after its timeout of %s: %w", timeout, context.DeadlineExceeded)
}

func stoppedError(unit string) error {
	return fmt.Errorf("transient unit %s was stopped by another process", unit)
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
	}
	args = append(args, u.limits()...)
	args = append(args,
		"--property=RuntimeMaxSec="+strconv.Itoa(limit),
		"--property=ExecStopPost=-/bin/sh -c '"+escapeVariables(killScript+u.name)+".service'",
	)
	if u.cmd.Umask != nil {
		args = append(args, fmt.Sprintf("--property=UMask=%04o", *u.cmd.Umask))
	}
	if u.cmd.BareEnv {
		args = append(args, "--", "/usr/bin/env", "-i", "/bin/sh", "-c", escapeVariables(bareScript+unitScript))
	} else {
		args = append(args, "--property=EnvironmentFile="+environmentPath(u.name), "--", "/bin/sh", "-c", escapeVariables(unitScript))
	}
	args = append(args, "fettle", unitDir(u.name), strconv.Itoa(u.cmd.MaxOutput+1))
	for _, arg := range u.words() {
		args = append(args, escapeVariables(arg))
	}
	return args
}

// limits are the properties of a unit that decide what survives it and what it can use.
func (u unit) limits() []string {
	limits := u.cmd.Confinement
	if limits == nil {
		return []string{"--property=KillMode=process"} // processes that the command leaves running survive, as without a unit
	}
	args := []string{"--property=KillMode=control-group", "--property=KillSignal=SIGKILL", "--property=NoNewPrivileges=yes", "--property=LimitCORE=1"}
	if limits.Memory > 0 {
		memory := strconv.FormatInt(limits.Memory, 10)
		args = append(args, "--property=MemoryMax="+memory, "--property=MemorySwapMax=0", "--property=LimitDATA="+memory)
	}
	if limits.Tasks > 0 {
		args = append(args, "--property=TasksMax="+strconv.Itoa(limits.Tasks))
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

// systemctl runs systemctl for a unit and returns its output. The caller ignores an error if the unit may be
// gone.
func (r *Runner) systemctl(ctx context.Context, args ...string) (string, error) {
	cmd, err := r.complete(host.Cmd{Args: append([]string{"systemctl"}, args...), Timeout: unitGrace})
	if err != nil {
		return "", err
	}
	res, err := r.runPlain(context.WithoutCancel(ctx), cmd)
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("systemctl exited with %d", res.ExitCode)
	}
	return strings.TrimSpace(string(res.Stdout)), err
}

// kill kills all processes of a unit. If that fails, RuntimeMaxSec ends the unit.
func (r *Runner) kill(ctx context.Context, name string) {
	_, _ = r.systemctl(ctx, "kill", "--signal=SIGKILL", name+".service")
}

// killAtEnd kills a unit when ctx ends before the returned function is called.
func (r *Runner) killAtEnd(ctx context.Context, name string) (wait func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		r.kill(ctx, name)
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}
