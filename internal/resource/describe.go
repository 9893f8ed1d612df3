package resource

import "slices"

// A Description is what there is to know about a type.
type Description struct {
	Name, Doc, Example string
	Namevar            string         // an attribute, or MetadataName
	Attributes         []AttributeDoc // the namevar first, then properties, then parameters
	Features           []FeatureDoc
	Providers          []string
}

// An AttributeDoc describes an attribute.
type AttributeDoc struct {
	Name, Doc string
	Property  bool // compared and fixed; otherwise a parameter
	Feature   Feature
	Sensitive bool // never to be shown
	ReadOnly  bool // no attribute, but can be audited
}

func (k kind[A]) Describe() Description {
	d := Description{Name: k.t.Name, Doc: k.t.Doc, Example: k.t.Example, Namevar: k.t.NamevarName, Features: k.t.Features, Providers: k.t.providerNames()}
	var nothing A
	for _, p := range k.t.Properties {
		d.Attributes = append(d.Attributes, AttributeDoc{
			Name: p.Name, Doc: p.Doc, Property: true, Feature: p.Feature, Sensitive: p.sensitive(nothing), ReadOnly: p.ReadOnly,
		})
	}
	for _, p := range k.t.Parameters {
		d.Attributes = append(d.Attributes, AttributeDoc{Name: p.Name, Doc: p.Doc, Feature: p.Feature})
	}
	if d.Namevar != MetadataName && !slices.ContainsFunc(d.Attributes, func(a AttributeDoc) bool { return a.Name == d.Namevar }) {
		d.Attributes = slices.Insert(d.Attributes, 0, AttributeDoc{Name: d.Namevar, Doc: "Its name on the host (namevar)."})
	}
	return d
}
