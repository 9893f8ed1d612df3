package manifest

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/aliases"
	"github.com/fettle-dev/fettle/internal/source"
)

// Limits bound what the manifests of somebody else may take.
type Limits struct {
	Objects int // documents, and items of Lists
	Bytes   int // of all documents, with the aliases of YAML written out
}

// An Object is a document, or an item of a List, that was decoded, but not validated.
type Object struct {
	APIVersion, Kind string
	Namespace, Name  string // "" if missing, or no text
	decoded          object
	where            string
}

// String returns the kind, the name and the place: ConfigMap/a in web.yaml:12.
func (o Object) String() string {
	if o.Name == "" {
		return o.Kind + " in " + o.where
	}
	return fmt.Sprintf("%s/%s in %s", o.Kind, o.Name, o.where)
}

// maxOutlined is the number of faults after which an outline ends.
const maxOutlined = 100

// Outline decodes sources one document after the other, and validates nothing. So a caller can find out what they are about before
// it takes the trouble. It ends after maxOutlined faults. The error says which limit is exceeded.
func Outline(ctx context.Context, all []source.Source, limits Limits) (objects []Object, faults []Fault, err error) {
	b := &batch{}
	b.outline = func(o object, h head) {
		name, _ := h.Metadata.Name.(string)
		namespace, _ := h.Metadata.Namespace.(string)
		objects = append(objects, Object{h.APIVersion, h.Kind, namespace, name, o, b.where(o)})
	}
	left := limits.Bytes
	for _, p := range b.splitAll(ctx, all) {
		if _, ok := begins(p.text); !ok {
			continue
		}
		size, err := aliases.Expanded(p.text)
		if left -= size; err == nil && left < 0 {
			return nil, nil, fmt.Errorf("the manifests have more than %d KiB with the aliases of YAML written out: send a part of them", limits.Bytes>>10)
		}
		if o, err := read(p); err != nil {
			b.fault(object{part: p}, "", flaw{"", err.Error()})
		} else {
			b.add(ctx, o)
		}
		if len(objects) > limits.Objects {
			return nil, nil, fmt.Errorf("the manifests have more than %d objects: send a part of them", limits.Objects)
		}
		if len(b.Faults) >= maxOutlined {
			break
		}
	}
	return objects, b.Faults, nil
}

// Validate validates objects like [Types.Read], one after the other.
func (t Types) Validate(ctx context.Context, objects []Object) *Set {
	b := &batch{Set: Set{Types: t}, schemas: allSchemas(), uncached: true}
	for _, o := range objects {
		b.add(ctx, o.decoded)
	}
	b.refuseDuplicates()
	return &b.Set
}
