package manifest

import (
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/structural"
)

// A Fault is an error in a document, or a file that cannot be read.
type Fault struct {
	// Where is the file and, if known, the line: web.yaml:12. It is "" if Message has it.
	Where string
	// Ref is the resource that the document describes; "" if that is unknown, or its name is invalid.
	Ref v1alpha1.ResourceRef
	// Object is what the document calls itself, such as User/John_Doe. It is "" if that is missing, or Ref.
	Object string
	// Message names the field, the value and the remedy. It contains no sensitive attribute.
	Message string
}

// Error returns place, resource and message.
func (f Fault) Error() string {
	text := f.Message
	if about := f.About(); about != "" {
		text = about + ": " + text
	}
	if f.Where != "" {
		text = f.Where + ": " + text
	}
	return text
}

// About returns the resource, or what the document calls itself; "" if neither is known.
func (f Fault) About() string { return cmp.Or(string(f.Ref), f.Object) }

// A fieldError is an error in one field of a document.
type fieldError struct {
	path string // such as spec.require[1]; "" for the whole document
	text string
}

func (f fieldError) String() string {
	if f.path == "" || f.path == wholeObject {
		return f.text
	}
	return f.path + ": " + f.text
}

// maxFieldErrors is how many field errors of an object are explained: their author corrects these first. So an object with a million takes as
// long as one with few.
const maxFieldErrors = 50

// maxMessage is the length of the longest explanation, in bytes.
const maxMessage = 2000

// firstOf returns the first values, more than maxFieldErrors only if there are.
func firstOf[T any](all []T) []T { return all[:min(len(all), maxFieldErrors+1)] }

// passwordFormat marks the attributes whose values must not be shown.
const passwordFormat = "password"

// nodeSelector is the field that all resources must have.
const nodeSelector = "spec.nodeSelector"

// wholeObject is the field of an API server's errors about no field.
const wholeObject = "<nil>"

// reword rewords an API server's error for the author of a manifest.
func (k kindSchema) reword(f *field.Error, object map[string]any) fieldError {
	if said := k.foreignValue(f, object); said != "" {
		return fieldError{f.Field, said}
	}
	at := k.at(f.Field)
	if value, found := lookup(object, f.Field); found && at != nil {
		if is, must := typeOf(value), wanted(at); is != must && f.Type == field.ErrorTypeTypeInvalid {
			return fieldError{f.Field, mistyped(must, is, value)}
		}
	}
	if k.hides(f.Field) || at != nil && at.ValueValidation != nil && at.ValueValidation.Format == passwordFormat {
		return fieldError{f.Field, structural.MessageWithoutValue(f)}
	}
	return fieldError{f.Field, structural.Message(f) + remedy(f)}
}

// remedy is what an API server does not say.
func remedy(f *field.Error) string {
	if f.Field == nodeSelector && f.Type == field.ErrorTypeRequired {
		return ": write nodeSelector: {} for every node, as for a host without a cluster"
	}
	return ""
}

// hides reports whether a field is sensitive, or a part of one that is.
func (k kindSchema) hides(path string) bool {
	return slices.ContainsFunc(k.sensitive, func(field string) bool {
		rest, ok := strings.CutPrefix(path, field)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// unknown is the message for an unknown field. It suggests a similar one.
func (k kindSchema) unknown(path string) string {
	all := steps(path)
	if len(all) == 0 {
		return "unknown field"
	}
	if said := k.misplaced(all); said != "" {
		return "unknown field; " + said
	}
	parent := k.walk(all[:len(all)-1])
	if parent == nil {
		return "unknown field"
	}
	if said := k.foreignField(all, parent); said != "" {
		return "unknown field; " + said
	}
	if near := nearest(all[len(all)-1], parent.Properties); near != "" {
		return fmt.Sprintf("unknown field; did you mean %s?", near)
	}
	return "unknown field"
}

// misplaced says where an unknown field belongs, if it is known at another depth; "" otherwise.
func (k kindSchema) misplaced(path []string) string {
	switch {
	case len(path) == 1 && k.at("spec."+path[0]) != nil:
		return "write it below spec"
	case len(path) > 2 && strings.Join(path[:2], ".") == nodeSelector && k.walk(path[:3]) == nil: // the name of a label may have dots
		return "write labels below matchLabels, as in nodeSelector: {matchLabels: {role: web}}"
	}
	return ""
}

// at returns the schema of a field, nil if it has none.
func (k kindSchema) at(path string) *schema.Structural { return k.walk(steps(path)) }

func (k kindSchema) walk(path []string) *schema.Structural {
	at := k.Tree
	for _, step := range path {
		switch {
		case at.Items != nil:
			at = at.Items
		case at.AdditionalProperties != nil && at.AdditionalProperties.Structural != nil:
			at = at.AdditionalProperties.Structural
		default:
			next, ok := at.Properties[step]
			if !ok {
				return nil
			}
			at = &next
		}
	}
	return at
}

// steps splits a path: spec.require[1] is spec, require and 1.
func steps(path string) []string {
	var out []string
	for path != "" {
		if inside, ok := strings.CutPrefix(path, "["); ok {
			step, rest, _ := strings.Cut(inside, "]")
			out, path = append(out, step), strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			return append(out, path)
		}
		out, path = append(out, path[:end]), strings.TrimPrefix(path[end:], ".")
	}
	return out
}

func lookup(value any, path string) (any, bool) {
	for _, step := range steps(path) {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			var n int
			if _, err := fmt.Sscan(step, &n); err != nil || n < 0 || n >= len(v) {
				return nil, false
			}
			value = v[n]
		default:
			return nil, false
		}
	}
	return value, true
}

// The types of values in the terms of YAML.
const (
	aString  = "a string"
	aNumber  = "a number"
	aWhole   = "a whole number"
	aBool    = "true or false"
	aList    = "a list"
	anObject = "an object"
)

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return aString
	case bool:
		return aBool
	case []any:
		return aList
	case map[string]any:
		return anObject
	default:
		return aNumber
	}
}

func wanted(s *schema.Structural) string {
	if s.XIntOrString {
		return aWhole + " or " + aString
	}
	return map[string]string{
		"string": aString, "boolean": aBool, "integer": aWhole, "number": aNumber, "array": aList, "object": anObject,
	}[s.Type]
}

// mistyped says what a value must be, and how to write it if it is known and only its form is wrong.
func mistyped(must, is string, value any) string {
	text := fmt.Sprintf("must be %s, not %s", must, is)
	switch {
	case is == "null":
		return text + ": remove the field, or give it a value"
	case must == aString && (is == aNumber || is == aBool):
		return text + ": put it in quotes"
	case is == aString && fits(must, value):
		return text + ": write it without quotes"
	case must == aList:
		return text + ": write it as [a, b]"
	}
	return text
}

// fits reports whether a text would be a number or boolean in YAML if it had no quotes.
func fits(must string, value any) bool {
	text, known := value.(string)
	var bare any
	if err := yaml.Unmarshal([]byte(text), &bare); err != nil || !known {
		return false
	}
	number, isNumber := bare.(float64)
	_, isBool := bare.(bool)
	return must == aBool && isBool || must == aNumber && isNumber || must == aWhole && isNumber && number == math.Trunc(number)
}

// Explain rewords a decoder's error for the author of the text, without Go's types and wrapping.
func Explain(err error) error {
	if mistake, ok := errors.AsType[*stdjson.UnmarshalTypeError](err); ok {
		return errors.New(mistakenType(mistake).String())
	}
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "error unmarshaling JSON: ")
	text = strings.TrimPrefix(text, "while decoding JSON: ")
	return errors.New(strings.TrimPrefix(text, "json: "))
}

// mistakenType names the field, its type and the type of its value.
func mistakenType(e *stdjson.UnmarshalTypeError) fieldError {
	var path []string
	for name := range strings.SplitSeq(e.Field, ".") {
		if name != "" && !('A' <= name[0] && name[0] <= 'Z') { // the name of an embedded struct
			path = append(path, name)
		}
	}
	is := map[string]string{"string": aString, "number": aNumber, "bool": aBool, "array": aList, "object": anObject}[strings.Fields(e.Value)[0]]
	if len(path) == 0 {
		return fieldError{"", fmt.Sprintf("is %s, not an object with apiVersion, kind, metadata and spec", is)}
	}
	return fieldError{strings.Join(path, "."), mistyped(goType(e.Type), cmp.Or(is, e.Value), nil)}
}

// goType is a Go type in the terms of YAML.
func goType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return goType(t.Elem())
	case reflect.String:
		return aString
	case reflect.Bool:
		return aBool
	case reflect.Slice:
		return aList
	case reflect.Struct, reflect.Map:
		return anObject
	default:
		return aWhole
	}
}

// Join returns all faults as one error; nil for none.
func Join(faults []Fault) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}
