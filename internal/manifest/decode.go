package manifest

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Malformed document is a resource, as it says, with fields that no such one has or
// of other types.
type Malformed struct {
	Document
	Err error
}

// Error says where the document stands and what is wrong with it.
func (m *Malformed) Error() string {
	return fmt.Sprintf("%s: %s: %v", m.Source, m.Resource.KindName(), m.Err)
}

// An object is a document as JSON.
type object struct {
	raw    []byte
	strict error           // what only a strict reader minds: a key that is there twice
	what   metav1.TypeMeta // where reading it told already
}

// read makes JSON of a document, once; in scratch, if that is given and serves.
func read(doc []byte, scratch *[]byte) (object, error) {
	if text := bytes.TrimSpace(doc); text[0] == '{' {
		if err := alone(text); err != nil {
			return object{}, err
		}
		if stdjson.Valid(text) {
			return object{raw: text}, nil
		}
	}
	if scratch == nil {
		scratch = new([]byte)
	}
	if raw, what, ok := plain(doc, *scratch); ok {
		*scratch = raw
		return object{raw: raw, what: what}, nil
	}
	raw, strict := yaml.YAMLToJSONStrict(doc)
	if strict == nil {
		return object{raw: raw}, nil
	}
	raw, err := yaml.YAMLToJSON(doc)
	if err != nil {
		return object{}, Explain(err)
	}
	return object{raw: raw, strict: Explain(strict)}, nil
}

// head is what says what the object is. Of one of ours that may be known without its name.
func (o object) head() (h head, err error) {
	if group(o.what.APIVersion) == v1alpha1.GroupVersion.Group {
		return head{TypeMeta: o.what}, nil
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(o.raw, &h); err != nil {
		return h, Explain(err)
	}
	return h, nil
}

// decode decodes strictly, as an API server does: field names are case-sensitive,
// and an unknown or repeated one is an error that gives its path.
func (o object) decode(into any) error {
	if o.strict != nil {
		return o.strict
	}
	strict, err := json.UnmarshalStrict(o.raw, into)
	if err != nil {
		err = Explain(err)
	}
	return errors.Join(append(strict, err)...)
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

// Explain says what a decoder's error means to who wrote the text: without its layers
// and Go's names.
func Explain(err error) error {
	if mistyped, ok := errors.AsType[*stdjson.UnmarshalTypeError](err); ok {
		return mistake(mistyped)
	}
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "error unmarshaling JSON: ")
	text = strings.TrimPrefix(text, "while decoding JSON: ")
	return errors.New(strings.TrimPrefix(text, "json: "))
}

// mistake says which field has a value of which type.
func mistake(e *stdjson.UnmarshalTypeError) error {
	var path []string
	for name := range strings.SplitSeq(e.Field, ".") {
		if name != "" && !('A' <= name[0] && name[0] <= 'Z') { // one of an embedded struct
			path = append(path, name)
		}
	}
	if len(path) == 0 {
		return fmt.Errorf("is a %s and no object with apiVersion, kind, metadata and spec", e.Value)
	}
	return fmt.Errorf("%s is a %s and must be %s", strings.Join(path, "."), e.Value, wanted(e.Type))
}

// wanted is a Go type in the words of who writes YAML.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.String:
		return "a string: put it in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list, as [a, b]"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "a whole number"
	}
}

// isEmpty reports whether a document has nothing but comments.
func isEmpty(doc []byte) bool {
	for line := range bytes.Lines(doc) {
		if l := bytes.TrimSpace(line); len(l) > 0 && l[0] != '#' && string(l) != "---" {
			return false
		}
	}
	return true
}
