package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// A thing is the attributes of the types that these tests run: it is there or not,
// and has a color and a size.
type thing struct {
	Name   string   `json:"name,omitempty"`
	Ensure *string  `json:"ensure,omitempty"`
	Color  *string  `json:"color,omitempty"`
	Size   *int     `json:"size,omitempty"`
	Secret *string  `json:"secret,omitempty"`
	Near   []string `json:"near,omitempty"` // things that it comes after, if there are any

	canonical string // the name that a provider has told
}

// A machine has things, remembers what was done to them and can be told to fail.
type machine struct {
	things map[string]thing
	log    []string
	// fail has the errors by operation: "write x", "read x", "refresh x", "color x", "list truck".
	fail map[string]error
	// forgets are things whose writes do not take effect.
	forgets map[string]bool
	// suits has the reasons why providers can't work; those without a reason can.
	suits  map[string]error
	asked  map[string]int // how often a provider was asked whether it can work
	listed int            // how often everything was read at once
	short  int            // how many results of each batch are missing
	// notes are the notes about things that are written in a batch.
	notes map[string]string
	// nested are the things that a nest generates.
	nested map[string][]string
	// remarks is the note of a nest while it generates, and others are the things of its inventory.
	remarks  string
	others   []string
	withheld []resource.Withheld // as the inventory of a nest has them
	// idle are things without anything to refresh.
	idle map[string]bool
	// onWrite is called with the name of a thing during its write, or after a batch.
	onWrite func(name string)
}

func newMachine() *machine {
	return &machine{
		things: map[string]thing{}, fail: map[string]error{}, forgets: map[string]bool{},
		suits: map[string]error{}, asked: map[string]int{}, idle: map[string]bool{}, onWrite: func(string) {},
	}
}

func (m *machine) did(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

// plain reads and writes one thing at a time.
type plain struct {
	m    *machine
	name string
}

func (p plain) Name() string { return p.name }

func (p plain) Suits(resource.Facts, host.Reader) error {
	p.m.asked[p.name]++
	return raised(p.m.suits[p.name])
}

// raised panics with an error that must be raised as a panic.
func raised(err error) error {
	if errors.Is(err, errBug) {
		panic(err)
	}
	return err
}

func (p plain) Features() []resource.Feature { return []resource.Feature{"paintable"} }

// Read fails like a tool that is killed when its context ends.
func (p plain) Read(ctx context.Context, h resource.Reader, want thing) (thing, error) {
	if _, writable := h.(host.Host); writable {
		return thing{}, errors.New("a reader was given a host that it can change")
	}
	if err := raised(p.m.fail["read "+want.Name]); err != nil {
		return thing{}, err
	}
	return p.m.state(want), ctx.Err()
}

func (m *machine) state(want thing) thing {
	is, ok := m.things[want.Name]
	if !ok {
		is = thing{Name: want.Name, Ensure: new(resource.Absent)}
	}
	return is
}

// Write fails in the same way and then changes nothing.
func (p plain) Write(ctx context.Context, _ resource.Writer, is, want thing, changes []resource.Change) error {
	var names []string
	for _, c := range changes {
		names = append(names, c.Property)
	}
	p.m.did("write %s (%s)", want.Name, strings.Join(names, " "))
	p.m.onWrite(want.Name)
	if err := cmp.Or(raised(p.m.fail["write "+want.Name]), ctx.Err()); err != nil {
		return err
	}
	return p.m.set(is, want, names)
}

func (m *machine) set(is, want thing, names []string) error {
	if m.forgets[want.Name] {
		return nil
	}
	var errs []error
	for _, n := range names {
		if err := m.fail[n+" "+want.Name]; err != nil {
			errs = append(errs, &resource.PropertyError{Property: n, Err: err})
			continue
		}
		is = want.over(is, n)
	}
	m.things[want.Name] = is
	if is.Ensure != nil && *is.Ensure == resource.Absent {
		delete(m.things, want.Name)
	}
	return errors.Join(errs...)
}

// over is a state with one property of want.
func (t thing) over(is thing, property string) thing {
	switch property {
	case resource.Ensure:
		return t
	case "color":
		is.Color = t.Color
	case "size":
		is.Size = t.Size
	case "secret":
		is.Secret = t.Secret
	}
	return is
}

func (p plain) Refresh(_ context.Context, _ resource.Writer, _, want thing) error {
	if p.m.idle[want.Name] {
		return resource.ErrNothingToRefresh
	}
	p.m.did("refresh %s", want.Name)
	return raised(p.m.fail["refresh "+want.Name])
}

// batching reads and writes in batches.
type batching struct{ plain }

func (p batching) ReadAll(_ context.Context, _ resource.Reader, wants []thing) []resource.Result[thing] {
	p.m.listed++
	if err := raised(p.m.fail["list "+p.name]); err != nil {
		return resource.Unreadable[thing](len(wants), err)
	}
	out := make([]resource.Result[thing], len(wants))
	for i, want := range wants {
		out[i] = resource.Result[thing]{State: p.m.state(want), Err: p.m.fail["read "+want.Name]}
	}
	return out[min(p.m.short, len(out)):]
}

// Precheck returns the error that the write would return.
func (p batching) Precheck(_ context.Context, _ resource.Reader, writes []resource.Write[thing]) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		w.AddNote(p.m.notes[w.Want.Name])
		errs[i] = p.m.fail["precheck "+w.Want.Name]
	}
	return errs[min(p.m.short, len(errs)):]
}

// PrecheckRead says that an apply may read another state.
func (p batching) PrecheckRead(_ context.Context, _ resource.Reader, _, want thing) error {
	return raised(p.m.fail["precheck read of "+want.Name])
}

// PrecheckRefresh returns the error that the refresh would return.
func (p batching) PrecheckRefresh(_ context.Context, h resource.Reader, w resource.Write[thing]) error {
	if p.m.idle[w.Want.Name] {
		return &resource.ProvisionalError{Err: resource.ErrNothingToRefresh}
	}
	if resource.PlannedNames(h, "Thing")["blocks "+w.Want.Name] {
		return resource.ErrNothingToRefresh
	}
	return raised(p.m.fail["refresh "+w.Want.Name])
}

func (p batching) WriteAll(_ context.Context, _ resource.Writer, writes []resource.Write[thing]) []error {
	var names []string
	errs := make([]error, len(writes))
	for i, w := range writes {
		names = append(names, w.Want.Name)
		w.AddNote(p.m.notes[w.Want.Name])
		if errs[i] = p.m.fail["write "+w.Want.Name]; errs[i] == nil {
			errs[i] = p.m.set(w.Is, w.Want, []string{resource.Ensure})
		}
	}
	p.m.did("write together %s", strings.Join(names, " "))
	for _, n := range names {
		p.m.onWrite(n)
	}
	return errs[min(p.m.short, len(errs)):]
}

// nesting brings along the things that its machine says are in it, unless the catalog
// has them itself.
type nesting struct{ plain }

func (p nesting) Generate(_ context.Context, h resource.Reader, want thing, inventory resource.Inventory) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		h.Note(p.m.remarks)
		p.m.others = slices.Sorted(inventory.Names("Thing"))
		p.m.withheld = slices.Collect(inventory.Withheld("Thing"))
		typ := p.m.typ("Thing", []resource.Provider[thing]{plain{p.m, "hand"}})
		for _, name := range p.m.nested[want.Name] {
			if inventory.Has("Thing", name) {
				continue
			}
			child, err := bound.New(typ, resource.Ref{Kind: "Thing", Name: name}, thing{Name: name, Ensure: new("present"), Color: new("red")})
			if extra, removes := strings.CutPrefix(name, "no "); removes {
				child, err = bound.New(typ, resource.Ref{Kind: "Thing", Name: extra}, thing{Name: extra, Ensure: new("absent")})
			}
			if !yield(child, err) {
				return
			}
		}
		if err := raised(p.m.fail["generate "+want.Name]); err != nil {
			yield(nil, err)
		}
	}
}

// kinds are Thing, one at a time, Crate, all at once and with side effects, Barrel, by a
// provider of the same name, and Nest, which brings things along.
func (m *machine) kinds() map[string]resource.Kind {
	thingType := m.typ("Thing", []resource.Provider[thing]{plain{m, "hand"}, plain{m, "tool"}})
	crate := m.typ("Crate", []resource.Provider[thing]{batching{plain{m, "truck"}}})
	crate.SideEffects = true
	nest := m.typ("Nest", []resource.Provider[thing]{nesting{plain{m, "bird"}}})
	barrel := m.typ("Barrel", crate.Providers)
	return map[string]resource.Kind{"Thing": bound.Kind(thingType), "Crate": bound.Kind(crate), "Barrel": bound.Kind(barrel), "Nest": bound.Kind(nest)}
}

func (m *machine) typ(name string, providers []resource.Provider[thing]) *resource.Type[thing] {
	secret := resource.Field("secret", "s", func(t *thing) *string { return t.Secret })
	secret.Sensitive = func(thing) bool { return true }
	size := resource.Field("size", "s", func(t *thing) *int { return t.Size })
	size.Feature = "sizable"
	ensure := resource.Field(resource.Ensure, "e", func(t *thing) *string { return t.Ensure })
	ensure.InvalidatesRefresh = func(t thing) bool { return *t.Ensure == "running" }
	return &resource.Type[thing]{
		Name: name, Doc: "d", Example: "e", NamevarName: "name",
		Namevar:    func(t *thing) *string { return &t.Name },
		Features:   []resource.FeatureDoc{{Name: "paintable"}, {Name: "sizable"}},
		Properties: []resource.Property[thing]{ensure, resource.Field("color", "c", func(t *thing) *string { return t.Color }), size, secret},
		Parameters: []resource.Parameter{{Name: "near", Doc: "n"}},
		Providers:  providers,
		Exists:     func(t thing) bool { return t.Ensure == nil || *t.Ensure != resource.Absent },
		Deletion: &resource.Deletion[thing]{Delete: func(want thing) thing {
			return thing{Name: want.Name, Ensure: new(resource.Absent)}
		}},
		Auto: []resource.AutoRelation[thing]{
			{Relation: resource.Require, Kind: "Thing", Names: func(t thing) []string { return t.Near }},
			{Relation: resource.Require, Kind: "Crate", Names: func(t thing) []string { return t.Near }},
		},
	}
}

// item makes an item of a kind: ref, attributes as JSON, then edges as "require:Kind/name", or
// "noop".
func (m *machine) item(t *testing.T, ref, attributes string, edges ...string) resource.Item {
	t.Helper()
	return m.itemOf(t, nil, ref, attributes, edges...)
}

// itemOf is item for more kinds than a machine has.
func (m *machine) itemOf(t *testing.T, more map[string]resource.Kind, ref, attributes string, edges ...string) resource.Item {
	t.Helper()
	kinds := m.kinds()
	maps.Copy(kinds, more)
	r, err := resource.ParseRef(ref)
	if err != nil {
		t.Fatal(err)
	}
	item := resource.Item{Ref: r}
	item.Resource, item.Invalid = kinds[r.Kind].Bind(r, json.RawMessage(attributes))
	for _, e := range edges {
		if e == "noop" {
			item.Noop = new(true)
			continue
		}
		word, to, _ := strings.Cut(e, ":")
		other, err := resource.ParseRef(to)
		if err != nil {
			t.Fatal(err)
		}
		list := map[string]*[]resource.Ref{"require": &item.Require, "before": &item.Before, "notify": &item.Notify, "subscribe": &item.Subscribe}[word]
		*list = append(*list, other)
	}
	return item
}

// invalid returns an item that could not be bound to its type.
func invalid(ref string) resource.Item {
	kind, name, _ := strings.Cut(ref, "/")
	return resource.Item{Ref: resource.Ref{Kind: kind, Name: name}, Invalid: errBroken}
}

// memory is a Store that tests can inspect.
type memory struct {
	observed map[resource.Ref]map[string]string
	complete map[resource.Ref]string
	audited  map[resource.Ref]map[string]string
	checked  map[resource.Ref]time.Time
	armed    map[resource.Ref]int
	claims   map[resource.Ref]claim.Claim
	full     error // nothing can be claimed
	commits  int
	synced   int // how often something had to be on disk at once
}

func newMemory() *memory {
	return &memory{
		observed: map[resource.Ref]map[string]string{}, complete: map[resource.Ref]string{}, audited: map[resource.Ref]map[string]string{},
		checked: map[resource.Ref]time.Time{}, armed: map[resource.Ref]int{}, claims: map[resource.Ref]claim.Claim{},
	}
}

func (m *memory) Claims() map[resource.Ref]claim.Claim { return m.claims }
func (m *memory) SetClaim(c claim.Claim)               { m.claims[c.Key()] = c }
func (m *memory) DropClaim(key resource.Ref)           { delete(m.claims, key) }

func (m *memory) Claim(claims []claim.Claim) error {
	m.synced++
	for _, c := range claims {
		m.claims[c.Key()] = c
	}
	return m.full
}

func (m *memory) Completed(r resource.Ref) string                { return m.complete[r] }
func (m *memory) SetCompleted(r resource.Ref, digest string)     { m.complete[r] = digest }
func (m *memory) Audited(r resource.Ref) map[string]string       { return m.audited[r] }
func (m *memory) SetAudited(r resource.Ref, v map[string]string) { m.audited[r] = maps.Clone(v) }
func (m *memory) Key() []byte                                    { return []byte("key") }
func (m *memory) Checked(r resource.Ref) time.Time               { return m.checked[r] }
func (m *memory) SetChecked(r resource.Ref, at time.Time)        { m.checked[r] = at }

func (m *memory) Observed(r resource.Ref) map[string]string       { return m.observed[r] }
func (m *memory) SetObserved(r resource.Ref, v map[string]string) { m.observed[r] = maps.Clone(v) }
func (m *memory) Armed() map[resource.Ref]int                     { return m.armed }
func (m *memory) Commit() error                                   { m.commits++; return nil }

func (m *memory) Arm(refs []resource.Ref) error {
	m.synced++
	for _, r := range refs {
		m.armed[r] = 1
	}
	return nil
}

func (m *memory) Disarm(refs []resource.Ref) error {
	m.synced++
	for _, r := range refs {
		delete(m.armed, r)
	}
	return nil
}

func (m *memory) Retain(keep func(resource.Ref) bool) {
	maps.DeleteFunc(m.observed, func(thing resource.Ref, _ map[string]string) bool { return !keep(thing) })
}

// transact runs items with a fixed clock, on an empty host.
func transact(t *testing.T, items []resource.Item, with ...func(*engine.Transaction)) report.Report {
	t.Helper()
	tx := engine.Transaction{Now: stoodStill, Host: struct{ host.Host }{}}
	for _, f := range with {
		f(&tx)
	}
	result, err := tx.Run(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func noop(tx *engine.Transaction) { tx.Noop = true }

func storing(s engine.Store) func(*engine.Transaction) {
	return func(tx *engine.Transaction) { tx.Store = s }
}

// lines returns a report as text: the state of each resource, then its lines for people.
func lines(r report.Report) []string {
	var out []string
	for _, res := range r.Resources {
		out = append(out, fmt.Sprintf("%s %s", res.Ref, res.State))
		for _, l := range res.Lines() {
			out = append(out, "  "+strings.TrimPrefix(l, res.Ref.String()+": "))
		}
	}
	return out
}

func stoodStill() time.Time { return time.Unix(0, 0).UTC() }

// redThing returns an existing red thing.
func redThing(name string) thing { return thing{Name: name, Ensure: new("present"), Color: new("red")} }
