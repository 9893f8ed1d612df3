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
	"github.com/fettle-dev/fettle/internal/aliases"
	"github.com/fettle-dev/fettle/internal/puppet"
	"github.com/fettle-dev/fettle/internal/text"
)

// An object is a document, or an item of a List, as JSON.
type object struct {
	part
	path string // of the item in the document, such as items[0]; "" for the document
	raw  []byte
	// duplicates is the YAML parser's error for duplicate keys.
	duplicates error
}

// read converts a document to JSON.
func read(p part) (object, error) {
	if text := bytes.TrimSpace(p.text); text[0] == '{' {
		if stdjson.Valid(text) {
			return object{part: p, raw: text}, checkDepth(text)
		}
		if err := requireSingle(text); err != nil {
			return object{}, err
		}
	}
	o, err := convert(p)
	if err == nil {
		err = checkDepth(o.raw)
	}
	return o, err
}

// convert converts YAML to JSON.
func convert(p part) (object, error) {
	if err := aliases.Check(p.text); err != nil {
		return object{}, Explain(cmp.Or(aliases.Check(p.padded()), err)) // for the line of the file
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
	return object{part: p, raw: raw, duplicates: Explain(strict)}, nil
}

// maxDepth is how deep the lists and maps of a document may be nested. Those of Kubernetes objects are much flatter, and much
// that reads an object takes time for each level of each value.
const maxDepth = 100

// checkDepth returns an error if JSON is nested too deeply.
func checkDepth(raw []byte) error {
	if depth, _ := shapeOf(raw); depth > maxDepth {
		return fmt.Errorf("lists and maps are nested more than %d levels deep: nest fewer", maxDepth)
	}
	return nil
}

// shapeOf returns how deep the lists and maps of JSON are nested, and how many entries they have, at most.
func shapeOf(raw []byte) (depth, entries int) {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\': // in a text: what it escapes does not end that
			i++
		case quoted:
		case c == ',':
			entries++
		case c == '{' || c == '[':
			entries++
			level++
		case c == '}' || c == ']':
			level--
		}
		depth = max(depth, level)
	}
	return depth, entries
}

// requireSingle returns an error if JSON has anything after its first object, which a YAML parser would
// ignore.
func requireSingle(doc []byte) error {
	d := stdjson.NewDecoder(bytes.NewReader(doc))
	var first stdjson.RawMessage
	if d.Decode(&first) == nil && d.More() {
		return errors.New("another object follows the first: put a line --- between them")
	}
	return nil // invalid JSON may be YAML
}

// decode decodes strictly, like an API server: field names are case-sensitive,
// and unknown or duplicate ones are field errors.
func decode(raw []byte, into any) []fieldError {
	strict, err := json.UnmarshalStrict(raw, into)
	var errs []fieldError
	if mistake, ok := errors.AsType[*stdjson.UnmarshalTypeError](err); ok {
		errs = append(errs, mistakenType(mistake))
	} else if err != nil {
		errs = append(errs, fieldError{"", Explain(err).Error()})
	}
	for _, s := range firstOf(strict) {
		errs = append(errs, fieldError{"", s.Error()})
	}
	return errs
}

// maxLists is how deep Lists may be nested: each level is decoded once more.
const maxLists = 3

// A list is any List of objects, such as kubectl get -o yaml prints.
type list struct {
	metav1.TypeMeta `json:",inline"`
	Items           []stdjson.RawMessage `json:"items"`
}

// add adds an object to the set.
func (b *batch) add(ctx context.Context, o object) {
	var h head
	if err := json.UnmarshalCaseSensitivePreserveInts(o.raw, &h); err != nil {
		b.fault(o, subject{}, fieldError{"", Explain(err).Error()})
		return
	}
	if b.declaring {
		b.declare(ctx, o, h)
		return
	}
	switch {
	case h.Kind == "":
		b.fault(o, subject{}, fieldError{"", "kind is missing: is this a Kubernetes object?"})
	case strings.HasSuffix(h.Kind, "List"):
		b.addList(ctx, o)
	case b.outline != nil:
		b.outline(o, h)
	default:
		b.addObject(ctx, o, h)
	}
}

// addObject adds an object that is no List.
func (b *batch) addObject(ctx context.Context, o object, h head) {
	switch gvk := h.GroupVersionKind(); {
	case gvk == corev1.SchemeGroupVersion.WithKind("ConfigMap"):
		var c corev1.ConfigMap
		if b.decoded(o, h, &c) {
			b.ConfigMaps = append(b.ConfigMaps, &c)
			if _, tree, err := withoutStatus(o.raw); err == nil { // as it was decoded before
				b.cached.add(o, h.Kind, tree, b.line)
			}
		}
	case gvk == corev1.SchemeGroupVersion.WithKind("Secret"):
		var s corev1.Secret
		if b.decoded(o, h, &s) {
			b.Secrets = append(b.Secrets, &s)
		}
		b.cached.skip()
	default:
		b.addOther(ctx, o, h)
	}
}

// addOther adds a resource, or ignores an object of another group.
func (b *batch) addOther(ctx context.Context, o object, h head) {
	group, _, _ := strings.Cut(h.APIVersion, "/")
	switch {
	case group == v1alpha1.ExternalGroupVersion.Group:
		b.addExternal(ctx, o, h)
	case !strings.Contains(group, ".") && isKind(h.Kind): // the groups of Kubernetes without a dot have none of the kinds
		b.reject(o, h.other(), fieldError{"apiVersion", noVersion(h)})
	case group != v1alpha1.GroupVersion.Group:
		if !definesExternal(h) {
			b.Ignored = append(b.Ignored, fmt.Sprintf("%s in %s", h, b.where(o)))
		}
		b.cached.skip()
	case h.APIVersion != v1alpha1.GroupVersion.String():
		b.reject(o, h.other(), fieldError{"apiVersion", fmt.Sprintf("unknown version %s; use %s", h.APIVersion, v1alpha1.GroupVersion)})
	case h.Kind == externalType:
		b.cached.skip() // it was declared before
	case h.Kind == rolloutPolicy:
		b.addPolicy(ctx, o, h)
	default:
		b.addResource(ctx, o, h)
	}
}

// noVersion answers the version of a kind of Fettle that is of no group with a domain.
func noVersion(h head) string {
	if h.APIVersion == "" {
		return "missing; write apiVersion: " + v1alpha1.GroupVersion.String()
	}
	return fmt.Sprintf("no API has %s in %s; use %s", h.Kind, h.APIVersion, v1alpha1.GroupVersion)
}

func (b *batch) addList(ctx context.Context, o object) {
	var l list
	if err := json.UnmarshalCaseSensitivePreserveInts(o.raw, &l); err != nil {
		b.fault(o, subject{}, fieldError{"", Explain(err).Error()})
		return
	}
	if o.duplicates != nil {
		b.fault(o, subject{}, fieldError{"", o.duplicates.Error()})
		return
	}
	if strings.Count(o.path, "items[") >= maxLists {
		b.fault(o, subject{}, fieldError{"", fmt.Sprintf("Lists are nested more than %d levels deep: use fewer", maxLists)})
		return
	}
	for i, item := range l.Items {
		b.add(ctx, object{part: o.part, path: joined(o.path, fmt.Sprintf("items[%d]", i)), raw: item})
	}
}

// decoded decodes an object that is not a resource.
func (b *batch) decoded(o object, h head, into metav1.Object) bool {
	errs := decode(o.raw, into)
	if o.duplicates != nil {
		errs = append(errs, fieldError{"", o.duplicates.Error()})
	}
	if len(errs) > 0 {
		b.fault(o, h.other(), errs...)
	}
	return len(errs) == 0
}

func (b *batch) addResource(ctx context.Context, o object, h head) {
	r := v1alpha1.NewResource(h.Kind)
	if r == nil {
		b.reject(o, h.other(), fieldError{"kind", unknownKind(h.Kind)})
		return
	}
	if h.nameless() {
		b.reject(o, subject{}, fieldError{"metadata.name", "is missing: give this " + h.Kind + " a name"})
		return
	}
	k, err := b.schemas[h.Kind]()
	if err != nil {
		b.reject(o, h.resource(), fieldError{"", err.Error()})
		return
	}
	k.types = b.Types
	errs, tree := check(ctx, o, k, r)
	if o.duplicates != nil {
		errs = append(errs, fieldError{"", o.duplicates.Error()})
	}
	if len(errs) > 0 {
		b.reject(o, h.resource(), errs...)
		b.Fragments = append(b.Fragments, fragment(h, o.raw))
		return
	}
	b.Documents = append(b.Documents, Document{b.line(o), o.file, o.path, r, o.text, o.line})
	b.cached.add(o, h.Kind, tree, b.line)
}

// fragment returns what can be read of an invalid resource: the fields of its spec that can be decoded.
func fragment(h head, raw []byte) v1alpha1.Resource {
	_, name, _ := strings.Cut(string(h.ref()), "/")
	r := v1alpha1.NamedResource(h.Kind, name)
	var all struct {
		Spec map[string]stdjson.RawMessage `json:"spec"`
	}
	if json.UnmarshalCaseSensitivePreserveInts(raw, &all) != nil {
		return r
	}
	for field, value := range all.Spec {
		if one, err := stdjson.Marshal(map[string]any{"spec": map[string]any{field: value}}); err == nil {
			_ = json.UnmarshalCaseSensitivePreserveInts(one, r) // one that cannot be decoded is missing
		}
	}
	return r
}

// check decodes an object and returns what an API server would reject, and the tree of values that it would store.
// Field errors from the schema are preferred: they are clearer than errors of the decoder.
func check(ctx context.Context, o object, k kindSchema, into metav1.Object) (errs []fieldError, tree map[string]any) {
	raw, tree, err := withoutStatus(o.raw)
	if err != nil {
		return []fieldError{{"", Explain(err).Error()}}, nil
	}
	mistakes := decode(raw, into)
	errs = k.check(ctx, tree)
	switch {
	case len(mistakes) > 0 && len(errs) == 0:
		return mistakes, tree
	case len(mistakes) > 0:
		return errs, tree
	}
	for _, f := range firstOf(apivalidation.ValidateObjectMetaAccessor(into, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))) {
		errs = append(errs, k.rewordMetadata(f, tree))
	}
	return errs, tree
}

// withoutStatus decodes an object into a tree of values, without its status, which an API server ignores
// when users write it.
func withoutStatus(raw []byte) ([]byte, map[string]any, error) {
	var tree map[string]any
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, &tree); err != nil { // the schema distinguishes 1 from 1.0
		return raw, nil, err
	}
	if _, there := tree["status"]; !there {
		return raw, tree, nil
	}
	delete(tree, "status")
	raw, err := stdjson.Marshal(tree)
	return raw, tree, err
}

func isKind(kind string) bool {
	return slices.ContainsFunc(v1alpha1.Resources(), func(r v1alpha1.Resource) bool { return r.KindName() == kind })
}

func unknownKind(kind string) string {
	names := map[string]bool{}
	var all []string
	for _, r := range v1alpha1.Resources() {
		names[r.KindName()], all = true, append(all, r.KindName())
	}
	if said := puppet.Kind(kind); said != "" {
		return fmt.Sprintf("unknown kind %s; %s", kind, said)
	}
	if near := nearest(kind, names); near != "" {
		return fmt.Sprintf("unknown kind %s; did you mean %s?", kind, near)
	}
	return fmt.Sprintf("unknown kind %s; use one of %s", kind, strings.Join(all, ", "))
}

// reject records the field errors of a resource, which is not in the set then.
func (b *batch) reject(o object, s subject, errs ...fieldError) {
	b.Rejected++
	b.fault(o, s, errs...)
}

// fault records the field errors of an object, and its duplicate keys, in the order of their lines: at most maxFieldErrors.
func (b *batch) fault(o object, s subject, errs ...fieldError) {
	b.cached.skip()
	l := b.layout(o.part)
	all := l.duplicates(o.path)
	for _, f := range firstOf(errs) {
		if f.path == "" && len(all) > 0 {
			continue // the decoder's error about the same keys
		}
		all = append(all, locatedError{f, l.line(joined(o.path, f.path))})
	}
	slices.SortStableFunc(all, func(a, b locatedError) int { return cmp.Compare(a.line, b.line) })
	if len(all) > maxFieldErrors {
		all = append(all[:maxFieldErrors], locatedError{fieldError{"", "and more: correct these first"}, all[maxFieldErrors].line})
	}
	for _, p := range all {
		where := o.file
		if p.line > 0 {
			where = fmt.Sprintf("%s:%d", o.file, p.line)
		}
		b.Faults = append(b.Faults, Fault{where, s.ref, s.object, text.Clip(p.String(), maxMessage)})
	}
}
