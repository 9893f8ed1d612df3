package bound

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
)

// Problems returns everything that is wrong with the definition of a type, or nil.
func (k kind[A]) Problems() error {
	t := k.t
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("type %s: "+format, append([]any{t.Name}, args...)...))
		}
	}
	add(t.Doc == "" || t.Example == "", "doc or example is missing")
	add(len(t.Providers) == 0, "has no provider")
	add(t.Namevar == nil || t.NamevarName == "", "has no namevar")
	checkAttributes(t, add)
	for _, p := range t.Providers {
		for _, f := range featuresOf(p) {
			add(!declares(t, f), "provider %s has the undeclared feature %q", p.Name(), f)
		}
		for f, where := range conditionalOf(p) {
			add(!declares(t, f), "provider %s has the undeclared feature %q", p.Name(), f)
			err := where.Problem()
			add(err != nil, "provider %s, feature %s: %v", p.Name(), f, err)
		}
		err := errors.Join(needsOf(p).Facts.Problem(), defaultsOf(p).Problem())
		add(err != nil, "provider %s: %v", p.Name(), err)
	}
	for _, a := range t.Auto {
		add(a.SendDesired && t.Receive == nil, "relation to %s has SendDesired, but the type has no Receive", a.Kind)
	}
	checkDefaults(t, add)
	return errors.Join(errs...)
}

// checkDefaults reports providers that are the default of the same hosts, such as one that embeds
// another and inherits its defaults. The second of them would never be used.
func checkDefaults[A any](t *resource.Type[A], add func(bad bool, format string, args ...any)) {
	for i, p := range t.Providers {
		d := defaultsOf(p)
		for _, other := range t.Providers[:i] {
			same := len(d.For) > 0 && reflect.DeepEqual(d, defaultsOf(other))
			add(same, "provider %s is the default of the same hosts as %s: give it Defaults of its own", p.Name(), other.Name())
		}
	}
}

func checkAttributes[A any](t *resource.Type[A], add func(bad bool, format string, args ...any)) {
	seen := map[string]bool{}
	for i, p := range t.Properties {
		add(seen[p.Name], "property %s is declared twice", p.Name)
		add(p.Name == resource.Ensure && i > 0, "ensure is not the first property")
		add(p.Doc == "" || p.Managed == nil || p.InSync == nil || p.Show == nil, "property %s is incomplete", p.Name)
		add(!declares(t, p.Feature), "property %s needs the undeclared feature %q", p.Name, p.Feature)
		seen[p.Name] = true
	}
	for _, p := range t.Parameters {
		add(seen[p.Name], "parameter %s is declared twice", p.Name)
		add(!declares(t, p.Feature), "parameter %s needs the undeclared feature %q", p.Name, p.Feature)
		seen[p.Name] = true
	}
}

func declares[A any](t *resource.Type[A], f resource.Feature) bool {
	return f == "" || slices.ContainsFunc(t.Features, func(d resource.FeatureDoc) bool { return d.Name == f })
}
