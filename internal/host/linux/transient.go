package linux

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

// hasSystemd asks what sd_booted(3) asks.
func (h *Host) hasSystemd() bool {
	info, err := h.Stat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// unitScript runs in the unit. It deletes the environment file, which systemd has
// read by then, and leaves the exit code where nothing else can be confused with
// it: systemd-run tells neither a signal from an exit nor a failure of its own from
// one of the command. So the unit does not fail with its command: it would be there for
// as long as what the command left running. What the shell itself says of a signal is
// nobody's output.
const unitScript = `/bin/rm -f -- "$1"; fettle_unit=$2; shift 2; exec 3>&2 2>/dev/null; ` +
	`("$@" 2>&3 3>&-); fettle_code=$?; printf '\n%s %d\n' "$fettle_unit" "$fettle_code" >&3; exit 0`

// bareScript comes before it where the command's environment is the whole one: systemd
// gives a unit more than that, so the shell begins with nothing and reads the file itself.
const bareScript = `set -a; . "$1"; set +a; `

// A unit is one transient service of the host.
type unit struct {
	name string
	env  string // path of its environment file
	cmd  host.Cmd
}

// runTransient runs a completed command outside our control group. Its streams are
// files in memory, not pipes: if we die, it neither blocks nor breaks on them.
func (h *Host) runTransient(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	file, err := h.LookPath(cmd.Args[0])
	if err != nil {
		return host.Result{}, err
	}
	if info, err := h.Stat(cmd.Dir); err != nil || !info.IsDir() {
		return host.Result{}, fmt.Errorf("cannot start %s in %s: %w", file, cmd.Dir, cause(err))
	}
	cmd.Args = append([]string{file}, cmd.Args[1:]...)
	name := "fettle-" + strings.ToLower(rand.Text())
	u := unit{name: name, env: "/run/" + name + ".env", cmd: cmd}
	s, err := newStreams(cmd.Stdin)
	if err != nil {
		return host.Result{}, err
	}
	res, err := h.runUnit(ctx, u, s)
	return res, errors.Join(err, s.Close())
}

// cause is what keeps a directory from being entered: an error of a path, or none that it
// is something else.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return unix.ENOTDIR
}

func (h *Host) runUnit(ctx context.Context, u unit, s *streams) (res host.Result, err error) {
	if err := h.writeEnvironment(ctx, u); err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, h.Remove(u.env)) }()
	ctx, cancel := context.WithTimeout(ctx, u.cmd.Timeout)
	defer cancel()
	waitKill := h.killAtEnd(ctx, u.name)
	p := &process{cmd: host.Cmd{
		Args:    u.argv(),
		Env:     []string{"PATH=" + host.SearchPath, "LC_ALL=C.UTF-8"},
		Dir:     "/",
		Timeout: u.cmd.Timeout + unitGrace,
	}}
	stop := s.trim(u.cmd.MaxOutput)
	_, runErr := p.run(context.WithoutCancel(ctx), h, s.wire)
	stop()
	waitKill()
	if ctx.Err() != nil {
		h.systemctl(ctx, "reset-failed", u.name+".service") // else it may stay for all to see
	}
	res, ended, err := s.result(u.name, u.cmd.MaxOutput)
	if ended || err != nil {
		return res, err
	}
	return res, h.unitError(ctx, u, res, runErr)
}

// unitError says why a unit did not report the exit code of its command.
func (h *Host) unitError(ctx context.Context, u unit, res host.Result, runErr error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("killed when its time, at most %s, was up: %w", u.cmd.Timeout, err)
	}
	if runErr != nil {
		return runErr
	}
	if _, err := h.Lstat(u.env); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("transient unit %s was ended from outside", u.name)
	}
	// The command never began, so this is systemd's word, which holds no secret.
	return fmt.Errorf("cannot start transient unit %s: %s", u.name, bytes.TrimSpace(res.Stderr))
}

// unitGrace is how long a unit may take to end after it was killed.
const unitGrace = 30 * time.Second

// argv is the systemd-run command of a unit. The limit that systemd keeps is for
// the case that nobody is left to keep ours.
func (u unit) argv() []string {
	limit := int((u.cmd.Timeout + unitGrace).Seconds())
	args := []string{
		"systemd-run", "--unit=" + u.name, "--wait", "--pipe", "--quiet", "--collect",
		"--working-directory=" + u.cmd.Dir,
		"--property=KillMode=process", // what the command leaves running stays, as it would without a unit
		"--property=RuntimeMaxSec=" + strconv.Itoa(limit),
	}
	if u.cmd.Umask != nil {
		args = append(args, fmt.Sprintf("--property=UMask=%04o", *u.cmd.Umask))
	}
	if u.cmd.BareEnv {
		args = append(args, "--", "/usr/bin/env", "-i", "/bin/sh", "-c", expandable(bareScript+unitScript))
	} else {
		args = append(args, "--property=EnvironmentFile="+u.env, "--", "/bin/sh", "-c", expandable(unitScript))
	}
	args = append(args, "fettle", u.env, u.name)
	for _, arg := range u.words() {
		args = append(args, expandable(arg))
	}
	return args
}

// words are the command, with what makes it whose it is to be and takes away what the
// shell above it has put into its environment.
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

// expandable keeps an argument as it is through systemd's expansion of variables.
func expandable(arg string) string { return strings.ReplaceAll(arg, "$", "$$") }

// systemctl tells the service manager about a unit, which may be gone by then.
func (h *Host) systemctl(ctx context.Context, args ...string) {
	cmd, err := h.complete(host.Cmd{Args: append([]string{"systemctl"}, args...), Timeout: unitGrace})
	if err == nil {
		_, _ = h.runPlain(context.WithoutCancel(ctx), cmd)
	}
}

// killAtEnd kills a unit when ctx ends before the returned function is called.
func (h *Host) killAtEnd(ctx context.Context, name string) (wait func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		// What cannot be killed so is ended by RuntimeMaxSec.
		h.systemctl(ctx, "kill", "--signal=SIGKILL", name+".service")
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}
