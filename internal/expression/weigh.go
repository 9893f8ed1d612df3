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
	s := scale{limit: limit}
	for _, v := range values {
		if err := s.add(v, 0); err != nil {
			return 0, err
		}
	}
	return s.total, nil
}

type scale struct{ total, limit int }

func (s *scale) full() bool { return s.total > s.limit }

func (s *scale) add(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	s.total += valueWeighs
	switch v = concrete(v); v.Kind() {
	case reflect.String:
		s.total += v.Len()
	case reflect.Map:
		return s.addMap(v, depth+1)
	case reflect.Slice, reflect.Array:
		return s.addList(v, depth+1)
	default: // a number, or true or false
	}
	return nil
}

func (s *scale) addMap(v reflect.Value, depth int) error {
	for i := v.MapRange(); i.Next() && !s.full(); {
		if err := errors.Join(s.add(i.Key(), depth), s.add(i.Value(), depth)); err != nil {
			return err
		}
	}
	return nil
}

func (s *scale) addList(v reflect.Value, depth int) error {
	if v.Type().Elem().Kind() <= reflect.Complex128 {
		s.total += valueWeighs * v.Len()
		return nil
	}
	for i := 0; i < v.Len() && !s.full(); i++ {
		if err := s.add(v.Index(i), depth); err != nil {
			return err
		}
	}
	return nil
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

// concrete is what an interface holds, or a pointer leads to.
func concrete(v reflect.Value) reflect.Value {
	for (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) && !v.IsNil() {
		v = v.Elem()
	}
	return v
}
