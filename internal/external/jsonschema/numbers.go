package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// hasHugeNumber reports whether a schema or a value has a number that takes much memory to compare exactly.
func hasHugeNumber(tree any) bool {
	switch t := tree.(type) {
	case json.Number:
		return !isPlain(t)
	case []any:
		return slices.ContainsFunc(t, hasHugeNumber)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(t)), hasHugeNumber)
	}
	return false
}

// isPlain reports whether a number has few digits, also when its exponent is written out.
func isPlain(n json.Number) bool {
	const most = 400 // the largest float has 309
	text := n.String()
	if len(text) > most {
		return false
	}
	_, exponent, ok := strings.Cut(strings.ToLower(text), "e")
	if !ok {
		return true
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && e >= -most && e <= most
}

// exact returns a number as it is written, without rounding; it is not ok for any other value.
func exact(value any) (_ *big.Rat, ok bool) {
	switch value.(type) {
	case json.Number, float32, float64, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return new(big.Rat).SetString(fmt.Sprint(value))
	}
	return nil, false
}

func (k keyword) number() *big.Rat {
	n, ok := exact(k.value())
	if !ok {
		k.fault("use a number")
		return new(big.Rat)
	}
	return n
}

// count returns how many there can be of something; the most possible for a larger number.
func (k keyword) count() int {
	n, ok := exact(k.value())
	if !ok || n.Sign() < 0 || !n.IsInt() {
		k.fault("use an integer of at least 0")
		return 0
	}
	if !n.Num().IsInt64() {
		return math.MaxInt
	}
	return int(n.Num().Int64())
}

func multipleOf(k keyword) check {
	of := k.number()
	if of.Sign() <= 0 {
		k.fault("use a number above 0")
	}
	return k.require(func(v any) bool { n, ok := exact(v); return !ok || new(big.Rat).Quo(n, of).IsInt() })
}

// limit is a keyword that numbers are on one side of, +1 or -1. They may equal it if the least order is 0. In draft 4, another
// keyword excludes the limit itself.
func limit(side, least int, exclusive string) func(keyword) check {
	return func(k keyword) check {
		to, least := k.number(), least
		if other := k.sibling(exclusive); k.draft == 4 && other.value() == true {
			k, least = other, 1
		}
		return k.require(func(v any) bool { n, ok := exact(v); return !ok || n.Cmp(to)*side >= least })
	}
}

// excludes is a keyword of draft 4 that belongs to a limit.
func excludes(limit string) func(keyword) check {
	return func(k keyword) check {
		k.flag()
		if !k.sibling(limit).exists() {
			k.fault("add " + limit)
		}
		return nil
	}
}
