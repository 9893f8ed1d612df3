package bound

import (
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
)

// featuresOn returns all features of a provider on a host with these facts: first the unconditional
// ones, then the conditional ones, sorted.
func featuresOn(p any, facts resource.Facts) []resource.Feature {
	all, sometimes := slices.Clone(featuresOf(p)), conditionalOf(p)
	for _, f := range slices.Sorted(maps.Keys(sometimes)) {
		if sometimes[f].Holds(facts) {
			all = append(all, f)
		}
	}
	return all
}

func conditionalOf(p any) map[resource.Feature]resource.Where {
	if c, ok := p.(resource.Conditional); ok {
		return c.FeaturesWhere()
	}
	return nil
}

func featuresOf(p any) []resource.Feature {
	if f, ok := p.(resource.Featured); ok {
		return f.Features()
	}
	return nil
}

func docOf(p any) string {
	if d, ok := p.(resource.Documented); ok {
		return d.Doc()
	}
	return ""
}

func needsOf(p any) resource.Needs {
	if n, ok := p.(resource.Needing); ok {
		return n.Needs()
	}
	return resource.Needs{}
}

func defaultsOf(p any) resource.Defaults {
	if d, ok := p.(resource.Defaulter); ok {
		return d.Defaults()
	}
	return resource.Defaults{}
}
