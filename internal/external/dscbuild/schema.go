package dscbuild

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/dsc"
)

// schema returns the schema of an instance as JSON: from an adapted resource, from the manifest, or what its command
// prints now.
func (b *builder) schema(ctx context.Context, s *v1alpha1.ExternalTypeSpec) ([]byte, error) {
	if b.adapted != nil && len(b.adapted.Schema) > 0 {
		return b.adapted.Schema, nil
	}
	switch from := b.manifest.Schema; {
	case from == nil && b.adapted != nil:
		return b.overlaySchema(s.Attributes)
	case from == nil:
		return nil, errors.New("schema is missing: Fettle needs the properties of an instance")
	case from.Command != nil:
		text, err := b.print(ctx, from.Command, s.Source.Files)
		if err != nil {
			return nil, fmt.Errorf("schema.command: %w", err)
		}
		return text, nil
	default:
		return from.Embedded, nil
	}
}

// print runs a command that prints something about types.
func (b *builder) print(ctx context.Context, op *dsc.Operation, files map[string]string) ([]byte, error) {
	target := dsc.Target{Type: b.manifest.Type, Version: b.manifest.Version, Path: b.name}
	if a := b.adapted; a != nil {
		target = dsc.Target{Type: a.Type, Version: a.Version, Path: a.Path, Content: string(a.Content)}
	}
	call, err := op.Call(target, nil)
	if err != nil {
		return nil, err
	}
	if files == nil {
		if files, err = b.files(nil); err != nil {
			return nil, err
		}
	}
	output, err := b.run(ctx, Command{Files: files, Executable: located(op.Executable, b.beside), Args: call.Args})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; build the type on a machine that has it", err)
	}
	return output, err
}

// schemaProperties are what a schema says about an instance.
type schemaProperties struct {
	attributes []v1alpha1.ExternalAttribute // by name
	required   []string                     // names of attributes
	full       tree                         // the schema without references
	lossy      bool                         // the schemas of the attributes do not express all of it
}

// attributeName matches the names that attributes can have. It is never changed.
var attributeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,62}$`) })

// properties makes attributes from the properties of a schema, and sets how the type handles ensure.
func properties(raw []byte, s *v1alpha1.ExternalTypeSpec, foldCase bool) (p schemaProperties, err error) {
	root, err := p.resolve(raw)
	if err != nil {
		return p, err
	}
	all := propertiesOf(p.full)
	if err := existence(root, all, s); err != nil {
		return p, err
	}
	p.lossy = restrictsCombinations(p.full) || decidesComparison(all, 0)
	required, _ := p.full["required"].([]any)
	delete(p.full, "required") // values can come from Secrets and defaults: attributes are required
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !describesState(name) || name == s.DSC.Existence {
			continue
		}
		if err := p.add(name, all[name], slices.Contains(required, any(name)), foldCase); err != nil {
			return p, fmt.Errorf("properties.%s: %w", name, err)
		}
	}
	if _, purges := propertiesOf(root)[dsc.Purge]; purges && all["purge"] == nil {
		s.DSC.Purge = true
		p.attributes = append(p.attributes, purgeAttribute())
	}
	return p, nil
}

// describesState reports whether a property is more than one that all resources have, such as _exist and $schema.
func describesState(name string) bool { return !dsc.IsCanonical(name) && !strings.HasPrefix(name, "$") }

// purgeAttribute is the canonical property _purge.
func purgeAttribute() v1alpha1.ExternalAttribute {
	return v1alpha1.ExternalAttribute{
		Name: "purge", Description: "Whether items that the lists do not have are removed.", Behaviour: v1alpha1.BehaviourParameter,
		Schema: &runtime.RawExtension{Raw: []byte(`{"type":"boolean"}`)},
	}
}

// resolve reads a schema, and resolves its references.
func (p *schemaProperties) resolve(raw []byte) (root tree, err error) {
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("cannot read it: %w", err)
	}
	if p.full, err = resolved(withoutCanonical(root)); err != nil {
		return nil, err
	}
	if kinds := typesOf(p.full); len(kinds) != 1 || kinds[0] != typeObject {
		return nil, errors.New("an instance must be an object with properties")
	}
	return root, nil
}

func propertiesOf(schema tree) tree {
	all, _ := schema["properties"].(tree)
	return all
}

// withoutCanonical returns a schema whose canonical properties allow everything: their schemas are elsewhere.
func withoutCanonical(root tree) tree {
	out, all := maps.Clone(root), maps.Clone(propertiesOf(root))
	for name := range all {
		if dsc.IsCanonical(name) {
			all[name] = tree{}
		}
	}
	if all != nil {
		out["properties"] = all
	}
	return out
}

// restrictsCombinations reports whether a schema has keywords about several properties.
func restrictsCombinations(s tree) bool {
	known := []string{"type", "properties", "required", "title", "description", "additionalProperties", "default", "examples", "deprecated"}
	for key := range s {
		if !slices.Contains(known, key) && !strings.HasPrefix(key, "x-") {
			return true
		}
	}
	return false
}

// decidesComparison reports whether a schema says more about the comparison of properties than their attributes: defaults of
// what a resource does not return, and nested properties that are only written.
func decidesComparison(properties tree, depth int) bool {
	for _, value := range properties {
		s, _ := value.(tree)
		_, hasDefault := s["default"]
		items, _ := s["items"].(tree)
		if hasDefault || depth > 0 && s["writeOnly"] == true || decidesComparison(propertiesOf(s), depth+1) || decidesComparison(propertiesOf(items), depth+1) {
			return true
		}
	}
	return false
}

// add adds the attribute of a property.
func (p *schemaProperties) add(name string, value any, required, foldCase bool) error {
	if !attributeName().MatchString(name) || name == "ensure" {
		return errors.New("the name cannot be that of an attribute: use letters, digits and _, up to 63")
	}
	from, schema, err := p.structural(value)
	if err != nil {
		return err
	}
	a, err := attribute(name, from, schema)
	if err != nil {
		return err
	}
	a.Required = required && a.Behaviour != v1alpha1.BehaviourReadOnly
	a.CaseInsensitive = foldCase && (definition.Fits(&a, "") || definition.Fits(&a, []any{}) || definition.Fits(&a, map[string]any{}))
	if a.Required {
		p.required = append(p.required, name)
	}
	p.attributes = append(p.attributes, a)
	return nil
}

// structural returns the schema of a property as it was and as a structural one.
func (p *schemaProperties) structural(value any) (from, schema tree, err error) {
	from, ok := value.(tree)
	if !ok && value != true {
		return nil, nil, fmt.Errorf("its schema is %v: leave it out, or give it a type", value)
	}
	c := &converter{}
	if schema, err = c.schema(from); err != nil {
		return nil, nil, err
	}
	p.lossy = p.lossy || c.lossy
	return from, schema, nil
}

// attribute returns the attribute of a property, from its schema before and after the conversion.
func attribute(name string, from, schema tree) (v1alpha1.ExternalAttribute, error) {
	description, _ := schema["description"].(string)
	title, _ := from["title"].(string)
	delete(schema, "description")
	raw, err := json.Marshal(schema)
	a := v1alpha1.ExternalAttribute{
		Name: name, Description: cmp.Or(description, title, "The property "+name+" of DSC."), Schema: &runtime.RawExtension{Raw: raw},
	}
	readOnly, writeOnly := from["readOnly"] == true, from["writeOnly"] == true
	switch {
	case readOnly:
		a.Behaviour = v1alpha1.BehaviourReadOnly
	case writeOnly:
		a.Behaviour = v1alpha1.BehaviourParameter
	}
	a.Sensitive = schema["format"] == "password" || writeOnly && definition.Fits(&a, "")
	return a, err
}

// existence sets the property that says whether an instance exists.
func existence(root, all tree, s *v1alpha1.ExternalTypeSpec) error {
	d := s.DSC
	s.Ensure = &v1alpha1.ExternalEnsure{Values: []string{"present"}}
	if d.Existence == "" {
		if _, ok := propertiesOf(root)[dsc.Exist]; ok {
			d.Existence = dsc.Exist
		} else {
			d.Existence = ensureProperty(all)
		}
	}
	if d.Existence == "" || d.Existence == dsc.Exist {
		return nil
	}
	d.ExistenceValues, s.Ensure.Values = map[string]string{}, nil
	for _, text := range textValues(all[d.Existence]) {
		ensure := strings.ToLower(text[:1]) + text[1:]
		if strings.EqualFold(text, "absent") {
			ensure = "absent"
		} else {
			s.Ensure.Values = append(s.Ensure.Values, ensure)
		}
		d.ExistenceValues[ensure] = text
	}
	if d.ExistenceValues["absent"] == "" || len(s.Ensure.Values) == 0 {
		return fmt.Errorf("properties.%s cannot be the existence of the instance: it needs an enum with Present and Absent", d.Existence)
	}
	if i := slices.IndexFunc(s.Ensure.Values, func(v string) bool { return strings.EqualFold(v, "present") }); i >= 0 {
		s.Ensure.Default = s.Ensure.Values[i]
	}
	return nil
}

// textValues returns the texts that are not empty in the enum of a property.
func textValues(property any) []string {
	schema, _ := property.(tree)
	values, _ := (&converter{}).flattened(schema)["enum"].([]any)
	var all []string
	for _, v := range values {
		if text, _ := v.(string); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// ensureProperty returns the property with the values Present and Absent that is named Ensure; "" if there is none.
func ensureProperty(all tree) string {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		values := textValues(all[name])
		has := func(word string) bool {
			return slices.ContainsFunc(values, func(text string) bool { return strings.EqualFold(text, word) })
		}
		if strings.EqualFold(name, "ensure") && has("present") && has("absent") {
			return name
		}
	}
	return ""
}
