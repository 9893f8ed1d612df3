package definition

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// NameOf returns the name of the resource with these attributes: the value of its Namevar, or the values of several, joined. It
// is "" if one is missing. Different values have different names: see [Definition.Join].
func (d *Definition) NameOf(values map[string]any) string {
	return d.nameOf(values, func(_ *v1alpha1.ExternalAttribute, text string) string { return text })
}

// CanonicalName is NameOf for comparisons, also with resources of other kinds that have the same program: it has the values of Namevars as
// the program has them, and those that differ only in a case that their type ignores are equal.
func (d *Definition) CanonicalName(values map[string]any) string {
	programs := d.ProgramState(values)
	return d.nameOf(values, func(at *v1alpha1.ExternalAttribute, text string) string {
		if at.ProgramValue != "" {
			text = textOf(programs[programName(at)])
		}
		if at.CaseInsensitive {
			return folded(text)
		}
		return text
	})
}

// ProgramResource returns the name by which requests to the program and its answers identify a resource.
func (d *Definition) ProgramResource(values map[string]any) string {
	programs := d.ProgramState(values)
	return d.nameOf(values, func(at *v1alpha1.ExternalAttribute, _ string) string { return textOf(programs[programName(at)]) })
}

func (d *Definition) nameOf(values map[string]any, form func(*v1alpha1.ExternalAttribute, string) string) string {
	var parts []string
	for _, at := range d.Namevars() {
		value, ok := values[at.Name]
		if !ok || value == nil {
			return ""
		}
		parts = append(parts, form(&at, textOf(value)))
	}
	return d.Join(parts)
}

// Identification returns the Namevars as users write them: zone "example.org", id "1".
func (d *Definition) Identification(values map[string]any) string {
	var all []string
	for _, at := range d.Namevars() {
		if value, ok := values[at.Name]; ok {
			all = append(all, fmt.Sprintf("%s %q", at.Name, textOf(value)))
		}
	}
	return strings.Join(all, ", ")
}

// textOf returns the text of a Namevar in a name. 1 and 1.0 are the same number.
func textOf(value any) string {
	number, ok := value.(json.Number)
	if !ok {
		return fmt.Sprint(value)
	}
	const exact = 1 << 53
	if f, err := number.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < exact {
		return strconv.FormatInt(int64(f), 10)
	}
	return number.String()
}

// folded returns one text for each set of texts that are equal regardless of case, as by [strings.EqualFold].
func folded(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, text)
}

// Join joins the values of Namevars to a name, which Split splits again. A value other than the last one that has the separator, or
// that would be split in another way, is escaped by backslashes, as in a\/b/c.
func (d *Definition) Join(parts []string) string {
	separator := d.Spec.NamevarSeparator
	plain := strings.Join(parts, separator)
	if again, ok := d.Split(plain); ok && slices.Equal(again, parts) {
		return plain
	}
	escape := escapeOf(separator)
	special := separator + string(escape)
	var name strings.Builder
	for _, part := range parts[:len(parts)-1] {
		for _, r := range part {
			if strings.ContainsRune(special, r) {
				name.WriteRune(escape)
			}
			name.WriteRune(r)
		}
		name.WriteString(separator)
	}
	return name.String() + parts[len(parts)-1]
}

// Split returns the values of the Namevars in a name, and false if it has too few.
func (d *Definition) Split(name string) ([]string, bool) {
	separator := d.Spec.NamevarSeparator
	n := len(namevarsOf(&d.Spec))
	parts := make([]string, 0, n)
	for len(parts) < n-1 {
		part, rest, ok := cutEscaped(name, separator)
		if !ok {
			return nil, false
		}
		parts, name = append(parts, part), rest
	}
	return append(parts, name), true
}

// cutEscaped cuts a text at the first separator that is not escaped.
func cutEscaped(text, separator string) (part, rest string, ok bool) {
	escape := escapeOf(separator)
	special := separator + string(escape)
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], separator) {
			return out.String(), text[i+len(separator):], true
		}
		if after, escaped := strings.CutPrefix(text[i:], string(escape)); escaped && after != "" && strings.IndexByte(special, after[0]) >= 0 {
			i++
		}
		out.WriteByte(text[i])
	}
	return "", "", false
}

// escapeOf returns the character that escapes a separator: a backslash unless the separator has one.
func escapeOf(separator string) rune {
	for _, escape := range `\%^` {
		if !strings.ContainsRune(separator, escape) {
			return escape
		}
	}
	return '~' // a separator has at most three characters
}
