package resource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A Type describes one kind of resource. A is its attributes: what a user writes,
// what a provider reads back, and so what the two are compared in. It must encode to
// and from JSON, and copying it must not share what Normalize changes in place.
type Type[A any] struct {
	Name       string // the API kind: SystemService
	Doc        string // Markdown; its first line is a summary
	Example    string // YAML of one or more resources that can be applied
	Features   []FeatureDoc
	Properties []Property[A] // compared, fixed and reported in this order; ensure first
	Parameters []Parameter
	Providers  []Provider[A] // in order of preference

	// From copies the attributes out of what the API has decoded, where A is more than
	// that. Optional: encoding and decoding serve as well, only slower.
	From func(api any) (A, bool)

	// Secrets set attributes, by name, to values that a manifest only refers to. From then
	// on nobody is to see such a value, and it need not be UTF-8. Optional.
	Secrets map[string]func(want *A, value string)
	// SecretEntries are to Secrets what a list is to a value: they add the entry of a list,
	// whose name follows the attribute's and a dot, as in environment.TOKEN. Optional.
	SecretEntries map[string]func(want *A, name, value string)
	// RecordSecrets records on the host what it takes to recognize the secrets of wants
	// later, when no resource says any more that they are. A run that may write calls it
	// once before it reads anything, with all resources that have a secret. Optional.
	RecordSecrets func(ctx context.Context, h Writer, wants []A) error

	// NamevarName is the namevar's attribute name, or MetadataName, and Namevar its
	// field. An empty field takes the resource's name.
	NamevarName string
	Namevar     func(*A) *string
	// Keys are further names by which autorelations find the resource, such as a
	// group's number. Optional.
	Keys func(A) []string
	// Exists reports whether a state that was read says the resource is there.
	// nil: every state does.
	Exists func(is A) bool
	// Normalize brings equal values to one form (munge). Idempotent; run on want
	// and on is. Optional.
	Normalize func(*A)
	// Default fills in what a manifest may leave out, after it was decoded and
	// before Normalize. Never run on a state that was read. Optional.
	Default func(*A)
	// OneOf are the attributes whose values are words of a list. Any other word fails the
	// resource, however it got past the CRD: no provider may take it for a default. Optional.
	OneOf []OneOf[A]
	// Validate says what the CRD's schema cannot. Its errors name the attribute,
	// the value and the way out. Optional.
	Validate func(A) error
	Auto     []AutoRelation[A]
	// Leaving says how things go away once no resource is about them. nil: they can't.
	Leaving *Leaving[A]
	// SideEffects says that a write may change what other resources read: a
	// package brings users and services. Prefetched states are then read again.
	SideEffects bool
	// ReadAhead says that a read is no more than a look at the host, which stays true until
	// something is written there: many may be read at once, before their turn.
	ReadAhead bool
	// BatchLimit is how many resources a [BatchWriter] gets at once, and only such as come
	// one after the other in the run, also if they were written one by one. 0 gives it all
	// that are ready, also past others: for a tool that does better the more it gets.
	BatchLimit int
	// SelfRefresh says that a change of the resource also refreshes it, as what notifies
	// it does, unless the change removes it: a file system is mounted anew.
	SelfRefresh bool
	// PreRunCheck says what keeps a whole run from taking place, before it changed
	// anything: an error fails the resource and skips all others. It is asked on the
	// host as it is then, of every run, noop or not. Optional.
	PreRunCheck func(ctx context.Context, h Reader, want A) error
	// Acts says that a write is an act, of which the host shows no trace: a command
	// that is run. Nothing is read again to verify it and nothing of it is remembered,
	// so it is never corrective.
	Acts bool
}

// A OneOf is an attribute that has one of some words as its value, or none.
type OneOf[A any] struct {
	Attribute string
	Value     func(*A) *string // nil where it is unmanaged
	Words     []string         // two or more
}

func (o OneOf[A]) check(want *A) error {
	if v := o.Value(want); v != nil && !slices.Contains(o.Words, *v) {
		last := len(o.Words) - 1
		return fmt.Errorf("%s %q is not known: use %s or %s", o.Attribute, *v, strings.Join(o.Words[:last], ", "), o.Words[last])
	}
	return nil
}

// MetadataName is the NamevarName of a type without an attribute for it: nothing on the
// host has a name, and resources are told apart by their own.
const MetadataName = "metadata.name"

// A RelationKind is how an automatic relation orders two resources.
type RelationKind string

// The kinds of relations: the other one comes first (Require, Subscribe) or later
// (Before, Notify); Subscribe and Notify also carry refreshes.
const (
	Require   RelationKind = "require"
	Before    RelationKind = "before"
	Notify    RelationKind = "notify"
	Subscribe RelationKind = "subscribe"
)

// An AutoRelation relates a resource to others that happen to be in the catalog. It
// never overrides an edge that a user wrote, nor makes a cycle of two.
type AutoRelation[A any] struct {
	Relation RelationKind
	Kind     string // of the others
	// Names are the namevars (or Keys) of the others.
	Names func(want A) []string
	// Nearest takes only the first name that the catalog has, as a file requires
	// the nearest managed directory above it.
	Nearest bool
}

// Problems is what is wrong with the type's own definition, nil if nothing: a
// check for tests and for start-up.
func (t *Type[A]) Problems() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("type %s: "+format, append([]any{t.Name}, args...)...))
		}
	}
	add(t.Doc == "" || t.Example == "", "doc or example is missing")
	add(len(t.Providers) == 0, "has no provider")
	add(t.Namevar == nil || t.NamevarName == "", "has no namevar")
	t.checkAttributes(add)
	for _, p := range t.Providers {
		for _, f := range featuresOf(p) {
			add(!t.declares(f), "provider %s has the undeclared feature %q", p.Name(), f)
		}
		for f, where := range conditionalOf(p) {
			add(!t.declares(f), "provider %s has the undeclared feature %q", p.Name(), f)
			err := where.problem()
			add(err != nil, "provider %s, feature %s: %v", p.Name(), f, err)
		}
		err := errors.Join(needsOf(p).Facts.problem(), defaultsOf(p).problem())
		add(err != nil, "provider %s: %v", p.Name(), err)
	}
	t.checkDefaults(add)
	t.checkMethods(add)
	return errors.Join(errs...)
}

// checkMethods finds methods that are named like those of an optional interface but have another
// signature, so that they would never be called.
func (t *Type[A]) checkMethods(add func(bad bool, format string, args ...any)) {
	for _, p := range t.Providers {
		methods := reflect.TypeOf(p)
		for name, implements := range optionalMethods[A](p) {
			_, has := methods.MethodByName(name)
			add(has && !implements, "method %s of provider %s has not the signature of the optional interface: correct or rename it", name, p.Name())
		}
	}
}

func optionalMethods[A any](p Provider[A]) map[string]bool {
	return map[string]bool{
		"Defaults": implements[Defaulter](p), "Features": implements[Featured](p), "FeaturesWhere": implements[Conditional](p),
		"Generate": implements[Generator[A]](p), "Identify": implements[Identifier[A]](p), "List": implements[Lister[A]](p),
		"Needs": implements[Needing](p), "Precheck": implements[Prechecker[A]](p), "ReadAll": implements[BatchReader[A]](p),
		"ReadAudited": implements[Auditor[A]](p), "Refresh": implements[Refresher[A]](p), "Source": implements[Sourced](p),
		"Watch": implements[Watcher[A]](p), "WriteAll": implements[BatchWriter[A]](p),
	}
}

func implements[I any](p any) bool {
	_, ok := p.(I)
	return ok
}

// checkDefaults finds providers that are the default of the same hosts, such as one that
// embeds another and inherits its defaults: the second of them would never be used.
func (t *Type[A]) checkDefaults(add func(bad bool, format string, args ...any)) {
	for i, p := range t.Providers {
		d := defaultsOf(p)
		for _, other := range t.Providers[:i] {
			same := len(d.For) > 0 && reflect.DeepEqual(d, defaultsOf(other))
			add(same, "provider %s is the default of the same hosts as %s: give it Defaults of its own", p.Name(), other.Name())
		}
	}
}

func (t *Type[A]) checkAttributes(add func(bad bool, format string, args ...any)) {
	seen := map[string]bool{}
	for i, p := range t.Properties {
		add(seen[p.Name], "property %s is there twice", p.Name)
		add(p.Name == Ensure && i > 0, "ensure is not the first property")
		add(p.Doc == "" || p.Managed == nil || p.InSync == nil || p.Show == nil, "property %s is incomplete", p.Name)
		add(!t.declares(p.Feature), "property %s needs the undeclared feature %q", p.Name, p.Feature)
		seen[p.Name] = true
	}
	for _, p := range t.Parameters {
		add(seen[p.Name], "parameter %s is there twice", p.Name)
		add(!t.declares(p.Feature), "parameter %s needs the undeclared feature %q", p.Name, p.Feature)
		seen[p.Name] = true
	}
}

func (t *Type[A]) declares(f Feature) bool {
	return f == "" || slices.ContainsFunc(t.Features, func(d FeatureDoc) bool { return d.Name == f })
}

func (t *Type[A]) exists(is A) bool { return t.Exists == nil || t.Exists(is) }

func (t *Type[A]) normalize(a *A) {
	if t.Normalize != nil {
		t.Normalize(a)
	}
}

// featuresOn are all features of a provider on the host with these facts, sorted but for
// those that it always has.
func featuresOn(p any, facts Facts) []Feature {
	all, sometimes := slices.Clone(featuresOf(p)), conditionalOf(p)
	for _, f := range slices.Sorted(maps.Keys(sometimes)) {
		if sometimes[f].Holds(facts) {
			all = append(all, f)
		}
	}
	return all
}

func conditionalOf(p any) map[Feature]Where {
	if c, ok := p.(Conditional); ok {
		return c.FeaturesWhere()
	}
	return nil
}

func featuresOf(p any) []Feature {
	if f, ok := p.(Featured); ok {
		return f.Features()
	}
	return nil
}
