package cli

import (
	"context"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent/engine"
)

// A tracedHost tells what is done to a host: commands by their arguments, which hold no
// secret since every user of the host can read them, and never what they are given
// otherwise.
type tracedHost struct {
	Host
	tell func(format string, args ...any)
	now  func() time.Time
}

// Query implements [host.Reader].
func (t tracedHost) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return t.command(ctx, "asked", cmd, t.Host.Query)
}

// Run implements [host.Host].
func (t tracedHost) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return t.command(ctx, "ran", cmd, t.Host.Run)
}

func (t tracedHost) command(ctx context.Context, verb string, cmd host.Cmd, run func(context.Context, host.Cmd) (host.Result, error)) (host.Result, error) {
	began := t.now()
	res, err := run(ctx, cmd)
	took := engine.Duration(t.now().Sub(began))
	if err != nil {
		t.tell("%s %s: not to its end, in %s", verb, argv(cmd), took)
	} else {
		t.tell("%s %s: exit %d in %s", verb, argv(cmd), res.ExitCode, took)
	}
	return res, err
}

// argv is a command on one line, and not all of a long one.
func argv(cmd host.Cmd) string {
	const most = 400
	line := shellquote.Join(cmd.Args...)
	if len(line) > most {
		return line[:most] + "..."
	}
	return line
}

// WriteFile implements [host.Host].
func (t tracedHost) WriteFile(ctx context.Context, path string, f host.NewFile) ([32]byte, error) {
	sum, err := t.Host.WriteFile(ctx, path, f)
	t.did("wrote", path, err)
	return sum, err
}

// Remove implements [host.Host].
func (t tracedHost) Remove(path string) error {
	err := t.Host.Remove(path)
	t.did("removed", path, err)
	return err
}

// RemoveAll implements [host.Host].
func (t tracedHost) RemoveAll(path string) error {
	err := t.Host.RemoveAll(path)
	t.did("removed all of", path, err)
	return err
}

func (t tracedHost) did(what, path string, err error) {
	if err == nil {
		t.tell("%s %s", what, path)
	}
}

// debugSuitability tells of the providers of the kinds that are there.
func (a *app) debugSuitability(items []resource.Item, facts resource.Facts, h host.Reader) {
	if !a.debug {
		return
	}
	used := map[string]bool{}
	for _, i := range items {
		used[i.Ref.Kind] = true
	}
	for _, k := range a.Kinds {
		if used[k.Name()] {
			a.debugKind(k, facts, h)
		}
	}
}

// debugKind tells of the providers of a kind.
func (a *app) debugKind(k resource.Kind, facts resource.Facts, h host.Reader) {
	if !a.debug {
		return
	}
	for _, s := range k.Suitability(facts, h) {
		a.tellDebug("%s", s.Explain(k.Name()))
	}
}

// debugResource tells how one resource ended.
func (a *app) debugResource(r engine.ResourceReport) {
	provider := ""
	if r.Provider != "" {
		provider = " by provider " + r.Provider
	}
	a.tellDebug("%s: %s%s in %s", r.Ref, r.State, provider, r.Duration)
}
