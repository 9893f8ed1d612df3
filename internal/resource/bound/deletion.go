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

func (k kind[A]) BindDeletion(ref resource.Ref, attributes json.RawMessage) (resource.Resource, error) {
	if k.t.Deletion == nil {
		return nil, fmt.Errorf("things of kind %s can't be removed", k.t.Name)
	}
	var want A
	d := json.NewDecoder(bytes.NewReader(attributes))
	d.DisallowUnknownFields() // an unknown field may identify the object
	if err := d.Decode(&want); err != nil {
		return nil, err
	}
	if k.t.Deletion.Bound != nil {
		k.t.Deletion.Bound(&want)
	}
	return New(k.t, ref, want)
}

func (d *desired[A]) DeleteAttributes() (json.RawMessage, error) {
	if d.t.Deletion == nil {
		return nil, fmt.Errorf("things of kind %s can't be removed: use deletionPolicy Orphan", d.t.Name)
	}
	return json.Marshal(d.t.Deletion.Delete(d.want))
}

func (b *bound[A]) RestoreAttributes(ctx context.Context, h resource.Writer, changes []resource.Change) (map[string]json.RawMessage, error) {
	if b.t.Deletion == nil || len(changes) == 0 {
		return nil, nil
	}
	if b.t.Deletion.Restore == nil {
		return b.replaced(h, changes)
	}
	restore, err := b.t.Deletion.Restore(ctx, h, b.state.is, b.want, changes)
	if err != nil {
		return nil, err
	}
	all := encoded(restore)
	delete(all, b.t.NamevarName)
	return all, nil
}

// replaced returns the changed properties as they were read or, if the object is created or deleted,
// all of them. Properties without a value are omitted, except for lists, which were empty.
func (b *bound[A]) replaced(h host.Reader, changes []resource.Change) (map[string]json.RawMessage, error) {
	original, err := b.state.is, error(nil)
	if b.t.Deletion.Original != nil {
		original, err = b.t.Deletion.Original(h, original, changes)
	}
	is, want, restore := encoded(original), encoded(b.want), map[string]json.RawMessage{}
	if !exists(b.t, original) {
		return map[string]json.RawMessage{resource.Ensure: orElse(is[resource.Ensure], `"`+resource.Absent+`"`)}, err
	}
	for _, p := range b.t.Properties {
		about := func(c resource.Change) bool { return c.Property == p.Name || c.Removes() || b.t.Deletion.Whole }
		if b.hides(p, original) || !slices.ContainsFunc(changes, about) {
			continue
		}
		if is[p.Name] != nil {
			restore[p.Name] = is[p.Name]
		} else if bytes.HasPrefix(want[p.Name], []byte("[")) {
			restore[p.Name] = json.RawMessage("[]")
		}
	}
	return restore, err
}

func orElse(value json.RawMessage, otherwise string) json.RawMessage {
	if value == nil {
		return json.RawMessage(otherwise)
	}
	return value
}
