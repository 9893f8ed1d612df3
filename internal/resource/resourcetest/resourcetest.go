// Package resourcetest tests that a resource type obeys the laws of all types, with one call.
//
// [Run] tests the type's definition and one resource of it on a real or a fake host. It creates,
// changes and removes the resource, and compares the states that the type reads with the host. It
// calls types like the engine, without using the engine.
package resourcetest

import (
	"context"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// A Case is one resource on a host. Attributes are YAML, as in a manifest's spec.
type Case struct {
	// Host is changed by the tests, so it must be disposable.
	Host host.Host
	// Facts and Provider choose the provider, as in a run. Optional.
	Facts    resource.Facts
	Provider string
	// Name is the name of the resource, and its namevar if the attributes have none; "law" by
	// default.
	Name string
	// Absent is the initial state of the host, and Present another state, such as a missing and an
	// existing user, or a stopped and a running service.
	Absent, Present string
	// Changed are applied after Present, in order. Each must be out of sync with the state before
	// it. Cases that manage every property test the most.
	Changed []string
	// Snapshot returns everything that Present and Absent create and remove, as text. Use [Files]
	// for files.
	Snapshot func(t *testing.T) string
	// Secret is a part of the sensitive values in Present and Changed; "" if the type has none.
	Secret string
}

// Run tests all laws, each in a subtest:
//
//   - the definition of the type is valid, and it documents exactly its attributes;
//   - its example decodes into the API's kind and can be bound;
//   - Normalize is idempotent;
//   - the error for an invalid value names the attribute and the fix;
//   - reading changes nothing, and after a change nothing is left to change;
//   - a resource has the same state whether it is read alone, in a batch or from the list;
//   - a property has the same value, or none, when it is managed and when it is only audited;
//   - going from Absent to Present and back to Absent restores the host;
//   - no secret is in a change, in an unmanaged state or in a command's arguments.
func Run[A any](t *testing.T, typ *resource.Type[A], c Case) {
	t.Helper()
	try(t, laws(typ, c))
}

// Define tests the laws of a type's definition alone, for a type that leaves no state on a host, so
// that no resource of it is ever in sync.
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

// A law is a statement that holds for every type. check returns an error if it does not hold.
type law struct {
	name  string
	check func(ctx context.Context, t *testing.T) error
}

func definitionLaws[A any](typ *resource.Type[A]) []law {
	d := definition[A]{typ}
	return []law{
		{"the definition is valid", d.hasNoProblem},
		{"the documented attributes are those of the type", d.documentsAttributes},
		{"the example can be read and bound", d.exampleBinds},
	}
}

func laws[A any](typ *resource.Type[A], c Case) []law {
	n, r, l := normalization[A]{typ, c}, refusal[A]{typ, c}, newLifecycle(bound.Kind(typ), c)
	return append(definitionLaws(typ),
		law{"Normalize is idempotent", n.isIdempotent},
		law{"errors name the attribute and the fix", r.namesAttributes},
		law{"a resource is created, changed and removed", l.passes},
	)
}
