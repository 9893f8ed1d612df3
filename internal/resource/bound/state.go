package bound

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// state is what was read of an object.
type state[A any] struct {
	is      A       // normalized
	read    *A      // is before normalization; nil unless the read was traced
	written *A      // is before the last Write; nil before the first
	name    *string // the canonical name that a provider has told, even if it could not read the rest; nil if none has
}

// set sets the state that a provider has read.
func (s *state[A]) set(t *resource.Type[A], h resource.Reader, is A) {
	s.read = nil
	if resource.IsTraced(h) {
		s.read = new(is)
	}
	s.is = is
	normalize(t, &s.is)
}

// before returns the state before the last Write; the zero state before the first.
func (s *state[A]) before() (is A) {
	if s.written != nil {
		is = *s.written
	}
	return is
}

// record records the result of reading: the state, unless there is an error, and in any case the name.
func (b *bound[A]) record(h resource.Reader, r resource.Result[A]) error {
	if b.t.CanonicalName != nil {
		if name, known := b.t.CanonicalName(b.want, r.State); known {
			b.state.name = &name
		}
	}
	if r.Err == nil {
		b.state.set(b.t, h, r.State)
	}
	return r.Err
}

func (b *bound[A]) Read(ctx context.Context, h resource.Reader) error {
	is, err := b.read(ctx, h)
	return b.record(h, resource.Result[A]{State: is, Err: err})
}

func (b *bound[A]) read(ctx context.Context, h resource.Reader) (A, error) {
	if auditor, ok := b.provider().(resource.Auditor[A]); ok && len(b.audited) > 0 {
		return auditor.ReadAudited(ctx, h, b.want, b.audited)
	}
	return b.provider().Read(ctx, h, b.want)
}

func (b *bound[A]) Forget() { b.state = state[A]{} }

func (b *bound[A]) PrecheckRead(ctx context.Context, h resource.Reader) error {
	p, ok := b.provider().(resource.ReadPrechecker[A])
	if !ok {
		return nil
	}
	return p.PrecheckRead(ctx, h, b.state.is, b.want)
}

func (b *bound[A]) State() resource.Instance {
	i, err := instance(b.t, b.state.is, b.chosen.Name())
	if err != nil { // attributes are plain data: they encode
		return resource.Instance{Namevar: b.Namevar(), Provider: b.chosen.Name()}
	}
	i.Attributes = b.withoutSecrets(i.Attributes)
	return i
}

// withoutSecrets leaves out what must not be shown: attributes, and their values in others.
func (b *bound[A]) withoutSecrets(attributes json.RawMessage) json.RawMessage {
	hidden := slices.Clone(b.secrets)
	for _, p := range b.t.Properties {
		if b.hides(p, b.state.is) {
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
