package catalog

import (
	"bytes"
	"slices"
)

// sortKeys does for what json.Marshal has just made what [canonicalJSON] does for any
// JSON, at a tenth of the cost: all but the order of keys is canonical already.
func sortKeys(raw []byte) ([]byte, error) {
	if bytes.Contains(raw, []byte(`\ufffd`)) || escapedKey(raw) { // once was no UTF-8; sorts by what the escape means
		return canonicalJSON(raw)
	}
	return appendSorted(make([]byte, 0, len(raw)), raw), nil
}

// escapedKey reports whether a string with an escape in it is a key.
func escapedKey(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := stringEnd(raw, i)
		if end < len(raw) && raw[end] == ':' && bytes.IndexByte(raw[i:end], '\\') >= 0 {
			return true
		}
		i = end - 1
	}
	return false
}

// A member is a key, in its quotes, and a value.
type member struct{ key, value []byte }

func appendSorted(dst, value []byte) []byte {
	switch value[0] {
	case '{':
		members := membersOf(value)
		slices.SortFunc(members, func(a, b member) int {
			return bytes.Compare(a.key[1:len(a.key)-1], b.key[1:len(b.key)-1])
		})
		return appendAll(dst, '{', '}', members)
	case '[':
		return appendAll(dst, '[', ']', membersOf(value))
	}
	return append(dst, value...)
}

func appendAll(dst []byte, opening, closing byte, members []member) []byte {
	dst = append(dst, opening)
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		if m.key != nil {
			dst = append(append(dst, m.key...), ':')
		}
		dst = appendSorted(dst, m.value)
	}
	return append(dst, closing)
}

// membersOf takes an object or array apart. An array's members have no key.
func membersOf(value []byte) []member {
	var members []member
	for i := 1; i < len(value)-1; i++ { // past the comma
		var m member
		if value[0] == '{' {
			end := stringEnd(value, i)
			m.key = value[i:end]
			i = end + 1
		}
		end := valueEnd(value, i)
		m.value = value[i:end]
		members = append(members, m)
		i = end
	}
	return members
}

// valueEnd is where the value ends that begins at i.
func valueEnd(b []byte, i int) int {
	depth := 0
	for ; ; i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
}

// stringEnd is behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}
