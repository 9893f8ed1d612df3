package command

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// unitsDir has a directory for each transient unit, which only root can enter. It is lost in a reboot, and so are the
// units:
//
//	env      the environment of the command, until the unit has read it
//	job      the record: with it, the unit can be found again
//	started  the command was started
//	out err  the outputs, once it has ended
//	code     the exit code, which comes last
const unitsDir = "/run/fettle-units"

func unitDir(unit string) string         { return unitsDir + "/" + unit }
func environmentPath(unit string) string { return unitDir(unit) + "/env" }
func recordPath(unit string) string      { return unitDir(unit) + "/job" }
func startedMark(unit string) string     { return unitDir(unit) + "/started" }

// A record describes the command of a unit to later processes.
type record struct {
	Job     host.Job      `json:"job"`
	Args    []string      `json:"args"`    // in Go syntax, since they need not be UTF-8
	Timeout time.Duration `json:"timeout"` // in nanoseconds
	End     time.Duration `json:"end"`     // of the timeout, in nanoseconds since the boot
	Limit   int           `json:"limit"`   // MaxOutput
}

// newUnitName returns a name that begins with unitPrefix of the owner.
func newUnitName(owner string) string {
	return unitPrefix(owner) + strings.ToLower(rand.Text())
}

// unitPrefix is the common part of the names of an owner's units.
func unitPrefix(owner string) string {
	if owner == "" {
		return "fettle-"
	}
	sum := sha256.Sum256([]byte(owner))
	return "fettle-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10])) + "-"
}

// prepareUnit writes the files of a unit. The record comes last: a directory without one is of no use.
func (r *Runner) prepareUnit(ctx context.Context, u unit, args []string) error {
	for _, dir := range []string{unitsDir, unitDir(u.name)} {
		if err := r.files.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	err := r.writeEnvironment(ctx, u)
	if err == nil {
		err = r.writeRecord(ctx, u, args)
	}
	if err != nil {
		return errors.Join(err, r.forget(u.name))
	}
	return nil
}

func (r *Runner) writeRecord(ctx context.Context, u unit, args []string) error {
	now, err := sinceBoot()
	if err != nil {
		return err
	}
	rec := record{Job: u.cmd.Job, Timeout: u.cmd.Timeout, End: now + u.cmd.Timeout, Limit: u.cmd.MaxOutput}
	for _, arg := range args {
		rec.Args = append(rec.Args, strconv.QuoteToASCII(arg))
	}
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return r.writePrivate(ctx, recordPath(u.name), string(text))
}

// writePrivate writes a file that only root can read.
func (r *Runner) writePrivate(ctx context.Context, path, text string) error {
	_, err := r.files.WriteFile(ctx, path, host.NewFile{Content: strings.NewReader(text), Mode: new(uint32(0o600))})
	return err
}

// forget removes the files of a unit. The record goes first, so that half of them are never taken for a job.
func (r *Runner) forget(unit string) error {
	if err := r.files.Remove(recordPath(unit)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.files.RemoveAll(unitDir(unit))
}

// result returns the result that a unit has saved, if it has.
func (r *Runner) result(unit string, limit int) (res host.Result, ended bool, err error) {
	code, err := r.files.ReadFile(unitDir(unit) + "/code")
	if errors.Is(err, fs.ErrNotExist) {
		return res, false, nil
	}
	if err == nil {
		res.ExitCode, err = strconv.Atoi(string(code))
	}
	for name, to := range map[string]*[]byte{"out": &res.Stdout, "err": &res.Stderr} {
		if err != nil {
			break
		}
		var text []byte
		text, err = r.files.ReadFile(unitDir(unit) + "/" + name)
		res.Truncated = res.Truncated || len(text) > limit
		if len(text) > 0 { // nil if there is none, as in every Result
			*to = text[:min(len(text), limit)]
		}
	}
	return res, err == nil, err
}

// Resume implements [host.Host]. Only commands in transient units outlive the process that started them.
func (r *Runner) Resume(ctx context.Context, owner string) (*host.Resumed, error) {
	if owner == "" || !r.transient || !r.hasSystemd() {
		return nil, nil
	}
	names, err := r.files.ReadDir(unitsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found *host.Resumed
	for _, name := range names {
		if err == nil && strings.HasPrefix(name, unitPrefix(owner)) {
			found, err = r.resumeUnit(ctx, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find out about an earlier command of %s: %w", owner, err)
	}
	return found, nil
}

// resumeUnit waits for the end of a unit, and forgets it. A unit that has not started yet never will.
func (r *Runner) resumeUnit(ctx context.Context, name string) (*host.Resumed, error) {
	rec, err := r.record(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r.forget(name)
	}
	if err != nil {
		return nil, err
	}
	err = r.files.Mkdir(startedMark(name), 0o700)
	if err == nil {
		return nil, r.forget(name)
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	found := &host.Resumed{Job: rec.Job, Args: rec.Args}
	if found.Result, found.Err, err = r.awaitUnit(ctx, name, rec); err != nil {
		return nil, err
	}
	found.Err = commandError(host.Cmd{Args: rec.Args}, found.Err)
	return found, r.forget(name)
}

func (r *Runner) record(unit string) (rec record, err error) {
	text, err := r.files.ReadFile(recordPath(unit))
	if err == nil {
		err = json.Unmarshal(text, &rec)
	}
	for i := range rec.Args {
		if err == nil {
			rec.Args[i], err = strconv.Unquote(rec.Args[i])
		}
	}
	return rec, err
}

// How often to look for the result of a unit, and how often to ask systemd whether it still runs.
const (
	resultPoll = 100 * time.Millisecond
	statePoll  = 10 // in units of resultPoll
)

// awaitUnit returns the result of a unit and why it has none. err is another reason: the end of ctx.
func (r *Runner) awaitUnit(ctx context.Context, name string, rec record) (res host.Result, ended, err error) {
	ticker := time.NewTicker(resultPoll)
	defer ticker.Stop()
	for n := 0; ; n++ {
		runs := n%statePoll != 0 || r.isActive(ctx, name) // before the result, which the unit saves before it ends
		res, saved, err := r.result(name, rec.Limit)
		if saved || err != nil {
			return res, nil, err
		}
		now, err := sinceBoot()
		if err != nil {
			return res, nil, err
		}
		if failure := rec.failure(name, runs, now); failure != nil {
			r.stop(ctx, name, ticker)
			return res, failure, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return res, nil, context.Cause(ctx)
		}
	}
}

// failure returns why there will be no result of a unit that has none yet, or nil.
func (rec record) failure(unit string, runs bool, now time.Duration) error {
	switch {
	case now >= rec.End:
		return timeoutError(rec.Timeout)
	case !runs:
		return stoppedError(unit)
	}
	return nil
}

// stop kills a unit and waits until it has ended, for at most unitGrace.
func (r *Runner) stop(ctx context.Context, name string, poll *time.Ticker) {
	r.kill(ctx, name)
	for range unitGrace / resultPoll {
		if !r.isActive(ctx, name) {
			break
		}
		<-poll.C
	}
	_, _ = r.systemctl(ctx, "reset-failed", name+".service")
}

// isActive reports whether a unit runs, also if systemd does not answer.
func (r *Runner) isActive(ctx context.Context, name string) bool {
	state, err := r.systemctl(ctx, "show", "--property=ActiveState", "--value", name+".service")
	return err != nil || state != "inactive" && state != "failed"
}

// sinceBoot is a clock that nobody can set, and that all processes on the machine share.
func sinceBoot() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, fmt.Errorf("cannot read the clock: %w", err)
	}
	return time.Duration(t.Nano()), nil
}
