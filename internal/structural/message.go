package structural

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fettle-dev/fettle/internal/text"
)

// maxValue is how much of a value, in bytes, a message quotes.
const maxValue = 200

// Message returns what is wrong, without the field. It clips a long text, and quotes no other long value.
func Message(f *field.Error) string {
	value, isText := f.BadValue.(string)
	switch {
	case isText && len(value) > maxValue:
		f = &field.Error{Type: f.Type, Field: f.Field, BadValue: text.Clip(value, maxValue), Detail: f.Detail}
	case !isText && len(f.ErrorBody()) > len(f.Detail)+maxValue:
		return MessageWithoutValue(f)
	}
	return f.ErrorBody()
}

// MessageWithoutValue is Message for a value that must not be shown.
func MessageWithoutValue(f *field.Error) string {
	return (&field.Error{Type: f.Type, Field: f.Field, BadValue: field.OmitValueType{}, Detail: f.Detail}).ErrorBody()
}
