package systemservice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	// proof is how long a service has to run whose start says nothing.
	proof = 500 * time.Millisecond
)

// control is one unit in the hands of a provider.
type control struct {
	h         host.Host
	systemctl []string // the command, with what goes before a verb
	look      func(context.Context) (unit, error)
}

func (c control) write(ctx context.Context, want attributes, changes []resource.Change) error {
	u, err := c.prepare(ctx, want)
	if err != nil {
		return err
	}
	var errs []error
	if u.ensure(want) == crashing { // systemd is starting it already
		errs = append(errs, blame(fmt.Errorf("%w%s", whyCrashing(u), c.journal(ctx, u)), resource.Ensure, changes))
	}
	if err := c.inTheWay(u, want); err != nil {
		errs = append(errs, blame(err, "mask", changes))
		want.Mask = nil // nor is it disabled for that
	}
	for _, s := range plan(u, want) {
		err := c.take(ctx, u, s)
		if err == nil && s.Verb[0] == "start" {
			err = c.keep(ctx)
		}
		if err != nil {
			errs = append(errs, blame(err, s.Property, changes))
		}
	}
	return errors.Join(errs...)
}

// inTheWay refuses to mask a unit whose own file is where the mask, a link, would be.
func (c control) inTheWay(u unit, want attributes) error {
	if !ptr.Deref(want.Mask, false) || u.masked() {
		return nil
	}
	file := "/etc/systemd/system/" + u.ID
	switch _, err := c.h.Lstat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot mask %s: %w", u.ID, err)
	}
	return fmt.Errorf("cannot mask %s: %s is in the way, since a mask has that name: move the unit to /usr/local/lib/systemd/system, or say ensure: stopped and enable: false instead", u.ID, file)
}

// blame makes an error that of its property, where that is one of the changes. A
// property that was brought along with another has no change of its own.
func blame(err error, property string, changes []resource.Change) error {
	if slices.ContainsFunc(changes, func(c resource.Change) bool { return c.Property == property }) {
		return &resource.PropertyError{Property: property, Err: err}
	}
	return err
}

// prepare takes a mask out of the way and makes sure that there is a unit where one is
// needed. What a mask hides shows when it is gone.
func (c control) prepare(ctx context.Context, want attributes) (unit, error) {
	u, err := c.look(ctx)
	if err != nil {
		return u, err
	}
	if mustUnmask(u, want) {
		if err := c.run(ctx, u, unmask(u)); err != nil {
			return u, err
		}
		if u, err = c.look(ctx); err != nil {
			return u, err
		}
	}
	if u.missing() && needsUnit(want) {
		return u, notFound(unitName(want.Name))
	}
	return u, nil
}

func notFound(name string) error {
	return fmt.Errorf("service %s is not found on the host: install its package first, as with require: [Package/...]", name)
}

func (c control) refresh(ctx context.Context, want attributes) error {
	u, err := c.look(ctx)
	if err != nil {
		return err
	}
	if u.ensure(attributes{}) != running {
		return resource.ErrNothingToRefresh
	}
	for _, s := range refreshSteps(u, want) {
		if err := c.take(ctx, u, s); err != nil {
			return err
		}
	}
	_, err = c.prove(ctx)
	return err
}

// keep makes sure that a unit which was just started runs, and will.
func (c control) keep(ctx context.Context) error {
	u, err := c.prove(ctx)
	if err == nil && over(u) {
		return whyOver(u)
	}
	return err
}

// prove finds out whether a unit that systemd has just started is any good.
func (c control) prove(ctx context.Context) (unit, error) {
	first, err := c.look(ctx)
	if err != nil || first.Runs != nil { // what systemd sees is not what counts
		return first, err
	}
	later := first
	if !settles(first) && first.ensure(attributes{}) == running {
		select {
		case <-time.After(proof):
		case <-ctx.Done():
			return first, ctx.Err()
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

// take takes a step and, where that starts or stops a service of which not systemd tells
// whether it runs, awaits that it did.
func (c control) take(ctx context.Context, u unit, s step) error {
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
		return runOwn(ctx, c.h, ownScope(), s.Verb[0], *s.Own)
	}
	cmd := host.Cmd{Args: slices.Concat(c.systemctl, s.Verb), Timeout: jobLimit, Show: host.Output}
	what := strings.TrimPrefix(s.Verb[0], "try-")
	if !s.Global {
		cmd.Args = append(cmd.Args, u.ID)
		what += " " + u.ID
	}
	res, err := c.h.Run(ctx, cmd)
	switch {
	case err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return fmt.Errorf("cannot %s within %s: systemd goes on with it, see systemctl list-jobs on the host%s", what, jobLimit, c.journal(ctx, u))
	case err != nil:
		return fmt.Errorf("cannot %s: %w", what, err)
	case res.ExitCode != 0 && s.Property == resource.Ensure:
		return fmt.Errorf("cannot %s: %s%s", what, said(res), c.journal(ctx, u))
	case res.ExitCode != 0:
		return fmt.Errorf("cannot %s: %s", what, said(res))
	}
	return nil
}

// said is the first line of systemctl's message: the rest is advice to look
// elsewhere.
func said(res host.Result) string {
	for _, stream := range [][]byte{res.Stderr, res.Stdout} {
		if line, _, _ := strings.Cut(strings.TrimSpace(string(stream)), "\n"); line != "" {
			return line
		}
	}
	return fmt.Sprintf("it exited with %d", res.ExitCode)
}

// journal is the end of what the unit and systemd logged of it, to go behind an error;
// empty where there is none to be had.
func (c control) journal(ctx context.Context, u unit) string {
	res, err := c.h.Query(ctx, host.Cmd{
		Args:    []string{"journalctl", "--unit=" + u.ID, "--lines=20", "--since=-5min", "--output=cat", "--no-pager", "--quiet"},
		Timeout: 10 * time.Second,
	})
	if err != nil || res.ExitCode != 0 {
		return ""
	}
	return quoteJournal(string(res.Stdout))
}

// maxJournal is how many bytes of a journal go into an error, which goes into a status.
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
