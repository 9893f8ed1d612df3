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
	// EntriesOfObject bounds the entries of the lists and maps of one object: the time to find faults grows with the square of their number.
	EntriesOfObject int
	// The others bound all documents together, with the aliases of YAML written out.

	Bytes   int
	Entries int // of lists and maps; each takes up to 1 KiB of memory
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

// Outline decodes sources one document after the other, and validates nothing: a caller can check what they are about before paying
// for [Types.Validate]. It ends after maxOutlined faults. The error says which limit is exceeded, or is the cause of ctx's end.
func Outline(ctx context.Context, all []source.Source, limits Limits) (objects []Object, faults []Fault, err error) {
	b := &batch{}
	b.outline = func(o object, h head) {
		if _, entries := shapeOf(o.raw); entries > limits.EntriesOfObject {
			b.fault(o, h.resource(), fieldError{"", fmt.Sprintf("its lists and maps have more than %d entries: use several objects", limits.EntriesOfObject)})
			return
		}
		name, _ := h.Metadata.Name.(string)
		namespace, _ := h.Metadata.Namespace.(string)
		objects = append(objects, Object{h.APIVersion, h.Kind, namespace, name, o, b.where(o)})
	}
	left := limits
	for _, p := range b.splitAll(ctx, all) {
		if _, ok := firstContent(p.text); !ok {
			continue
		}
		if err := left.spend(p.text, limits); err != nil {
			return nil, nil, err
		}
		if o, err := read(p); err != nil {
			b.fault(object{part: p}, subject{}, fieldError{"", err.Error()})
		} else {
			b.add(ctx, o)
		}
		if len(objects) > limits.Objects {
			return nil, nil, fmt.Errorf("the manifests have more than %d objects: send a part of them", limits.Objects)
		}
		if len(b.Faults) >= maxOutlined || ctx.Err() != nil {
			break
		}
	}
	return objects, b.Faults, context.Cause(ctx)
}

// spend subtracts what a document takes, and returns an error about limits if that is more than is left.
func (l *Limits) spend(document []byte, limits Limits) error {
	size := aliases.Written(document)
	if l.Entries >= size.Entries { // otherwise it is not even parsed
		var err error
		if size, err = aliases.Expanded(document); err != nil {
			return nil //nolint:nilerr // reading the document explains it
		}
	}
	l.Bytes -= size.Bytes
	l.Entries -= size.Entries
	switch {
	case l.Bytes < 0:
		return fmt.Errorf("the manifests have more than %d KiB with the aliases of YAML written out: send a part of them", limits.Bytes>>10)
	case l.Entries < 0:
		return fmt.Errorf("the manifests have more than %d entries of lists and maps with the aliases of YAML written out: send a part of them", limits.Entries)
	}
	return nil
}

// Validate validates objects like [Types.Read], one after the other. It ends after maxOutlined faults, and with ctx.
func (t Types) Validate(ctx context.Context, objects []Object) *Set {
	b := &batch{Set: Set{Types: t}, schemas: allSchemas()}
	for _, o := range objects {
		if b.add(ctx, o.decoded); len(b.Faults) >= maxOutlined || ctx.Err() != nil {
			break
		}
	}
	b.refuseDuplicates()
	return &b.Set
}
