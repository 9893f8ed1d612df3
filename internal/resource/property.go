package resource

import (
	"fmt"
	"slices"
	"strings"
)

// A Feature is something that a provider may be able to do, such as "holdable".
type Feature string

// A FeatureDoc declares a feature of a type.
type FeatureDoc struct {
	Name Feature
	Doc  string
}

// A Property is an attribute that is compared, fixed and reported. Its functions
// are pure. Build common ones with [Field] and [Set] and adjust the fields.
type Property[A any] struct {
	Name string // as in the manifest: manageHome
	Doc  string // one sentence

	// ReadOnly says that it can be audited and nothing else: nobody can want a value
	// of it. Made by [Audited].
	ReadOnly bool
	// Feature that a provider must have for the property to be managed; a provider
	// without it fails the resource, by name. Unlike Puppet, which only logs.
	Feature Feature
	// ValueFeature is the feature that this value needs, "" for none (ensure:
	// purged needs purgeable). Optional.
	ValueFeature func(want A) Feature
	// Managed reports whether want says anything of the property.
	Managed func(want A) bool
	// InSync compares. It is only called when the property is managed.
	InSync func(is, want A) bool
	// Show is the value for people, the same for is and should. "" reads as absent.
	Show func(a A) string
	// ShowShould overrides Show for the desired value where that depends on what
	// is there (a membership that adds to it). Optional.
	ShowShould func(is, want A) string
	// Sensitive values are never shown, stored or compared between runs. Optional.
	Sensitive func(want A) bool
	// WasSecret reports that the value that was read is a secret although the desired one
	// is not: it is treated as if both were. Optional.
	WasSecret func(is A) bool
	// Token stands for a sensitive value that was read where it is digested, so that an
	// audit tells one from another. Default the attribute itself.
	Token func(is A) string
	// Diff explains a change beyond its two values. Never called for a sensitive
	// value. Optional.
	Diff func(is, want A) string
	// Done words a change that was made, where two values say less: "executed
	// successfully". Optional.
	Done string
	// Failed words a change that failed, before its error, where the two values say nothing:
	// "command failed". Optional.
	Failed string
	// InvalidatesRefresh reports that reaching this value makes a pending refresh
	// needless, as for a service that was just started. Optional.
	InvalidatesRefresh func(want A) bool
}

// A Parameter is an attribute that says how, and is never out of sync by itself.
type Parameter struct {
	Name    string
	Doc     string
	Feature Feature // that a provider must have for it to be used; "" for none
}

// Ensure is the name of the property that says whether a resource is to be there.
// While it is out of sync no other property is looked at.
const Ensure = "ensure"

// Field makes the property of an optional scalar field: nil is unmanaged in want
// and absent in is.
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

// Set makes the property of an optional list whose order and repetitions mean
// nothing. A nil list is unmanaged; an empty one means none. minimum reports that
// the listed members must be there and others may be (Puppet's membership minimum).
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

// Audited makes a property that can only be audited, such as when a file was last
// changed. It is no attribute.
func Audited[A any](name, doc string, show func(is A) string) Property[A] {
	return Property[A]{
		Name: name, Doc: doc, ReadOnly: true,
		Managed: func(A) bool { return false },
		InSync:  func(A, A) bool { return true },
		Show:    show,
	}
}

// Members is the list that a membership comes to: want alone, or with what is
// already there; sorted, each once.
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

// A Change is one property that is not as it should be. Is and Should are for
// people, redacted where the value is sensitive; "" reads as absent.
type Change struct {
	Property           string
	Is, Should         string
	Message            string // "mode changed 0644 to 0600"
	Done               string // instead of Message once the change was made; "" for the same
	Failed             string // what failed, where its two values say nothing
	Diff               string // "" where there is none to show
	Sensitive          bool
	InvalidatesRefresh bool
}

// Removes reports whether it makes the resource go away.
func (c Change) Removes() bool { return c.Property == Ensure && IsAbsence(c.Should) }

// Creates reports whether it makes a resource that was not there. A change from one kind of
// presence to another does not.
func (c Change) Creates() bool {
	return c.Property == Ensure && !IsAbsence(c.Should) && (c.Is == "" || IsAbsence(c.Is))
}

// IsAbsence reports whether a value of ensure means that the resource is not there.
func IsAbsence(ensure string) bool { return ensure == Absent || ensure == Purged }

// Values of ensure that most types share.
const (
	Present = "present"
	Absent  = "absent"
	Purged  = "purged" // absent with all that it left
)
