package resourcetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// states returns the attributes that a resource goes through, in order.
func (c Case) states() []string {
	return append(append([]string{c.Absent, c.Present}, c.Changed...), c.Absent)
}

// name returns the name of the resource.
func (c Case) name() string { return cmp.Or(c.Name, "law") }

// A lifecycle has the laws of one resource that is created, changed and removed on a host.
type lifecycle struct {
	kind resource.Kind
	c    Case
	host *witness
}

func newLifecycle(kind resource.Kind, c Case) *lifecycle {
	c.Name = c.name()
	return &lifecycle{kind, c, &witness{Host: c.Host, secret: c.Secret}}
}

// passes goes through the states and back to the first one.
func (l *lifecycle) passes(ctx context.Context, t *testing.T) error {
	t.Helper()
	start := l.c.Snapshot(t)
	for i, attributes := range l.c.states() {
		before := l.c.Snapshot(t)
		r, err := l.look(ctx, attributes)
		if err == nil {
			err = same("reading changed the host", before, l.c.Snapshot(t))
		}
		if err == nil {
			err = l.reach(ctx, r, attributes, i > 0)
		}
		if err != nil {
			return fmt.Errorf("%w\nwith the attributes:\n%s", err, attributes)
		}
	}
	return errors.Join(
		same("the host after absent, present and absent again differs from the start", start, l.c.Snapshot(t)),
		l.host.leaked(),
	)
}

// reach makes the changes that were found and reads again. There are changes to make in every state
// but the first.
func (l *lifecycle) reach(ctx context.Context, r resource.Resource, attributes string, further bool) error {
	found := r.Compare().Changes
	if further && len(found) == 0 {
		return errors.New("there is nothing to change: the previous state satisfies these attributes too")
	}
	if !further && len(found) > 0 {
		return fmt.Errorf("the host does not start in the state Absent: %+v", found)
	}
	if len(found) > 0 {
		if err := r.Write(ctx, Writer(l.host), found); err != nil {
			return fmt.Errorf("cannot make the changes %+v: %w", found, err)
		}
	}
	after, err := l.look(ctx, attributes)
	if err != nil {
		return err
	}
	if left := after.Compare().Changes; len(left) > 0 {
		return fmt.Errorf("changes remain after the change: %+v", left)
	}
	return l.canBeAppliedAgain(ctx, after)
}

// look binds the resource again and reads its state, in all possible ways.
func (l *lifecycle) look(ctx context.Context, attributes string) (resource.Resource, error) {
	raw, err := yaml.YAMLToJSON([]byte(attributes))
	if err != nil {
		return nil, err
	}
	r, err := l.kind.Bind(resource.Ref{Kind: l.kind.Name(), Name: l.c.Name}, raw)
	if err != nil {
		return nil, err
	}
	if err := l.choose(r); err != nil {
		return nil, err
	}
	call := call(l.host)
	call.Trace = true
	if err := r.Read(ctx, call.Reader(l.host)); err != nil {
		return nil, fmt.Errorf("cannot read: %w", err)
	}
	return r, errors.Join(l.readsTheSameWithOthers(ctx, r, raw), l.isAudited(ctx, r), l.showsNoSecret(r))
}

func (l *lifecycle) choose(r resource.Resource) error {
	if err := r.Choose(l.c.Facts, Reader(l.host), l.c.Provider); err != nil {
		return err
	}
	return r.Unsupported()
}

func (l *lifecycle) readsTheSameWithOthers(ctx context.Context, alone resource.Resource, raw []byte) error {
	if !alone.Abilities().BatchRead {
		return nil
	}
	var all []resource.Resource
	for range 2 {
		r, err := l.kind.Bind(alone.Ref(), raw)
		if err != nil {
			return err
		}
		all = append(all, r)
		if err := l.choose(r); err != nil {
			return err
		}
	}
	if err := errors.Join(alone.Provider().ReadAll(ctx, Reader(l.host), all)...); err != nil {
		return fmt.Errorf("cannot read all: %w", err)
	}
	return errors.Join(
		same("the state differs between reading one resource and several", string(alone.State().Attributes), string(all[0].State().Attributes)),
		same("the state of the second of two resources differs", string(alone.State().Attributes), string(all[1].State().Attributes)),
	)
}

// showsNoSecret searches for the secret in the result of a comparison and in debug output.
func (l *lifecycle) showsNoSecret(r resource.Resource) error {
	shows := func(v any) bool { return l.c.Secret != "" && strings.Contains(fmt.Sprintf("%+v", v), l.c.Secret) }
	switch {
	case shows(r.Compare()):
		return errors.New("a comparison shows the secret")
	case shows(r.PropertyStates()):
		return errors.New("the state of a property shows the secret")
	}
	return nil
}

// canBeAppliedAgain applies the current state, as listed and as read without managing anything.
// That must change nothing.
func (l *lifecycle) canBeAppliedAgain(ctx context.Context, r resource.Resource) error {
	states, err := l.described(ctx, r)
	if err != nil {
		return err
	}
	for _, s := range states {
		if l.c.Secret != "" && bytes.Contains(s.Attributes, []byte(l.c.Secret)) {
			return errors.New("the current state shows the secret")
		}
		again, err := l.look(ctx, string(s.Attributes))
		if err != nil {
			return fmt.Errorf("cannot apply the current state again: %w\n%s", err, s.Attributes)
		}
		if changes := again.Compare().Changes; len(changes) > 0 {
			return fmt.Errorf("applying the current state would change %+v\n%s", changes, s.Attributes)
		}
	}
	return nil
}

// described returns the current states of the resource as read without managing anything and as
// listed. An imperative resource has none.
func (l *lifecycle) described(ctx context.Context, r resource.Resource) ([]resource.Instance, error) {
	if r.Traits().Imperative {
		return nil, nil
	}
	named, err := l.kind.Named(r.Namevar())
	if err != nil {
		return nil, err
	}
	if err := l.choose(named); err != nil {
		return nil, err
	}
	if err := named.Read(ctx, Reader(l.host)); err != nil {
		return nil, fmt.Errorf("cannot read the resource without managing it: %w", err)
	}
	states := []resource.Instance{named.State()}
	all, err := l.kind.Instances(ctx, l.c.Facts, Reader(l.host), r.Provider().Name())
	if _, none := errors.AsType[*resource.NoListerError](err); none {
		return states, nil
	}
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if i.Namevar == r.Namevar() {
			return append(states, i), nil
		}
	}
	if r.State().Exists {
		return nil, fmt.Errorf("%s exists but is not listed", r.Namevar())
	}
	return states, nil
}

func same(what, before, after string) error {
	if diff := gocmp.Diff(before, after); diff != "" {
		return fmt.Errorf("%s (-before +after):\n%s", what, diff)
	}
	return nil
}

// A witness is a host that records whether a secret was among the arguments of a command, which all
// users of the host can read, or in command output that debug logs show.
type witness struct {
	host.Host
	secret   string
	inArgs   []string // the commands
	inOutput []string
}

func (w *witness) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	res, err := w.Host.Query(ctx, cmd)
	w.record(cmd, res)
	return res, err
}

func (w *witness) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	res, err := w.Host.Run(ctx, cmd)
	w.record(cmd, res)
	return res, err
}

func (w *witness) record(cmd host.Cmd, res host.Result) {
	if w.secret == "" {
		return
	}
	if strings.Contains(strings.Join(cmd.Args, "\x00"), w.secret) {
		w.inArgs = append(w.inArgs, cmd.Args[0])
	}
	if cmd.Show != nil && strings.Contains(cmd.Show(res), w.secret) {
		w.inOutput = append(w.inOutput, cmd.Args[0])
	}
}

func (w *witness) leaked() error {
	switch {
	case len(w.inArgs) > 0:
		return fmt.Errorf("the secret is among the arguments of %s", strings.Join(w.inArgs, ", "))
	case len(w.inOutput) > 0:
		return fmt.Errorf("the secret is in the output of %s, which debug logs show", strings.Join(w.inOutput, ", "))
	}
	return nil
}
