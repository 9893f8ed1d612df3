// Package bound binds attributes to their type. It implements [resource.Kind] and
// [resource.Resource] for every type, which hides the Go type of the attributes from the engine.
package bound

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// bound is the only implementation of Resource.
type bound[A any] struct {
	t        *resource.Type[A]
	ref      resource.Ref
	want, is A
	was      A // is before the last Write
	provider resource.Provider[A]
	facts    resource.Facts // the facts that the provider was chosen by
	read     *A             // is before normalization; nil unless the read was traced
	secrets  []string       // attributes of want that have the value of a Secret
	audited  []string       // names of properties, in the type's order
	name     *string        // the canonical name that a provider has told; nil if none has
}

// bind completes and checks the decoded attributes. It works in place, since attributes may be
// large and a run binds thousands of resources.
func (b *bound[A]) bind(secrets []resource.Secret) (resource.Resource, error) {
	if err := b.withSecrets(secrets); err != nil {
		return nil, err
	}
	if err := b.complete(); err != nil {
		return nil, unsaid(err, secrets)
	}
	return b, nil
}

func (b *bound[A]) complete() error {
	if v := b.t.Namevar(&b.want); *v == "" {
		*v = b.ref.Name
	}
	if b.t.Default != nil {
		b.t.Default(&b.want)
	}
	for _, o := range b.t.OneOf {
		if err := checkOneOf(o, &b.want); err != nil {
			return err
		}
	}
	normalize(b.t, &b.want)
	if b.t.Validate != nil {
		return b.t.Validate(b.want)
	}
	return nil
}

func (b *bound[A]) Ref() resource.Ref { return b.ref }

func (b *bound[A]) Namevar() string { return *b.t.Namevar(&b.want) }

func (b *bound[A]) Keys() []string {
	keys := []string{b.CanonicalName()}
	if spelled := b.Namevar(); spelled != keys[0] {
		keys = append(keys, spelled)
	}
	if b.t.Keys != nil {
		keys = append(keys, b.t.Keys(b.want)...)
	}
	return keys
}

func (b *bound[A]) Relations() []resource.Relation {
	var out []resource.Relation
	for _, a := range b.t.Auto {
		if names := a.Names(b.want); len(names) > 0 {
			out = append(out, resource.Relation{Relation: a.Relation, Kind: a.Kind, Names: names, Nearest: a.Nearest, SendDesired: a.SendDesired})
		}
	}
	return out
}

func (b *bound[A]) Choose(facts resource.Facts, h host.Reader, provider string) (err error) {
	b.facts = facts
	b.provider, err = choose(b.t, facts, h, provider)
	return err
}

func (b *bound[A]) chooseAs(other resource.Resource) bool {
	o, same := other.(*bound[A])
	if same {
		b.provider, b.facts = o.provider, o.facts
	}
	return same
}

func (b *bound[A]) Provider() string {
	if b.provider == nil {
		return ""
	}
	return b.provider.Name()
}

func (b *bound[A]) Traits() resource.Traits { return b.t.Traits }

func (b *bound[A]) Abilities() (can resource.Abilities) {
	_, batch := b.provider.(resource.BatchReader[A])
	_, audits := b.provider.(resource.Auditor[A])
	can.BatchRead = batch && (len(b.audited) == 0 || !audits)
	_, can.BatchWrite = b.provider.(resource.BatchWriter[A])
	_, can.Precheck = b.provider.(resource.Prechecker[A])
	_, can.PreRunCheck = b.provider.(resource.PreRunChecker[A])
	_, can.Identify = b.provider.(resource.Identifier[A])
	_, can.Refresh = b.provider.(resource.Refresher[A])
	_, can.Generate = b.provider.(resource.Generator[A])
	_, can.Resume = b.provider.(resource.Resumer[A])
	return can
}

func (b *bound[A]) Watched(h host.Reader) []string {
	w, ok := b.provider.(resource.Watcher[A])
	if !ok {
		return nil
	}
	return w.Watch(h, b.want)
}

func (b *bound[A]) Unsupported() error {
	lacks := func(f resource.Feature) bool { return f != "" && !slices.Contains(featuresOn(b.provider, b.facts), f) }
	var errs []error
	add := func(what string, f resource.Feature) {
		where, here := conditionalOf(b.provider)[f], ""
		if where != nil {
			here = " on this host (it has it only if " + where.String() + ")"
		}
		if limited, ok := b.provider.(resource.Limited); ok {
			here += ", because " + limited.Limit()
		}
		errs = append(errs, fmt.Errorf("provider %s lacks the feature %s, which %s needs%s; leave the attribute out or choose another provider",
			b.provider.Name(), f, what, here))
	}
	for _, p := range b.t.Properties {
		if !p.Managed(b.want) {
			continue
		}
		if lacks(p.Feature) {
			add(p.Name, p.Feature)
		}
		if p.ValueFeature != nil && lacks(p.ValueFeature(b.want)) {
			add(fmt.Sprintf("%s %q", p.Name, p.Show(b.want)), p.ValueFeature(b.want))
		}
	}
	for _, p := range b.used(lacking(b.t.Parameters, lacks)) {
		add(p.Name, p.Feature)
	}
	return errors.Join(errs...)
}

func lacking(all []resource.Parameter, lacks func(resource.Feature) bool) (without []resource.Parameter) {
	for _, p := range all {
		if lacks(p.Feature) {
			without = append(without, p)
		}
	}
	return without
}

// used returns the parameters that want sets, according to its JSON form. That is expensive, so it
// is only called for the few parameters that a provider does not support.
func (b *bound[A]) used(parameters []resource.Parameter) []resource.Parameter {
	if len(parameters) == 0 {
		return nil
	}
	set := encoded(b.want)
	if set == nil {
		return parameters
	}
	return slices.DeleteFunc(parameters, func(p resource.Parameter) bool { return set[p.Name] == nil })
}

func (b *bound[A]) Read(ctx context.Context, h resource.Reader) error {
	is, err := b.look(ctx, h)
	b.learnName(is)
	if err != nil {
		return err
	}
	b.setState(h, is)
	return nil
}

func (b *bound[A]) PrecheckRead(ctx context.Context, h resource.Reader) error {
	p, ok := b.provider.(resource.ReadPrechecker[A])
	if !ok {
		return nil
	}
	return p.PrecheckRead(ctx, h, b.is, b.want)
}

func (b *bound[A]) look(ctx context.Context, h resource.Reader) (A, error) {
	if auditor, ok := b.provider.(resource.Auditor[A]); ok && len(b.audited) > 0 {
		return auditor.ReadAudited(ctx, h, b.want, b.audited)
	}
	return b.provider.Read(ctx, h, b.want)
}

func (b *bound[A]) setState(h resource.Reader, is A) {
	b.read = nil
	if resource.IsTraced(h) {
		b.read = new(is)
	}
	b.is = is
	normalize(b.t, &b.is)
}

func (b *bound[A]) Forget() {
	var none A
	b.is, b.was, b.read, b.name = none, none, nil, nil
}

func (b *bound[A]) State() resource.Instance {
	i, err := instance(b.t, b.is, b.Provider())
	if err != nil { // attributes are plain data: they encode
		return resource.Instance{Namevar: b.Namevar(), Provider: b.Provider()}
	}
	i.Attributes = b.withoutSecrets(i.Attributes)
	return i
}

// withoutSecrets leaves out what must not be shown: attributes, and their values in others.
func (b *bound[A]) withoutSecrets(attributes json.RawMessage) json.RawMessage {
	hidden := slices.Clone(b.secrets)
	for _, p := range b.t.Properties {
		if b.hides(p, b.is) {
			hidden = append(hidden, p.Name)
		}
	}
	for _, p := range b.t.Parameters {
		if p.Sensitive {
			hidden = append(hidden, p.Name)
		}
	}
	return redact.Attributes(attributes, hidden)
}

func (b *bound[A]) Write(ctx context.Context, h resource.Writer, changes []resource.Change) error {
	b.was = b.is
	return b.provider.Write(ctx, h, b.is, b.want, changes)
}

func (b *bound[A]) Refresh(ctx context.Context, h resource.Writer) error {
	r, ok := b.provider.(resource.Refresher[A])
	if !ok {
		return resource.ErrNothingToRefresh
	}
	return r.Refresh(ctx, h, b.is, b.want)
}

func (b *bound[A]) PrecheckRefresh(ctx context.Context, h resource.Reader, changes []resource.Change) error {
	p, ok := b.provider.(resource.RefreshPrechecker[A])
	if !ok {
		return nil
	}
	return p.PrecheckRefresh(ctx, h, resource.Write[A]{Is: b.is, Want: b.want, Changes: changes})
}

func (b *bound[A]) Resume(ctx context.Context, h resource.Writer) (*resource.Ended, error) {
	r, ok := b.provider.(resource.Resumer[A])
	if !ok {
		return nil, nil
	}
	is, ended, err := r.Resume(ctx, h, b.want)
	if ended != nil && err == nil {
		b.setState(h, is)
	}
	return ended, err
}

func (b *bound[A]) Generate(ctx context.Context, h resource.Reader, c resource.Catalog) iter.Seq2[resource.Resource, error] {
	g, ok := b.provider.(resource.Generator[A])
	if !ok {
		return func(func(resource.Resource, error) bool) {}
	}
	return g.Generate(ctx, h, b.want, c)
}

// New binds attributes that a program made, as [Kind.Bind] binds those that a user wrote.
func New[A any](t *resource.Type[A], ref resource.Ref, want A) (resource.Resource, error) {
	return (&bound[A]{t: t, ref: ref, want: want}).bind(nil)
}

func checkOneOf[A any](o resource.OneOf[A], want *A) error {
	if v := o.Value(want); v != nil && !slices.Contains(o.Words, *v) {
		last := len(o.Words) - 1
		return fmt.Errorf("%s %q is not known: use %s or %s", o.Attribute, *v, strings.Join(o.Words[:last], ", "), o.Words[last])
	}
	return nil
}

func exists[A any](t *resource.Type[A], is A) bool { return t.Exists == nil || t.Exists(is) }

func normalize[A any](t *resource.Type[A], a *A) {
	if t.Normalize != nil {
		t.Normalize(a)
	}
}
