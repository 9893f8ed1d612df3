package resource

import (
	"fmt"
	"slices"
	"strings"
)

// A Feature is a capability that a provider may have, such as "holdable".
type Feature string

// A FeatureDoc declares a feature of a type.
type FeatureDoc struct {
	Name Feature
	Doc  string
}

// A Property is an attribute that is compared, fixed and reported. Its functions are pure. Build
// common ones with [Field] and [Set] and adjust the fields.
type Property[A any] struct {
	Name string // as in the manifest: manageHome
	Doc  string // one sentence

	// ReadOnly means that the property can be audited but not managed. Made by [Audited].
	ReadOnly bool
	// Feature is required of the provider to manage the property. Without it the resource fails
	// with an error that names the provider. Puppet only logs that.
	Feature Feature
	// ValueFeature returns the feature that the desired value requires, or "" (ensure: purged
	// requires purgeable). Optional.
	ValueFeature func(want A) Feature
	// Managed reports whether want manages the property.
	Managed func(want A) bool
	// InSync compares the property. It is only called for a managed property.
	InSync func(is, want A) bool
	// Show formats the value for people, in the same way for the current and the desired one. ""
	// means absent.
	Show func(a A) string
	// ShowShould overrides Show for a desired value that depends on the current state, such as a
	// membership that adds to it. Optional.
	ShowShould func(is, want A) string
	// Sensitive reports whether the desired value is secret. Sensitive values are never shown,
	// stored or compared between runs. Optional.
	Sensitive func(want A) bool
	// WasSecret reports whether the current value is secret although the desired one is not. Both
	// are then treated as sensitive. Optional.
	WasSecret func(is A) bool
	// Private reports whether other resources must not see the desired value although it is not
	// sensitive: see [Related]. Optional.
	Private func(want A) bool
	// Token returns the text that is digested instead of a sensitive value that was read, so that
	// an audit can distinguish values. The default is the attribute itself.
	Token func(is A) string
	// Diff explains a change beyond its two values. Never called for a sensitive
	// value. Optional.
	Diff func(is, want A) string
	// Done replaces the message of a successful change if its two values would say little:
	// "executed successfully". Optional.
	Done string
	// Pending does so for a change that noop prevents: "would have been executed". Optional.
	Pending string
	// Failed precedes the error of a failed change if its two values would say nothing: "command
	// failed". Optional.
	Failed string
	// Detail returns what the values do not say about a change, such as the mode of a file that is created: "with mode 0600".
	// The message ends with it. Optional.
	Detail func(is, want A) string
	// Unknown returns why reading can't tell whether a property that seems out of sync is, such as an index that a Write
	// would update first; "" if it can. A plan reports what it returns as [UnknownError] does, and an apply decides by the
	// state that it reads after the Write. Optional.
	Unknown func(is, want A) string
	// Same reports whether two states that were read, before and after a Write, have the same value: nothing was changed
	// then, whatever the provider says. The default compares Show, Token and the attribute. Optional.
	Same func(was, is A) bool
	// InvalidatesRefresh reports whether reaching the desired value makes a pending refresh
	// unnecessary, such as for a service that was just started. Optional.
	InvalidatesRefresh func(want A) bool
}

// A Parameter is an attribute that controls how a resource is managed. It is never out of sync
// itself.
type Parameter struct {
	Name    string
	Doc     string
	Feature Feature // required of the provider; "" for none
	// Public means that other resources may see the value, unless it comes from a Secret: see
	// [Related].
	Public bool
	// Sensitive means that nobody may see the value.
	Sensitive bool
}

// Ensure is the name of the property that declares whether a resource exists. While it is out of
// sync, no other property is compared.
const Ensure = "ensure"

// Field makes the property of an optional scalar field. nil means unmanaged in want and absent in
// is.
func Field[A any, T comparable](name, doc string, field func(*A) *T) Property[A] {
	return Property[A]{
		Name: name, Doc: doc,
		Managed: func(want A) bool { return field(&want) != nil },
		InSync: func(is, want A) bool {
			i, w := field(&is), field(&want)
			return i != nil && *i == *w
		},
		Show: func(a A) string {
			if v := field(&a); v != nil {
				return fmt.Sprint(*v)
			}
			return ""
		},
	}
}

// Set makes the property of an optional list that is compared as a set. A nil list is unmanaged; an
// empty one is the empty set. minimum reports whether further members are allowed (Puppet's
// membership: minimum).
func Set[A any](name, doc string, field func(A) []string, minimum func(want A) bool) Property[A] {
	return Property[A]{
		Name: name, Doc: doc,
		Managed: func(want A) bool { return field(want) != nil },
		InSync: func(is, want A) bool {
			return slices.Equal(sorted(field(is)), Members(field(is), field(want), minimum(want)))
		},
		Show: func(a A) string { return strings.Join(sorted(field(a)), ",") },
		ShowShould: func(is, want A) string {
			return strings.Join(Members(field(is), field(want), minimum(want)), ",")
		},
	}
}

// Audited makes a property that can only be audited, such as a file's modification time. It is not
// an attribute.
func Audited[A any](name, doc string, show func(is A) string) Property[A] {
	return Property[A]{
		Name: name, Doc: doc, ReadOnly: true,
		Managed: func(A) bool { return false },
		InSync:  func(A, A) bool { return true },
		Show:    show,
	}
}

// Members returns the members that a set should have: want, together with is if minimum is set.
// They are sorted and unique.
func Members(is, want []string, minimum bool) []string {
	if minimum {
		return sorted(slices.Concat(is, want))
	}
	return sorted(want)
}

func sorted(s []string) []string {
	s = slices.Sorted(slices.Values(s))
	return slices.Compact(s)
}

// A Change is one property that is out of sync. Is and Should are for people, and redacted if the
// value is sensitive. "" means absent.
type Change struct {
	Property           string
	Is, Should         string
	Message            string // "mode changed 0644 to 0600"
	Done               string // replaces Message once the change was made; "" keeps it
	Pending            string // replaces Message of a change that noop prevents; "" keeps it
	Failed             string // replaces the two values in the message of a failure; "" keeps them
	Detail             string // ends Message; "" adds nothing
	Diff               string // "" if there is nothing to show
	Sensitive          bool
	InvalidatesRefresh bool
	// Unknown is why nobody can tell before a Write whether the property is out of sync; "" if it is. Message then says what
	// may change.
	Unknown string
}

// Removes reports whether the change removes the resource.
func (c Change) Removes() bool { return c.Property == Ensure && IsAbsence(c.Should) }

// Creates reports whether the change creates a resource that did not exist. A change between two
// forms of presence does not.
func (c Change) Creates() bool {
	return c.Property == Ensure && !IsAbsence(c.Should) && (c.Is == "" || IsAbsence(c.Is))
}

// IsAbsence reports whether a value of ensure means that the resource does not exist.
func IsAbsence(ensure string) bool { return ensure == Absent || ensure == Purged }

// Values of ensure that most types share.
const (
	Present = "present"
	Absent  = "absent"
	Purged  = "purged" // absent, and nothing left of it
)

// Differs reports whether the changes of some properties that are made in one state would not be the same in another: for a
// [ReadPrechecker].
func Differs[A any](properties []Property[A], is, planned, want A) bool {
	return slices.ContainsFunc(properties, func(p Property[A]) bool {
		if !p.Managed(want) {
			return false
		}
		inSync := p.InSync(is, want)
		return inSync != p.InSync(planned, want) || !inSync && p.Show(is) != p.Show(planned)
	})
}
