// Package crdbuild makes the CustomResourceDefinitions of the kinds that ExternalTypes define.
package crdbuild

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/crd"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// Name returns the name of a type's CustomResourceDefinition: its plural and the group.
func Name(d *definition.Definition) string { return d.Name + "." + v1alpha1.ExternalGroupVersion.Group }

// Build returns the CustomResourceDefinition of a type. The same type always has the same one, and API servers accept it:
// the error joins everything that they would reject, and names the attributes.
func Build(d *definition.Definition) (*apiextensionsv1.CustomResourceDefinition, error) {
	parts, err := newTemplate()
	if err != nil {
		return nil, err
	}
	spec, err := parts.spec(d)
	if err != nil {
		return nil, err
	}
	singular := strings.ToLower(d.Spec.Kind)
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: v1alpha1.ExternalGroupVersion.Version, Served: true, Storage: true,
		AdditionalPrinterColumns: columns(parts.columns, d),
		Subresources:             &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Description: d.Spec.Description, Required: []string{"spec"},
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"apiVersion": parts.top["apiVersion"], "kind": parts.top["kind"], "metadata": {Type: "object"},
				"spec": spec, "status": parts.top["status"],
			},
		}},
	}
	built := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: Name(d)},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: v1alpha1.ExternalGroupVersion.Group, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: d.Spec.Kind, ListKind: d.Spec.Kind + "List", Plural: d.Name, Singular: singular,
				ShortNames: d.Spec.ShortNames, Categories: []string{"fettle"},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
		},
	}
	return built, validate(built)
}

// Properties returns the schema of the properties in a definition of Build.
func Properties(built *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	all := built.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties[properties]
	return &all
}

// properties is the field of the spec with the attributes.
const properties = "properties"

// A template has the parts of a built-in kind's definition that all kinds share.
type template struct {
	top       map[string]apiextensionsv1.JSONSchemaProps // of the object
	targeting map[string]apiextensionsv1.JSONSchemaProps // of the spec
	edges     apiextensionsv1.ValidationRules            // of the spec
	secretRef apiextensionsv1.JSONSchemaProps
	columns   []apiextensionsv1.CustomResourceColumnDefinition
}

// The kinds whose definitions are the template.
const (
	templateKind = "Notify" // it has the fewest attributes
	secretKind   = "User"   // it has an attribute from a Secret
	secretField  = "passwordFrom"
)

func newTemplate() (t template, err error) {
	shared, err := crd.Of(templateKind)
	if err != nil {
		return t, err
	}
	user, err := crd.Of(secretKind)
	if err != nil {
		return t, err
	}
	version := shared.Spec.Versions[0]
	t.top = version.Schema.OpenAPIV3Schema.Properties
	t.targeting = map[string]apiextensionsv1.JSONSchemaProps{}
	for _, name := range jsonNames(reflect.TypeFor[v1alpha1.Targeting]()) {
		t.targeting[name] = t.top["spec"].Properties[name]
	}
	t.edges = slices.DeleteFunc(slices.Clone(t.top["spec"].XValidations), func(r apiextensionsv1.ValidationRule) bool {
		return !slices.Contains(v1alpha1.EdgeNames(), strings.TrimPrefix(r.FieldPath, "."))
	})
	from := user.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties[secretField]
	t.secretRef = from.Properties["secretKeyRef"]
	t.columns = slices.DeleteFunc(version.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
		name, ofSpec := strings.CutPrefix(c.JSONPath, ".spec.")
		return ofSpec && name != ensure // an attribute of that kind
	})
	return t, nil
}

// jsonNames returns the names of a struct's fields, including fields of embedded structs.
func jsonNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			names = append(names, jsonNames(f.Type)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// columns adds the Namevars to the printer columns, before the message. A Remote type has the acting node instead of counts,
// which could be of that node alone.
func columns(shared []apiextensionsv1.CustomResourceColumnDefinition, d *definition.Definition) []apiextensionsv1.CustomResourceColumnDefinition {
	if d.IsRemote() {
		shared = slices.DeleteFunc(slices.Clone(shared), func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
			return strings.HasPrefix(c.JSONPath, ".status.nodes.") && c.JSONPath != ".status.nodes.selected"
		})
		for i := range shared {
			if shared[i].JSONPath == ".status.nodes.selected" {
				shared[i] = apiextensionsv1.CustomResourceColumnDefinition{Name: "Node", Type: "string", JSONPath: actingNode}
			}
		}
	}
	var names []apiextensionsv1.CustomResourceColumnDefinition
	for _, at := range d.Namevars() {
		names = append(names, apiextensionsv1.CustomResourceColumnDefinition{
			Name: strings.ToUpper(at.Name[:1]) + at.Name[1:], Type: definition.SchemaType(&at),
			JSONPath: ".spec.properties." + at.Name, Priority: 1,
		})
	}
	return slices.Insert(slices.Clone(shared), len(shared)-1, names...)
}

// actingNode is what only the definitions of Remote types show.
const actingNode = ".status.actingNode"

// IsRemote reports whether [Build] made a definition for a Remote type.
func IsRemote(built *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(built.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return slices.ContainsFunc(v.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool { return c.JSONPath == actingNode })
	})
}

// ensure is a field of every kind.
const ensure = "ensure"

// spec returns the schema of the spec.
func (t template) spec(d *definition.Definition) (apiextensionsv1.JSONSchemaProps, error) {
	s := apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: d.Spec.Kind + "Spec selects nodes and defines the desired state on them.",
		Required: []string{"nodeSelector"}, Properties: t.targeting,
	}
	attributes, err := attributesOf(d)
	if err != nil {
		return s, err
	}
	s.Properties[ensure] = ensureOf(d)
	s.Properties[properties] = attributes
	if len(attributes.Required) > 0 {
		s.Required = append(s.Required, properties)
	}
	s.Properties["audit"] = oneOf(s.Properties["audit"], append([]string{"all", ensure}, audited(d)...))
	s.Properties["provider"] = providerOf(s.Properties["provider"], d)
	if names := secret(d); len(names) > 0 {
		s.Properties["propertiesFrom"] = t.fromSecrets(names)
	}
	own, err := declared(d)
	if err != nil {
		return s, err
	}
	s.XValidations = slices.Concat(own, rules(d, attributes), t.edges)
	s.AllOf = requirements(d, attributes)
	return s, nil
}

func ensureOf(d *definition.Definition) apiextensionsv1.JSONSchemaProps {
	values := append(slices.Clone(d.Spec.Ensure.Values), "absent")
	text := "ensure is " + strings.Join(values[:len(values)-1], ", ") + " or absent. "
	text += cmp.Or(strings.TrimSuffix("Defaults to "+d.Spec.Ensure.Default+".", "Defaults to ."), "If absent, it is not managed.")
	return apiextensionsv1.JSONSchemaProps{Type: "string", Description: text, Enum: enum(values)}
}

// audited are the attributes whose changes can be reported.
func audited(d *definition.Definition) []string {
	var names []string
	for _, at := range d.Spec.Attributes {
		if at.Behaviour != v1alpha1.BehaviourNamevar && at.Behaviour != v1alpha1.BehaviourParameter {
			names = append(names, at.Name)
		}
	}
	return names
}

func providerOf(s apiextensionsv1.JSONSchemaProps, d *definition.Definition) apiextensionsv1.JSONSchemaProps {
	var names []string
	for _, p := range d.Spec.Providers {
		names = append(names, p.Name)
	}
	s.Enum = enum(names)
	return s
}

// oneOf limits the elements of a list to values.
func oneOf(list apiextensionsv1.JSONSchemaProps, values []string) apiextensionsv1.JSONSchemaProps {
	list.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string", Enum: enum(values)}}
	list.MaxItems = new(int64(len(values)))
	return list
}

func (t template) fromSecrets(names []string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{
		Type: "array", Description: "propertiesFrom lists attributes whose values come from Secrets. A change of a Secret is applied to the nodes.",
		MinItems: new(int64(1)), MaxItems: new(int64(len(names))),
		XListType: new("map"), XListMapKeys: []string{"name"},
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Required: []string{"name", "secretKeyRef"},
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"name":         {Type: "string", Description: "name of the attribute.", Enum: enum(names)},
				"secretKeyRef": t.secretRef,
			},
		}},
	}
}
