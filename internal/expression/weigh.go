package expression

import (
	"errors"
	"fmt"
	"reflect"
)

// maxDepth is how deep values may lie within each other. Functions that look into values descend into them.
const maxDepth = 64

var errDeep = fmt.Errorf("%w: lists and maps are nested more than %d deep", ErrTooCostly, maxDepth)

// valueWeighs is what there is of any value, in bytes: an interface and its header.
const valueWeighs = 32

// weigh returns the size of values written out, in bytes: one that is in it twice counts twice. It stops beyond a
// limit.
func weigh(values []reflect.Value, limit int) (int, error) {
	total := 0
	for _, v := range values {
		n, err := weighOne(v, limit-total, 0)
		if err != nil {
			return 0, err
		}
		if total += n; total > limit {
			break
		}
	}
	return total, nil
}

func weighOne(v reflect.Value, limit, depth int) (int, error) {
	if depth > maxDepth {
		return 0, errDeep
	}
	total := valueWeighs
	add := func(v reflect.Value) error {
		n, err := weighOne(v, limit-total, depth+1)
		total += n
		return err
	}
	switch v.Kind() {
	case reflect.String:
		total += v.Len()
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return weighOne(v.Elem(), limit, depth)
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next() && total <= limit; {
			if err := errors.Join(add(i.Key()), add(i.Value())); err != nil {
				return 0, err
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() <= reflect.Complex128 {
			return total + valueWeighs*v.Len(), nil
		}
		for i := 0; i < v.Len() && total <= limit; i++ {
			if err := add(v.Index(i)); err != nil {
				return 0, err
			}
		}
	default: // a number, or true or false
	}
	return total, nil
}

// entries returns how many there are in lists and maps, those in them not counted.
func entries(values []reflect.Value) int {
	total := 0
	for _, v := range values {
		total++
		switch v = concrete(v); v.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map:
			total += v.Len()
		default: // one value
		}
	}
	return total
}

// concrete is what an interface holds.
func concrete(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	return v
}
