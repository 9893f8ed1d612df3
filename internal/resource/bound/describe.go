package bound

import (
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
)

func (k kind[A]) Describe() resource.Description {
	d := resource.Description{Name: k.t.Name, Doc: k.t.Doc, Example: k.t.Example, Namevar: k.t.NamevarName, Features: k.t.Features, Providers: providerNames(k.t)}
	var nothing A
	for _, p := range k.t.Properties {
		d.Attributes = append(d.Attributes, resource.AttributeDoc{
			Name: p.Name, Doc: p.Doc, Property: true, Feature: p.Feature, Sensitive: isSensitive(p, nothing), ReadOnly: p.ReadOnly,
		})
	}
	for _, p := range k.t.Parameters {
		d.Attributes = append(d.Attributes, resource.AttributeDoc{Name: p.Name, Doc: p.Doc, Feature: p.Feature, Sensitive: p.Sensitive})
	}
	if d.Namevar != resource.MetadataName && !slices.ContainsFunc(d.Attributes, func(a resource.AttributeDoc) bool { return a.Name == d.Namevar }) {
		d.Attributes = slices.Insert(d.Attributes, 0, resource.AttributeDoc{Name: d.Namevar, Doc: "Its name on the host (namevar)."})
	}
	return d
}
