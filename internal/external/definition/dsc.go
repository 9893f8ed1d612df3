package definition

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/dsc"
	"github.com/fettle-dev/fettle/internal/external/jsonschema"
)

// A Resource is the DSC resource of a type.
type Resource struct {
	v1alpha1.ExternalDSC

	Manifest *dsc.Manifest
	Schema   *jsonschema.Schema // nil if the schemas of the attributes suffice

	properties map[string]map[string]any // their schemas, if there is a Schema
}

// SchemaOf returns the schema of a property in the JSON schema of the resource; nil if it has none. It must not be changed.
func (r *Resource) SchemaOf(property string) map[string]any { return r.properties[property] }

// Removable is the feature of providers that can remove a resource.
const Removable = "removable"

// newResource returns the DSC resource of a spec without faults; nil for another protocol.
func newResource(spec *v1alpha1.ExternalTypeSpec) (*Resource, error) {
	if spec.Protocol != v1alpha1.ProtocolDSC {
		return nil, nil
	}
	r := &Resource{ExternalDSC: *spec.DSC}
	var err error
	if r.Manifest, err = dsc.Frozen(spec.DSC.Manifest.Raw); err != nil {
		return nil, err
	}
	if spec.DSC.Schema != nil {
		r.Schema, err = jsonschema.Compile(spec.DSC.Schema.Raw)
		r.properties = propertiesOf(spec.DSC.Schema.Raw)
	}
	r.Compare = cmp.Or(r.Compare, v1alpha1.CompareProperties)
	return r, err
}

// propertiesOf returns the schemas of the properties in a schema. Numbers are of type [json.Number].
func propertiesOf(raw []byte) map[string]map[string]any {
	var s struct {
		Properties map[string]any `json:"properties"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&s) != nil { // a schema that is not an object is refused elsewhere
		return nil
	}
	all := map[string]map[string]any{}
	for name, value := range s.Properties {
		if schema, ok := value.(map[string]any); ok {
			all[name] = schema
		}
	}
	return all
}

// ValidationMode is the name of the attribute that says how a DSC resource is compared. It has the values of Puppet's
// DSC modules.
const (
	ValidationMode   = "validationMode"
	ValidateProperty = "property" // get, and a comparison of each property
	ValidateResource = "resource" // the verdict of the resource's own test
)

// Own reports whether an attribute is Fettle's own: the resource does not get it.
func (r *Resource) Own(a *v1alpha1.ExternalAttribute) bool {
	return (r.Singleton || r.Named) && a.Behaviour == v1alpha1.BehaviourNamevar || r.ValidationMode && a.Name == ValidationMode
}

// Removes reports how an instance is removed: by set, with the property that says whether it exists, or else by delete.
// Neither is possible for some resources.
func (r *Resource) Removes() (bySet, byDelete bool) {
	switch set := r.Manifest.Set; {
	case r.Existence == "":
		return false, false
	case r.Existence != dsc.Exist:
		return set != nil, false
	case set != nil && set.HandlesExist:
		return true, false
	}
	return false, r.Manifest.Delete != nil
}

// CanBeSecret reports whether a Secret can have the value of an attribute: of one with text, among integers if need be, or of a
// sensitive object as JSON. The rules of a definition do not see other attributes of several types.
func (d *Definition) CanBeSecret(a *v1alpha1.ExternalAttribute) bool {
	if a.Behaviour == v1alpha1.BehaviourReadOnly || a.Behaviour == v1alpha1.BehaviourNamevar || !holdsText(a) && (SchemaType(a) != "object" || !a.Sensitive) {
		return false
	}
	return d.DSC == nil || d.DSC.exposes(a) == ""
}

func holdsText(a *v1alpha1.ExternalAttribute) bool {
	return Fits(a, "") && !Fits(a, true) && !Fits(a, []any{}) && !Fits(a, map[string]any{}) && !Fits(a, fraction)
}

// fraction is a number that is no integer.
const fraction = 0.5

// exposes returns the command through which other users of a host could see an attribute; "" if there is none.
func (r *Resource) exposes(a *v1alpha1.ExternalAttribute) string {
	if r.Own(a) {
		return ""
	}
	if name := r.Manifest.Exposes(true); name != "" && a.Behaviour == v1alpha1.BehaviourParameter {
		return name
	}
	if name := r.Manifest.Exposes(false); name != "get" && name != "delete" && name != "export" || r.Named {
		return name
	}
	return ""
}

// dsc checks the DSC resource of a type.
func (c *checker) dsc() {
	d := c.spec.DSC
	if c.spec.Protocol != v1alpha1.ProtocolDSC || d == nil {
		c.add(d == nil && c.spec.Protocol != v1alpha1.ProtocolDSC, "the protocol DSC requires spec.dsc, and no other protocol has it")
		return
	}
	if d.Manifest == nil {
		c.add(false, "spec.dsc.manifest is missing: build the type from the manifest of its resource")
		return
	}
	r, err := newResource(c.spec)
	if err != nil {
		c.add(false, "spec.dsc: %w", err)
		return
	}
	c.resource(r)
	c.dscRequests(r.Manifest)
	for i := range c.spec.Attributes {
		a := &c.spec.Attributes[i]
		c.add(!a.Sensitive || r.exposes(a) == "", "spec.attributes[%s] is sensitive, but the command %s gets it in arguments or the environment, which others can see: have the manifest pass it on stdin",
			a.Name, r.exposes(a))
	}
}

// resource checks the manifest and how its commands are used.
func (c *checker) resource(r *Resource) {
	c.add((r.Manifest.Kind == dsc.KindAdapter) == (r.Adapted != nil), "spec.dsc.adapted names the resource of an adapter: set it if and only if the kind of the manifest is adapter")
	c.add(r.Compare == v1alpha1.CompareProperties || r.Compare == v1alpha1.CompareTest, "spec.dsc.compare %q is not known: use Properties or Test", r.Compare)
	test := r.Manifest.Test
	tests := test != nil && test.Return != ""
	c.add(r.Compare != v1alpha1.CompareTest || tests,
		"spec.dsc.compare Test requires a test in the manifest with return: state or stateAndDiff: use Properties")
	c.add(!r.ValidationMode || tests, "spec.dsc.validationMode requires a test in the manifest with return: state or stateAndDiff: remove it")
	c.add(r.Manifest.Get != nil || r.Compare == v1alpha1.CompareTest && !r.ValidationMode, "spec.dsc.manifest has no get: set spec.dsc.compare to Test, and remove validationMode")
	c.add(!r.Named || !r.Singleton, "spec.dsc.named and singleton exclude each other: remove one")
	operations := r.Manifest.Operations()
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		c.command("spec.dsc.manifest."+name, operations[name].Executable)
	}
}

// dscRequests checks that the manifest has commands for the requests.
func (c *checker) dscRequests(m *dsc.Manifest) {
	needs := map[v1alpha1.ExternalRequest]bool{v1alpha1.RequestList: m.Export != nil, v1alpha1.RequestValidate: m.Validate != nil}
	for _, r := range c.spec.Requests {
		c.add(needs[r], "spec.requests has %s, for which the manifest has no command: remove it", r)
	}
}

// protocols returns the protocols of this version.
func protocols() []string {
	return []string{string(v1alpha1.ProtocolFettle), string(v1alpha1.ProtocolDSC)}
}

func (c *checker) protocol() {
	p := string(c.spec.Protocol)
	c.add(p == "" || slices.Contains(protocols(), p), "spec.protocol %q is not known to this version of Fettle: use one of %s", p, strings.Join(protocols(), ", "))
	c.dsc()
}
