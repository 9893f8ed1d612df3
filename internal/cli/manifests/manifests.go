// Package manifests turns manifests into the compiler's input.
package manifests

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Input is the compiler's input for manifests, without nodes.
func Input(set *manifest.Set, kinds []resource.Kind) compiler.Input {
	return compiler.Input{
		Resources: set.Resources(), Refused: Refusals(set.Faults), Fragments: set.Fragments, Kinds: kinds,
		ConfigMap: set.ConfigMaps.Value, Secret: secretsOf(set.Secrets),
	}
}

// Refusals are the faults of each resource, with their places.
func Refusals(faults []manifest.Fault) map[v1alpha1.ResourceRef]string {
	all := map[v1alpha1.ResourceRef]string{}
	for _, f := range faults {
		if f.Ref == "" {
			continue
		}
		text := f.Where + ": " + f.Message
		if before := all[f.Ref]; before != "" {
			text = before + "; " + text
		}
		all[f.Ref] = text
	}
	return all
}

func secretsOf(all manifest.Secrets) func(v1alpha1.KeyRef) compiler.SecretValue {
	return func(ref v1alpha1.KeyRef) compiler.SecretValue {
		value, exposed, found := all.Value(ref)
		return compiler.SecretValue{Exposed: exposed, Found: found, Value: value}
	}
}
