// Package apt runs apt and dpkg without questions, waits for their locks, and reads what they
// print.
package apt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
)

// A Lock configures how long to wait for another process that manages packages, and how often to try
// if a tool does not wait by itself.
type Lock struct{ Timeout, Poll time.Duration }

// Tools runs apt and dpkg on a host.
type Tools struct {
	Host host.Host
	Lock Lock
}

// Settings are the options and the environment of apt-get. They are comparable.
type Settings struct {
	options, environment string // joined lists
	// ReplaceConfigFiles replaces configuration files that were changed by new ones.
	ReplaceConfigFiles bool
	// Reinstall also installs packages that are installed.
	Reinstall bool
}

const listSeparator = "\x00"

// NewSettings returns settings with further options and an environment of KEY=value.
func NewSettings(options, environment []string) Settings {
	return Settings{options: strings.Join(options, listSeparator), environment: strings.Join(environment, listSeparator)}
}

// Options returns further options of apt-get.
func (s Settings) Options() []string { return split(s.options) }

// Environment returns the part of the environment that the resource sets, which may contain secrets.
func (s Settings) Environment() []string { return split(s.environment) }

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, listSeparator)
}

// FullEnvironment returns the whole environment of apt-get. It has the same settings for packages
// that use ucf instead of dpkg.
func (s Settings) FullEnvironment() []string {
	ucf := "UCF_FORCE_CONFFOLD=1"
	if s.ReplaceConfigFiles {
		ucf = "UCF_FORCE_CONFFNEW=1"
	}
	return append(append(quiet(), ucf), s.Environment()...)
}

func (s Settings) dpkgOption() string {
	if s.ReplaceConfigFiles {
		return "--force-confnew"
	}
	return "--force-confold"
}

// timeout limits the time to download, unpack and configure packages.
const timeout = 30 * time.Minute

// quiet returns the environment in which nothing asks a question, and in which only the packages
// themselves restart services.
func quiet() []string {
	return []string{
		"DEBIAN_FRONTEND=noninteractive",
		"APT_LISTBUGS_FRONTEND=none",
		"APT_LISTCHANGES_FRONTEND=none",
		"NEEDRESTART_MODE=l",
	}
}

// Get runs apt-get. It is detached: a package operation that is killed leaves packages that
// don't work.
func (t Tools) Get(ctx context.Context, s Settings, args []string) (host.Result, error) {
	return t.Host.Run(ctx, host.Cmd{
		Args: append([]string{
			"apt-get", "-q", "-y",
			"-o", "Dpkg::Use-Pty=0",
			"-o", "DPkg::Lock::Timeout=" + strconv.Itoa(int(t.Lock.Timeout.Seconds())),
			"-o", "DPkg::Options::=" + s.dpkgOption(),
		}, args...),
		Env:      s.FullEnvironment(),
		Timeout:  timeout + t.Lock.Timeout,
		Detached: true,
		Job:      job(),
	})
}

// Update updates apt's index. An index that could not be downloaded is an error, though by
// default apt-get only warns and keeps the old one. The index then stays as old as it was.
func (t Tools) Update(ctx context.Context, environment []string) error {
	before, err := modified(t.Host, partialDir)
	if err != nil {
		return err
	}
	err = t.run(ctx, host.Cmd{
		Args:    []string{"apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update"},
		Env:     append(quiet(), environment...),
		Timeout: timeout,
	})
	if err != nil {
		return errors.Join(err, t.age(context.WithoutCancel(ctx), before))
	}
	newer, err := NewerThanIndex(t.Host)
	if err != nil || newer == "" {
		return err
	}
	// A source from the future, by the host's clock, must not look new forever.
	return t.run(ctx, host.Cmd{Args: []string{"touch", "--reference=" + newer, partialDir}})
}

// age gives the index the time of its last update, which apt-get also sets if it fails.
func (t Tools) age(ctx context.Context, updated time.Time) error {
	if _, err := t.Host.Stat(partialDir); err != nil {
		return nil //nolint:nilerr // apt-get has created none
	}
	since := fmt.Sprintf("@%d.%09d", max(0, updated.Unix()), updated.Nanosecond())
	return t.run(ctx, host.Cmd{Args: []string{"touch", "--date=" + since, partialDir}})
}

// Configure finishes the work of an interrupted dpkg.
func (t Tools) Configure(ctx context.Context) error {
	return t.run(ctx, host.Cmd{
		Args:     []string{"dpkg", "--force-confold", "--configure", "--pending"},
		Env:      Settings{}.FullEnvironment(),
		Timeout:  timeout,
		Detached: true,
		Job:      job(),
	})
}

// job identifies the operations that must survive the agent. A host has one package database.
func job() host.Job { return host.Job{Owner: "packages"} }

// Await waits for an operation that an earlier process began. The database shows its result.
func (t Tools) Await(ctx context.Context) error {
	_, err := t.Host.Resume(ctx, job().Owner)
	return err
}

// The selections of packages.
const (
	SelectHold    = "hold"
	SelectInstall = "install" // and no longer held
)

// Select sets the selection of packages.
func (t Tools) Select(ctx context.Context, selection string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var lines strings.Builder
	for _, name := range names {
		fmt.Fprintf(&lines, "%s %s\n", name, selection)
	}
	return t.run(ctx, host.Cmd{Args: []string{"dpkg", "--set-selections"}, Stdin: []byte(lines.String())})
}

// run runs a command that must succeed.
func (t Tools) run(ctx context.Context, cmd host.Cmd) error {
	res, err := t.runUnlocked(ctx, cmd)
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("cannot run %s: %w", strings.Join(cmd.Args, " "), Failure(res, cmd.Env))
	}
	return err
}

// runUnlocked runs a command that fails at once if another process holds its lock, and repeats
// it until that one is done.
func (t Tools) runUnlocked(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	for waited := time.Duration(0); ; waited += t.Lock.Poll {
		res, err := t.Host.Run(ctx, cmd)
		locked := LockedOut(res) || debconfLocked(res)
		if err != nil || !locked || waited >= t.Lock.Timeout {
			return res, err
		}
		if err := resource.Wait(ctx, t.Lock.Poll); err != nil {
			return res, fmt.Errorf("cannot run %s: waiting for a lock: %w", strings.Join(cmd.Args, " "), err)
		}
	}
}

// ReadFile returns the name, version and architecture of a package file.
func ReadFile(ctx context.Context, h host.Reader, file string) (p dpkg.Package, err error) {
	res, err := h.Query(ctx, host.Cmd{Args: []string{"dpkg-deb", "--field", file, "Package", "Version", "Architecture"}, Show: host.Output})
	if err == nil && res.ExitCode != 0 {
		err = Failure(res, nil)
	}
	if err != nil {
		return p, err
	}
	return p, dpkg.Parse(bytes.NewReader(res.Stdout), func(found dpkg.Package) { p = found })
}
