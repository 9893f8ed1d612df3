package resource

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Secret is the value of an attribute that a manifest only refers to. It prints as a
// mark.
type Secret struct{ Attribute, Value string }

// Format writes a mark in place of the value, whatever the verb.
func (s Secret) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte(s.Attribute + " " + Redacted)) // as all that is formatted
}

func (t *Type[A]) bindSecret(ref Ref, want A, secrets []Secret) (Resource, error) {
	for _, s := range secrets {
		set := t.Secrets[s.Attribute]
		if set == nil {
			return nil, fmt.Errorf("%s of %s can't come from a Secret; of %s these can: %s",
				s.Attribute, ref, t.Name, strings.Join(slices.Sorted(maps.Keys(t.Secrets)), ", "))
		}
		set(&want, s.Value)
	}
	bound, err := t.bind(ref, want)
	return bound, unsaid(err, secrets)
}

// unsaid keeps an error from quoting a secret, should a type's own words ever do so.
func unsaid(err error, secrets []Secret) error {
	if err == nil {
		return nil
	}
	for _, s := range secrets {
		if quotes(err.Error(), s.Value) {
			return errors.New(s.Attribute + " is refused, and why can't be said without telling its value: see what the attribute may be")
		}
	}
	return err
}

// quotes reports whether a text has a value in it, or a word of that.
func quotes(text, value string) bool {
	const word = 4 // what is shorter is in many a text
	if strings.Contains(text, strconv.Quote(value)) {
		return true
	}
	parts := strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ':' || r == ',' || !strconv.IsPrint(r) })
	return slices.ContainsFunc(parts, func(part string) bool { return len(part) >= word && strings.Contains(text, part) })
}
