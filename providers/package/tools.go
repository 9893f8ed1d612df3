package pkg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// tools runs apt and dpkg on a host.
type tools struct {
	h host.Host
	// lockTimeout is how long to wait for whoever else manages packages, and poll how
	// often to try where a tool does not wait by itself.
	lockTimeout, poll time.Duration
}

// patience is how long packages may take to download, unpack and configure.
const patience = 30 * time.Minute

// quiet is the environment in which nothing asks a question, and nothing but the
// packages themselves restarts services behind the back of whoever manages those.
func quiet() []string {
	return []string{
		"DEBIAN_FRONTEND=noninteractive",
		"APT_LISTBUGS_FRONTEND=none",
		"APT_LISTCHANGES_FRONTEND=none",
		"NEEDRESTART_MODE=l",
	}
}

// aptGet runs one command of a transaction. It is detached: a package operation that
// is killed in the middle leaves packages that don't work.
func (t tools) aptGet(ctx context.Context, s setting, words []string) (host.Result, error) {
	return t.h.Run(ctx, host.Cmd{
		Args: append([]string{
			"apt-get", "-q", "-y",
			"-o", "Dpkg::Use-Pty=0",
			"-o", "DPkg::Lock::Timeout=" + seconds(t.lockTimeout),
			"-o", "DPkg::Options::=" + s.dpkgOption(),
		}, words...),
		Env:      append(s.variables(), split(s.environment)...),
		Timeout:  patience + t.lockTimeout,
		Detached: true,
	})
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

func (s setting) dpkgOption() string {
	if s.replace {
		return "--force-confnew"
	}
	return "--force-confold"
}

// variables say the same to packages that ask ucf in place of dpkg.
func (s setting) variables() []string {
	if s.replace {
		return append(quiet(), "UCF_FORCE_CONFFNEW=1")
	}
	return append(quiet(), "UCF_FORCE_CONFFOLD=1")
}

// update brings apt's index up to date. An index that apt could not download is an error, though
// by default apt-get only warns and goes on with the old one.
func (t tools) update(ctx context.Context, environment []string) error {
	err := t.insist(ctx, host.Cmd{
		Args:    []string{"apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update"},
		Env:     append(quiet(), environment...),
		Timeout: patience,
	})
	if err != nil {
		return err
	}
	newer, err := newerThanIndex(t.h)
	if err != nil || newer == "" {
		return err
	}
	// A source from the future, by the host's clock, must not look new for ever.
	return t.insist(ctx, host.Cmd{Args: []string{"touch", "--reference=" + newer, aptPartial}})
}

// configure finishes what an interrupted dpkg left.
func (t tools) configure(ctx context.Context) error {
	return t.insist(ctx, host.Cmd{
		Args:     []string{"dpkg", "--force-confold", "--configure", "--pending"},
		Env:      setting{}.variables(),
		Timeout:  patience,
		Detached: true,
	})
}

// selectPackages sets what is to become of packages: hold, or install to let them go.
func (t tools) selectPackages(ctx context.Context, selection string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var lines strings.Builder
	for _, name := range names {
		fmt.Fprintf(&lines, "%s %s\n", name, selection)
	}
	return t.insist(ctx, host.Cmd{Args: []string{"dpkg", "--set-selections"}, Stdin: []byte(lines.String())})
}

// insist runs a command that gives up at once when another process holds its lock,
// again and again until that one is done.
func (t tools) insist(ctx context.Context, cmd host.Cmd) error {
	res, err := t.persist(ctx, cmd)
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("cannot run %s: %w", strings.Join(cmd.Args, " "), failure(res, cmd.Env))
	}
	return err
}

// persist is insist, but a command that fails is no error.
func (t tools) persist(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	for waited := time.Duration(0); ; waited += t.poll {
		res, err := t.h.Run(ctx, cmd)
		locked := lockedOut(res) || debconfLocked(res)
		if err != nil || !locked || waited >= t.lockTimeout {
			return res, err
		}
		if err := wait(ctx, t.poll); err != nil {
			return res, fmt.Errorf("cannot run %s: waiting for a lock: %w", strings.Join(cmd.Args, " "), err)
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure is a command's result as an error.
func failure(res host.Result, environment []string) error {
	if text := explanation(res, environment); text != "" {
		return errors.New(text)
	}
	return fmt.Errorf("exit code %d", res.ExitCode)
}

// policy asks apt what it has of packages, leaving out names that are none: apt would
// take some for expressions.
func policy(ctx context.Context, h host.Reader, names []string) (map[string]offer, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !debianName(name) })
	if len(names) == 0 {
		return nil, nil
	}
	res, err := aptCache(ctx, h, "policy", names)
	return parsePolicy(string(res.Stdout)), err
}

// aptCache asks apt's index about packages. It keeps apt from writing its cache, which
// costs some tenths of a second and keeps the promise of a Query.
func aptCache(ctx context.Context, h host.Reader, question string, names []string) (host.Result, error) {
	res, err := h.Query(ctx, host.Cmd{
		Args:      append([]string{"apt-cache", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", question, "--"}, names...),
		MaxOutput: 16 << 20, Show: host.Output,
	})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("cannot ask apt-cache %s: %w", question, failure(res, nil))
	}
	return res, err
}
