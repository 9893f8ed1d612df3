// Package resourcetest holds the laws that every resource type obeys, as one call.
//
// [Run] tries them with the type's own definition and with one resource of it on a
// real or a fake host: the resource is made, changed and removed again, and what the
// type says of it is compared with the host. It drives types as the engine
// does and needs none of it.
package resourcetest

import (
	"context"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// A Case is one resource on a host. Attributes are YAML, as under a manifest's spec.
type Case struct {
	// Host is changed by the laws, so it is a disposable one.
	Host host.Host
	// Facts and Provider choose the provider, as in a run; may be left out.
	Facts    resource.Facts
	Provider string
	// Name of the resource, and so its namevar where the attributes give none;
	// "law" by default.
	Name string
	// Absent is how the host is at the start, and Present something else: a user
	// that is not there and one that is, a service that is stopped and one that runs.
	Absent, Present string
	// Changed follow Present one after the other, each out of sync with the one
	// before it. Those that manage every property prove the most.
	Changed []string
	// Snapshot is all that Present and Absent make and take away, as text. For
	// files there is [Files].
	Snapshot func(t *testing.T) string
	// Secret is a part of the sensitive values in Present and Changed; "" if the
	// type has none.
	Secret string
}

// Run tries all laws, each as a subtest:
//
//   - the definition of the type has no problem, and what it documents is what its attributes have;
//   - its example can be read by the API's kind and bound;
//   - Normalize is idempotent;
//   - an attribute with a value that can't be is refused by its name, with the fix;
//   - to look changes nothing, and after a change there is nothing left to change;
//   - one resource reads the same alone, with others and, where they are listed, from the list;
//   - a property has the same value, or absence, when it is managed and when it is only audited;
//   - from Absent to Present and back to Absent leads to where it started;
//   - secrets are neither in a change, nor in a state that nobody asked for, nor in a command's arguments.
func Run[A any](t *testing.T, typ *resource.Type[A], c Case) {
	t.Helper()
	try(t, laws(typ, c))
}

// Define tries the laws of a type's definition alone: for a type of which a host has
// nothing to show, so that no resource of it is ever in sync.
func Define[A any](t *testing.T, typ *resource.Type[A]) {
	t.Helper()
	try(t, definitionLaws(typ))
}

func try(t *testing.T, laws []law) {
	t.Helper()
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			if err := l.check(t.Context(), t); err != nil {
				t.Error(err)
			}
		})
	}
}

// A law is a sentence that holds for a type. check returns where it does not.
type law struct {
	name  string
	check func(ctx context.Context, t *testing.T) error
}

func definitionLaws[A any](typ *resource.Type[A]) []law {
	d := definition[A]{typ}
	return []law{
		{"the definition has no problem", d.hasNoProblem},
		{"every attribute is documented and every documented attribute is there", d.documentsAttributes},
		{"the example can be read and bound", d.exampleBinds},
	}
}

func laws[A any](typ *resource.Type[A], c Case) []law {
	n, r, l := normalization[A]{typ, c}, refusal[A]{typ, c}, newLife(bound.Kind(typ), c)
	return append(definitionLaws(typ),
		law{"to normalize twice is to normalize once", n.isIdempotent},
		law{"a value that is refused is named", r.namesAttributes},
		law{"a resource is made, changed and removed", l.isLived},
	)
}
