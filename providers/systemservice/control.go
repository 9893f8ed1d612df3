package systemservice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

const (
	// jobLimit bounds a start, stop or restart. Systemd's own limit is 90 seconds for
	// most units and none for some.
	jobLimit = 5 * time.Minute
	// probation is the time that a service must run if its start proves nothing.
	probation = 500 * time.Millisecond
)

// control changes one unit.
type control struct {
	h         host.Host
	systemctl []string // the command, with the options before a verb
	look      func(context.Context) (unit, error)
}

func (c control) write(ctx context.Context, want attributes, changes []resource.Change) error {
	u, err := c.prepare(ctx, want)
	if err != nil {
		return err
	}
	var errs []error
	for _, refusal := range refusals(c.h, u, want) {
		err := refusal.Err
		if u.ensure(want) == crashing && refusal.Property == resource.Ensure {
			err = fmt.Errorf("%w%s", err, c.journal(ctx, u))
		}
		errs = append(errs, propertyError(err, refusal.Property, changes))
		want = without(want, refusal.Property)
	}
	for _, s := range plan(u, want) {
		if err := c.perform(ctx, u, s); err != nil {
			errs = append(errs, propertyError(err, s.Property, changes))
		}
	}
	return errors.Join(errs...)
}

// perform runs a step, and makes sure that a service stays up, and that nothing else enables it.
func (c control) perform(ctx context.Context, u unit, s step) error {
	err := c.runAndAwait(ctx, u, s)
	switch {
	case err != nil:
		return err
	case s.Verb[0] == "start":
		return c.verifyRunning(ctx)
	case s.Verb[0] == "disable" && u.UnitFileState == "enabled": // which hides that it is enabled in /run, too
		if u, err = c.look(ctx); err == nil && u.UnitFileState == "enabled-runtime" {
			return c.run(ctx, u, disableRuntime())
		}
	}
	return err
}

// propertyError attributes an error to its property if the property is one of the changes. A property that
// was changed along with another is not.
func propertyError(err error, property string, changes []resource.Change) error {
	if slices.ContainsFunc(changes, func(c resource.Change) bool { return c.Property == property }) {
		return &resource.PropertyError{Property: property, Err: err}
	}
	return err
}

// prepare makes sure that a required unit exists, and that systemd has noticed it.
func (c control) prepare(ctx context.Context, want attributes) (unit, error) {
	u, err := c.unmasked(ctx, want)
	if err == nil && u.missing() && u.NeedsDaemonReload {
		if err = c.run(ctx, u, daemonReload()); err == nil {
			u, err = c.look(ctx)
		}
	}
	if err == nil && u.missing() && needsUnit(want) {
		err = notFound(unitName(want.Name))
	}
	return u, err
}

// unmasked removes masks if necessary: they hide the rest of the unit's state, and one in /etc hides one in /run.
func (c control) unmasked(ctx context.Context, want attributes) (unit, error) {
	u, err := c.look(ctx)
	for range 2 {
		if err != nil || !mustUnmask(u, want) {
			break
		}
		if err := maskedByTemplate(c.h, u); err != nil {
			return u, err
		}
		if err := c.run(ctx, u, unmask(u)); err != nil {
			return u, err
		}
		u, err = c.look(ctx)
	}
	return u, err
}

// without returns attributes in which one property is not managed. A unit that can't be masked is not disabled either.
func without(want attributes, property string) attributes {
	switch property {
	case resource.Ensure:
		want.Ensure = nil
	case "enable":
		want.Enable = nil
	case "mask":
		want.Mask = nil
	}
	return want
}

func notFound(name string) error {
	return fmt.Errorf("service %s does not exist on the host: install its package first, for example with require: [Package/...]", name)
}

func (c control) refresh(ctx context.Context, want attributes) error {
	u, err := c.look(ctx)
	if err != nil {
		return err
	}
	if u.ensure(attributes{}) != running {
		return resource.ErrNothingToRefresh
	}
	if err := refusesRefresh(u, want); err != nil {
		return err
	}
	for _, s := range refreshSteps(u, want) {
		if err := c.runAndAwait(ctx, u, s); err != nil {
			return err
		}
	}
	_, err = c.verifyStart(ctx)
	return err
}

// verifyRunning makes sure that a unit that was just started stays up.
func (c control) verifyRunning(ctx context.Context) error {
	u, err := c.verifyStart(ctx)
	if err == nil && over(u) {
		return whyOver(u)
	}
	return err
}

// verifyStart makes sure that a unit that was just started did not end with a failure.
func (c control) verifyStart(ctx context.Context) (unit, error) {
	first, err := c.look(ctx)
	if err != nil || first.Runs != nil { // systemd's state does not count
		return first, err
	}
	later := first
	if !startIsProof(first) && first.ensure(attributes{}) == running {
		if err := resource.Wait(ctx, probation); err != nil {
			return first, err
		}
		if later, err = c.look(ctx); err != nil {
			return later, err
		}
	}
	if err := whyDown(first, later); err != nil {
		return later, fmt.Errorf("%w%s", err, c.journal(ctx, later))
	}
	return later, nil
}

// runAndAwait runs a step. If that starts or stops a service whose state is not systemd's, it awaits
// the result.
func (c control) runAndAwait(ctx context.Context, u unit, s step) error {
	if err := c.run(ctx, u, s); err != nil || s.Property != resource.Ensure || s.Global || u.Runs == nil {
		return err
	}
	return await(ctx, s.Verb[0] != "stop", func(ctx context.Context) (bool, error) {
		u, err := c.look(ctx)
		return ptr.Deref(u.Runs, false), err
	})
}

func (c control) run(ctx context.Context, u unit, s step) error {
	if s.Own != nil {
		return runCommand(ctx, c.h, scope(), s.Verb[0], *s.Own)
	}
	cmd := host.Cmd{Args: slices.Concat(c.systemctl, s.Verb), Timeout: jobLimit, Show: host.Output}
	what := strings.TrimPrefix(s.Verb[0], "try-")
	if !s.Global {
		name := cmp.Or(s.Alias, u.ID)
		cmd.Args = append(cmd.Args, name)
		what += " " + name
	}
	res, err := c.h.Run(ctx, cmd)
	switch {
	case err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return fmt.Errorf("cannot %s within %s: systemd continues, see systemctl list-jobs on the host%s", what, jobLimit, c.journal(ctx, u))
	case err != nil:
		return fmt.Errorf("cannot %s: %w", what, err)
	case res.ExitCode != 0 && s.Property == resource.Ensure:
		return fmt.Errorf("cannot %s: %s%s", what, firstLine(res), c.journal(ctx, u))
	case res.ExitCode != 0:
		return fmt.Errorf("cannot %s: %s", what, firstLine(res))
	}
	return nil
}

// firstLine returns the first line of systemctl's output. The rest is only advice.
func firstLine(res host.Result) string {
	for _, stream := range [][]byte{res.Stderr, res.Stdout} {
		if line, _, _ := strings.Cut(strings.TrimSpace(string(stream)), "\n"); line != "" {
			return line
		}
	}
	return fmt.Sprintf("it exited with %d", res.ExitCode)
}

// journal returns the end of the log of the unit and of systemd, to be appended to an error; "" if
// there is none. The journal may be behind what a service has just written, so it is made to catch up, if it can be.
func (c control) journal(ctx context.Context, u unit) string {
	_, _ = c.h.Run(ctx, host.Cmd{Args: []string{"journalctl", "--sync"}, Timeout: 30 * time.Second})
	res, err := c.h.Query(ctx, host.Cmd{
		Args:    []string{"journalctl", "--unit=" + u.ID, "--lines=20", "--since=-5min", "--output=cat", "--no-pager", "--quiet"},
		Timeout: 10 * time.Second,
	})
	if err != nil || res.ExitCode != 0 {
		return ""
	}
	return quoteJournal(string(res.Stdout))
}

// maxJournal is the maximum length of a journal in an error, which goes into a status, in bytes.
const maxJournal = 1500

func quoteJournal(journal string) string {
	journal = strings.TrimSpace(journal)
	if journal == "" {
		return ""
	}
	if len(journal) > maxJournal {
		journal = text.ClipFront(journal, maxJournal)
		if _, whole, found := strings.Cut(journal, "\n"); found { // the first line is incomplete
			journal = whole
		}
	}
	return "; its journal ends with:\n" + journal
}
