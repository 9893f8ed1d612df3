package expression

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types/ref"
)

// MaxCost limits one evaluation. A unit is about a nanosecond of time, or half a byte of allocated memory; memory that is
// freed counts, too.
const MaxCost = 100_000_000

// ErrTooCostly is the error of an evaluation that exceeds [MaxCost].
var ErrTooCostly = errors.New("it exceeds the limit of one evaluation, about 100 ms or 48 MiB: loop over less, or generate less text and shorter lists")

// ErrCutOff is the error of an evaluation that costs more than its caller allows, which is less than [MaxCost].
var ErrCutOff = errors.New("it costs more than the remaining budget")

// A budget counts the spent and the remaining cost of one evaluation. It is not safe for concurrent use.
type budget struct{ spent, limit int }

func (b *budget) reset(limit int) { *b = budget{limit: min(limit, MaxCost)} }

// charge spends a cost, or returns ErrTooCostly or ErrCutOff. After a failure nothing remains.
func (b *budget) charge(cost int) error {
	if cost <= b.limit-b.spent {
		b.spent += cost
		return nil
	}
	b.spent = b.limit
	if b.limit < MaxCost {
		return ErrCutOff
	}
	return ErrTooCostly
}

// times multiplies without overflow. Negative factors count as zero.
func times(a, b int) int {
	a, b = max(a, 0), max(b, 0)
	if b > 0 && a > MaxCost/b {
		return MaxCost + 1
	}
	return a * b
}

// maxDepth limits how deep lists and maps that functions read are nested, because functions recurse into them.
const maxDepth = 64

var errDeep = fmt.Errorf("%w: lists and maps are nested more than %d deep", ErrTooCostly, maxDepth)

// valueSize is the size of any value, in bytes: an interface and its header.
const valueSize = 32

// A scale measures values written out, in bytes: a value that occurs twice counts twice. It stops at the limit.
type scale struct{ total, limit int }

// sizeOf measures values of Go or CEL. The result is larger than limit if the values are.
func sizeOf(limit int, values ...reflect.Value) (int, error) {
	s := scale{limit: limit}
	for _, v := range values {
		if err := s.add(v, 0); err != nil {
			return 0, err
		}
	}
	return s.total, nil
}

func (s *scale) add(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	s.total += valueSize
	switch v = concrete(v); v.Kind() {
	case reflect.String:
		s.total += v.Len()
	case reflect.Map:
		for i := v.MapRange(); i.Next() && s.total <= s.limit; {
			if err := errors.Join(s.add(i.Key(), depth+1), s.add(i.Value(), depth+1)); err != nil {
				return errDeep
			}
		}
	case reflect.Slice, reflect.Array:
		return s.addList(v, depth+1)
	default: // a number or a bool
	}
	return nil
}

func (s *scale) addList(v reflect.Value, depth int) error {
	if v.Type().Elem().Kind() <= reflect.Complex128 {
		s.total += valueSize * v.Len()
		return nil
	}
	for i := 0; i < v.Len() && s.total <= s.limit; i++ {
		if err := s.add(v.Index(i), depth); err != nil {
			return err
		}
	}
	return nil
}

// concrete unwraps an interface, a pointer or a value of CEL.
func concrete(v reflect.Value) reflect.Value {
	for v.IsValid() && v.CanInterface() {
		if val, ok := reflect.TypeAssert[ref.Val](v); ok {
			return reflect.ValueOf(val.Value())
		}
		if v.Kind() != reflect.Interface && v.Kind() != reflect.Pointer || v.IsNil() {
			break
		}
		v = v.Elem()
	}
	return v
}

// count returns the number of values and of their direct elements.
func count(values []reflect.Value) int {
	total := len(values)
	for _, v := range values {
		switch v = concrete(v); v.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map:
			total += v.Len()
		default: // one value
		}
	}
	return total
}
