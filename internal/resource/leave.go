package resource

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Deletion is what becomes of a thing on a host once no resource is about it any more.
type Deletion string

// The deletions. Each but Orphan is noted in a [Claim].
const (
	Orphan  Deletion = ""        // it stays as it is
	Delete  Deletion = "Delete"  // it is removed
	Restore Deletion = "Restore" // what was changed by intention becomes what it was
)

// Leaving says how the things of a type go away.
type Leaving[A any] struct {
	// Gone is what has the thing of a resource removed: what names it, how it goes away and
	// that it is not to be there. It must hold no secret.
	Gone func(want A) A
	// Whole says that a property says nothing without the others: all are kept when one is.
	Whole bool
	// Was is the state to come back to before changes, where that is another than the one
	// that was read. Optional.
	Was func(h host.Reader, is A, changes []Change) (A, error)
	// Former is what changes that are about to be made replace, in attributes that bring it
	// back; content that is kept for that goes into the bucket. Optional: the changed
	// properties as they were read or, where the thing is made or removed, all of them.
	Former func(ctx context.Context, h Writer, is, want A, changes []Change) (A, error)
	// Bound is given what leaves as it is bound, to mark it as such. Optional.
	Bound func(want *A)
}

// A Claim is what a host is to do once no resource is about a thing any more. It holds no
// secret.
type Claim struct {
	Kind    string `json:"kind"`
	Namevar string `json:"namevar"`
	// Charter identifies who had the thing managed: nobody else's silence means that it is
	// to go.
	Charter string `json:"charter"`
	// Ref is the resource that was last about the thing, and After are those, with claims of
	// their own, that it came after.
	Ref   Ref   `json:"ref"`
	After []Ref `json:"after,omitempty"`

	Deletion Deletion `json:"deletion"`
	// Schedule is that of the resource. Its times of day and days hold for the end as well; its
	// period says how often to look, and no more.
	Schedule *Schedule `json:"schedule,omitempty"`
	Provider string    `json:"provider"`
	// Gone are the attributes that have it removed, and Former those, by name, that bring
	// back what was changed.
	Gone   json.RawMessage            `json:"gone"`
	Former map[string]json.RawMessage `json:"former,omitempty"`
}

// Key finds the claim on a thing: its kind and namevar.
func (c Claim) Key() Ref { return Ref{c.Kind, c.Namevar} }

// Idle reports whether there is nothing to do: it is to stay, or what was to be restored was
// never changed.
func (c Claim) Idle() bool {
	return c.Deletion == Orphan || c.Deletion == Restore && len(c.Former) == 0
}

// Recall adds what further changes replace. What is known stays: it was there before.
func (c *Claim) Recall(former map[string]json.RawMessage) {
	if len(former) == 0 || c.made() {
		return
	}
	all := maps.Clone(former)
	maps.Copy(all, c.Former)
	c.Former = all
}

// made reports whether there was nothing before.
func (c Claim) made() bool {
	var ensure string
	return json.Unmarshal(c.Former[Ensure], &ensure) == nil && isAbsence(ensure)
}

// attributes are those that do what the claim says.
func (c Claim) attributes() (json.RawMessage, error) {
	if c.Deletion != Restore {
		return c.Gone, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(c.Gone, &all); err != nil {
		return nil, err
	}
	delete(all, Ensure)
	maps.Copy(all, c.Former)
	return json.Marshal(all)
}

// Leaves says that things of the kind can be removed.
func (k kind[A]) Leaves() bool { return k.t.Leaving != nil }

func (k kind[A]) Leave(ref Ref, c Claim) (Resource, error) {
	if k.t.Leaving == nil {
		return nil, fmt.Errorf("things of kind %s can't be removed", k.t.Name)
	}
	attributes, err := c.attributes()
	if err != nil {
		return nil, fmt.Errorf("cannot read the claim on %s %q: %w", c.Kind, c.Namevar, err)
	}
	var want A
	d := json.NewDecoder(bytes.NewReader(attributes))
	d.DisallowUnknownFields() // what is not understood may say where the thing is
	if err := d.Decode(&want); err != nil {
		return nil, fmt.Errorf("cannot read the claim on %s %q: %w", c.Kind, c.Namevar, err)
	}
	if k.t.Leaving.Bound != nil {
		k.t.Leaving.Bound(&want)
	}
	return k.t.Of(ref, want)
}

func (b *bound[A]) Gone() (json.RawMessage, error) {
	if b.t.Leaving == nil {
		return nil, fmt.Errorf("things of kind %s can't be removed: use deletionPolicy Orphan", b.t.Name)
	}
	return json.Marshal(b.t.Leaving.Gone(b.want))
}

func (b *bound[A]) Former(ctx context.Context, h Writer, changes []Change) (map[string]json.RawMessage, error) {
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

// replaced are the properties that changes concern, as they were read; all of them, where
// the thing comes or goes. What had no value is left out, but for lists, which were empty.
func (b *bound[A]) replaced(h host.Reader, changes []Change) (map[string]json.RawMessage, error) {
	state, err := b.is, error(nil)
	if b.t.Leaving.Was != nil {
		state, err = b.t.Leaving.Was(h, state, changes)
	}
	is, want, former := encoded(state), encoded(b.want), map[string]json.RawMessage{}
	if !b.t.exists(state) {
		return map[string]json.RawMessage{Ensure: orElse(is[Ensure], `"`+Absent+`"`)}, err
	}
	for _, p := range b.t.Properties {
		about := func(c Change) bool { return c.Property == p.Name || c.Removes() || b.t.Leaving.Whole }
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
