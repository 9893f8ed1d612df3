package bound

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Leaves implements [resource.Kind].
func (k kind[A]) Leaves() bool { return k.t.Leaving != nil }

func (k kind[A]) Leave(ref resource.Ref, attributes json.RawMessage) (resource.Resource, error) {
	if k.t.Leaving == nil {
		return nil, fmt.Errorf("things of kind %s can't be removed", k.t.Name)
	}
	var want A
	d := json.NewDecoder(bytes.NewReader(attributes))
	d.DisallowUnknownFields() // an unknown field may identify the thing
	if err := d.Decode(&want); err != nil {
		return nil, err
	}
	if k.t.Leaving.Bound != nil {
		k.t.Leaving.Bound(&want)
	}
	return New(k.t, ref, want)
}

func (b *bound[A]) Gone() (json.RawMessage, error) {
	if b.t.Leaving == nil {
		return nil, fmt.Errorf("things of kind %s can't be removed: use deletionPolicy Orphan", b.t.Name)
	}
	return json.Marshal(b.t.Leaving.Gone(b.want))
}

func (b *bound[A]) Former(ctx context.Context, h resource.Writer, changes []resource.Change) (map[string]json.RawMessage, error) {
	if b.t.Leaving == nil || len(changes) == 0 {
		return nil, nil
	}
	if b.t.Leaving.Former == nil {
		return b.replaced(h, changes)
	}
	former, err := b.t.Leaving.Former(ctx, h, b.is, b.want, changes)
	if err != nil {
		return nil, err
	}
	all := encoded(former)
	delete(all, b.t.NamevarName)
	return all, nil
}

// replaced returns the changed properties as they were read or, if the thing is created or removed,
// all of them. Properties without a value are omitted, except for lists, which were empty.
func (b *bound[A]) replaced(h host.Reader, changes []resource.Change) (map[string]json.RawMessage, error) {
	state, err := b.is, error(nil)
	if b.t.Leaving.Was != nil {
		state, err = b.t.Leaving.Was(h, state, changes)
	}
	is, want, former := encoded(state), encoded(b.want), map[string]json.RawMessage{}
	if !exists(b.t, state) {
		return map[string]json.RawMessage{resource.Ensure: orElse(is[resource.Ensure], `"`+resource.Absent+`"`)}, err
	}
	for _, p := range b.t.Properties {
		about := func(c resource.Change) bool { return c.Property == p.Name || c.Removes() || b.t.Leaving.Whole }
		if b.hides(p, state) || !slices.ContainsFunc(changes, about) {
			continue
		}
		if is[p.Name] != nil {
			former[p.Name] = is[p.Name]
		} else if bytes.HasPrefix(want[p.Name], []byte("[")) {
			former[p.Name] = json.RawMessage("[]")
		}
	}
	return former, err
}

func orElse(value json.RawMessage, otherwise string) json.RawMessage {
	if value == nil {
		return json.RawMessage(otherwise)
	}
	return value
}
