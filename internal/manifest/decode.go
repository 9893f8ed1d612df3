package manifest

import (
	"bytes"
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// An object is a document, or an item of a List in one, as JSON.
type object struct {
	part
	path string // of the item in the document, as in items[0]; "" for the document
	raw  []byte
	// repeats says that a key is there twice, as a reader of YAML tells it.
	repeats error
}

// read makes JSON of a document.
func read(p part) (object, error) {
	if text := bytes.TrimSpace(p.text); text[0] == '{' {
		if err := alone(text); err != nil {
			return object{}, err
		}
		if stdjson.Valid(text) {
			return object{part: p, raw: text}, nil
		}
	}
	raw, strict := yaml.YAMLToJSONStrict(p.text)
	if strict == nil {
		return object{part: p, raw: raw}, nil
	}
	raw, err := yaml.YAMLToJSON(p.text)
	if err != nil {
		_, err = yaml.YAMLToJSON(p.padded()) // for the line of the file
		return object{}, Explain(cmp.Or(err, strict))
	}
	return object{part: p, raw: raw, repeats: Explain(strict)}, nil
}

// alone refuses JSON that has something after its first object: a decoder of YAML
// would never look at it.
func alone(doc []byte) error {
	d := stdjson.NewDecoder(bytes.NewReader(doc))
	var first stdjson.RawMessage
	if d.Decode(&first) == nil && d.More() {
		return errors.New("another object follows the first: put a line --- between them")
	}
	return nil // what is no JSON is YAML
}

// head is what says what an object is.
type head struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name any `json:"name"` // what it must be is said of the resource
	} `json:"metadata"`
}

// ref is "" unless the object has a name that a resource may have: one that could not be
// told from another is as good as none.
func (h head) ref() v1alpha1.ResourceRef {
	name, ok := h.Metadata.Name.(string)
	if !ok || len(apivalidation.NameIsDNSSubdomain(name, false)) > 0 {
		return ""
	}
	return v1alpha1.ResourceRef(h.Kind + "/" + name)
}

// String is kind and name, where it has one.
func (h head) String() string {
	if h.Metadata.Name == nil {
		return h.Kind
	}
	return fmt.Sprintf("%s/%v", h.Kind, h.Metadata.Name)
}

// decode decodes strictly, as an API server does: field names are case-sensitive,
// and an unknown or repeated one is a flaw.
func decode(raw []byte, into any) []flaw {
	strict, err := json.UnmarshalStrict(raw, into)
	var flaws []flaw
	if mistake, ok := errors.AsType[*stdjson.UnmarshalTypeError](err); ok {
		flaws = append(flaws, mistakenType(mistake))
	} else if err != nil {
		flaws = append(flaws, flaw{"", Explain(err).Error()})
	}
	for _, s := range strict {
		flaws = append(flaws, flaw{"", s.Error()})
	}
	return flaws
}

// A list is any List of objects, as kubectl get -o yaml prints it.
type list struct {
	metav1.TypeMeta `json:",inline"`
	Items           []stdjson.RawMessage `json:"items"`
}

// add adds what an object is to the set.
func (b *batch) add(ctx context.Context, o object) {
	var h head
	if err := json.UnmarshalCaseSensitivePreserveInts(o.raw, &h); err != nil {
		b.fault(o, "", flaw{"", Explain(err).Error()})
		return
	}
	switch gvk := h.GroupVersionKind(); {
	case h.Kind == "":
		b.fault(o, "", flaw{"", "kind is missing: is this a Kubernetes object?"})
	case strings.HasSuffix(h.Kind, "List"):
		b.addList(ctx, o)
	case gvk == corev1.SchemeGroupVersion.WithKind("ConfigMap"):
		var c corev1.ConfigMap
		if b.decoded(o, &c) {
			b.ConfigMaps = append(b.ConfigMaps, &c)
			b.keep(o, h.Kind)
		}
	case gvk == corev1.SchemeGroupVersion.WithKind("Secret"):
		var s corev1.Secret
		if b.decoded(o, &s) {
			b.Secrets = append(b.Secrets, &s)
		}
		b.uncached = true
	default:
		b.addOther(ctx, o, h)
	}
}

// addOther is for resources, and for what is of no concern here.
func (b *batch) addOther(ctx context.Context, o object, h head) {
	group, _, _ := strings.Cut(h.APIVersion, "/")
	switch {
	case group != v1alpha1.GroupVersion.Group:
		b.Ignored = append(b.Ignored, fmt.Sprintf("%s in %s", h, b.where(o)))
		b.uncached = true
	case h.APIVersion != v1alpha1.GroupVersion.String():
		b.fault(o, "", flaw{"apiVersion", fmt.Sprintf("%s is not known; write %s", h.APIVersion, v1alpha1.GroupVersion)})
	default:
		b.addResource(ctx, o, h)
	}
}

func (b *batch) addList(ctx context.Context, o object) {
	var l list
	if err := json.UnmarshalCaseSensitivePreserveInts(o.raw, &l); err != nil {
		b.fault(o, "", flaw{"", Explain(err).Error()})
		return
	}
	if o.repeats != nil {
		b.fault(o, "", flaw{"", o.repeats.Error()})
		return
	}
	for i, item := range l.Items {
		b.add(ctx, object{part: o.part, path: joined(o.path, fmt.Sprintf("items[%d]", i)), raw: item})
	}
}

// decoded decodes what is no resource.
func (b *batch) decoded(o object, into metav1.Object) bool {
	flaws := decode(o.raw, into)
	if o.repeats != nil {
		flaws = append(flaws, flaw{"", o.repeats.Error()})
	}
	if len(flaws) > 0 {
		b.fault(o, "", flaws...)
	}
	return len(flaws) == 0
}

func (b *batch) addResource(ctx context.Context, o object, h head) {
	r := v1alpha1.NewResource(h.Kind)
	if r == nil {
		b.fault(o, "", flaw{"kind", unknownKind(h.Kind)})
		return
	}
	if h.Metadata.Name == nil {
		b.fault(o, "", flaw{"metadata.name", "is missing: give this " + h.Kind + " a name"})
		return
	}
	flaws := b.check(ctx, o, r)
	if o.repeats != nil {
		flaws = append(flaws, flaw{"", o.repeats.Error()})
	}
	if len(flaws) > 0 {
		b.fault(o, h.ref(), flaws...)
		return
	}
	b.Documents = append(b.Documents, Document{b.line(o), o.file, o.path, r})
	b.keep(o, h.Kind)
}

// check decodes a resource, and is what an API server would say against it. The schema says
// it best: the decoder is quoted on what the schema does not know.
func (b *batch) check(ctx context.Context, o object, r v1alpha1.Resource) []flaw {
	k, err := b.schemas[r.KindName()]()
	if err != nil {
		return []flaw{{"", err.Error()}}
	}
	raw, tree, err := withoutStatus(o.raw)
	if err != nil {
		return []flaw{{"", Explain(err).Error()}}
	}
	mistakes := decode(raw, r)
	flaws := k.check(ctx, tree)
	switch {
	case len(mistakes) > 0 && len(flaws) == 0:
		return mistakes
	case len(mistakes) > 0:
		return flaws
	}
	for _, f := range apivalidation.ValidateObjectMetaAccessor(r, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")) {
		flaws = append(flaws, flaw{f.Field, f.ErrorBody()})
	}
	return flaws
}

// withoutStatus decodes an object into a tree of values, apart from its status: an API
// server has no use for what others write there.
func withoutStatus(raw []byte) ([]byte, map[string]any, error) {
	var tree map[string]any
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, &tree); err != nil { // to the schema 1 is no 1.0
		return raw, nil, err
	}
	if _, there := tree["status"]; !there {
		return raw, tree, nil
	}
	delete(tree, "status")
	raw, err := stdjson.Marshal(tree)
	return raw, tree, err
}

func unknownKind(kind string) string {
	names := map[string]bool{}
	var all []string
	for _, r := range v1alpha1.Resources() {
		names[r.KindName()], all = true, append(all, r.KindName())
	}
	if near := nearest(kind, names); near != "" {
		return fmt.Sprintf("%s is not known; did you mean %s?", kind, near)
	}
	return fmt.Sprintf("%s is not known; there are %s", kind, strings.Join(all, ", "))
}

// fault records what is wrong with an object, in the order of its lines, and the keys that
// it has twice.
func (b *batch) fault(o object, ref v1alpha1.ResourceRef, flaws ...flaw) {
	b.uncached = true
	l := layoutOf(o.part)
	all := l.duplicates(o.path)
	for _, f := range flaws {
		if f.path == "" && len(all) > 0 {
			continue // a decoder's word for them
		}
		all = append(all, placed{f, l.line(joined(o.path, f.path))})
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.line, b.line) })
	for _, p := range all {
		where := o.file
		if p.line > 0 {
			where = fmt.Sprintf("%s:%d", o.file, p.line)
		}
		b.Faults = append(b.Faults, Fault{where, ref, p.String()})
	}
}
