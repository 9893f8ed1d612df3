package externalkinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// mismatch returns how a definition differs from the one that the type defines; "" if it does not. It looks only at what the
// type says. The rest comes from the version of Fettle that wrote the definition, which may be an older one.
func (u *usable) mismatch(d *definition) string {
	if d.kind != u.definition.Spec.Kind {
		return fmt.Sprintf("its kind is %s, not %s", d.kind, u.definition.Spec.Kind)
	}
	var differ []string
	names := maps.Clone(u.schemas)
	maps.Copy(names, d.schemas)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !reflect.DeepEqual(u.schemas[name], d.schemas[name]) {
			differ = append(differ, name)
		}
	}
	if len(differ) > 0 {
		return "it has other schemas of " + text.List(differ)
	}
	return ""
}

// schemasOf returns the schemas of ensure and of the attributes by name, without descriptions, as trees of JSON.
func schemasOf(crd *apiextensionsv1.CustomResourceDefinition) map[string]any {
	all := map[string]any{}
	for _, v := range crd.Spec.Versions {
		if v.Name != v1alpha1.ExternalGroupVersion.Version || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
		for name, s := range spec.Properties["properties"].Properties {
			all[name] = tree(s)
		}
		all["ensure"] = tree(spec.Properties["ensure"])
	}
	return all
}

func tree(s apiextensionsv1.JSONSchemaProps) any {
	var out any
	raw, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return err.Error() // no schema that an API server accepted
	}
	return withoutDescriptions(out)
}

// withoutDescriptions leaves out the members of objects that are called description and are text.
func withoutDescriptions(v any) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(name string, member any) bool {
			_, isText := member.(string)
			return name == "description" && isText
		})
		for name := range v {
			v[name] = withoutDescriptions(v[name])
		}
	case []any:
		for i := range v {
			v[i] = withoutDescriptions(v[i])
		}
	}
	return v
}
