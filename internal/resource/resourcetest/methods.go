package resourcetest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/fettle-dev/fettle/internal/resource"
)

// checkMethods returns an error for each method of a provider that has the name but not the signature of an optional interface's
// method, and would therefore never be called.
func checkMethods[A any](t *resource.Type[A]) error {
	var errs []error
	for _, p := range t.Providers {
		methods := reflect.TypeOf(p)
		for name, implements := range optionalMethods(p) {
			if _, has := methods.MethodByName(name); has && !implements {
				errs = append(errs, fmt.Errorf("method %s of provider %s does not have the signature of the optional interface: correct or rename it", name, p.Name()))
			}
		}
	}
	return errors.Join(errs...)
}

func optionalMethods[A any](p resource.Provider[A]) map[string]bool {
	return map[string]bool{
		"Defaults": implements[resource.Defaulter](p), "Doc": implements[resource.Documented](p), "Features": implements[resource.Featured](p),
		"FeaturesWhere": implements[resource.Conditional](p), "Generate": implements[resource.Generator[A]](p),
		"Identify": implements[resource.Identifier[A]](p), "List": implements[resource.Lister[A]](p),
		"Needs": implements[resource.Needing](p), "PreRunCheck": implements[resource.PreRunChecker[A]](p), "Precheck": implements[resource.Prechecker[A]](p),
		"PrecheckRead": implements[resource.ReadPrechecker[A]](p), "PrecheckRefresh": implements[resource.RefreshPrechecker[A]](p),
		"ReadAll": implements[resource.BatchReader[A]](p), "ReadAudited": implements[resource.Auditor[A]](p),
		"Refresh": implements[resource.Refresher[A]](p), "Source": implements[resource.Sourced](p),
		"Watch": implements[resource.Watcher[A]](p), "WriteAll": implements[resource.BatchWriter[A]](p),
	}
}

func implements[I any](p any) bool {
	_, ok := p.(I)
	return ok
}
