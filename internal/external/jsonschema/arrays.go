package jsonschema

import (
	"math"
	"strconv"
)

func uniqueItems(k keyword) check {
	if !k.flag() {
		return nil
	}
	return k.require(func(v any) bool {
		array, _ := v.([]any)
		all := map[string]bool{}
		for _, e := range array {
			all[canonical(e)] = true
		}
		return len(all) == len(array)
	})
}

// itemsOrPrefix is a schema of all items, or the schemas of the first ones.
func itemsOrPrefix(k keyword) check {
	if kindOf(k.value()) == "array" {
		return prefixItems(k)
	}
	return k.itemsFrom(0)
}

func prefixItems(k keyword) check {
	all := k.subschemas()
	return func(on *instance) {
		for i, item := range on.items()[:min(len(on.items()), len(all))] {
			on.addPart(strconv.Itoa(i), item, all[i])
		}
	}
}

func items(k keyword) check {
	first, _ := k.siblings["prefixItems"].([]any)
	return k.itemsFrom(len(first))
}

func (k keyword) itemsFrom(first int) check {
	n := k.subschema()
	return func(on *instance) {
		for i, item := range on.items() {
			if i >= first {
				on.addPart(strconv.Itoa(i), item, n)
			}
		}
	}
}

// additionalItems belongs to a list of the first items.
func additionalItems(k keyword) check {
	add := k.rest()
	first, ok := k.siblings["items"].([]any)
	if !ok {
		return nil
	}
	return func(on *instance) {
		for i, item := range on.items() {
			if i >= len(first) {
				add(on, strconv.Itoa(i), item)
			}
		}
	}
}

func contains(k keyword) check {
	n, least, most := k.subschema(), k, k.sibling("maxContains")
	from, to := 1, math.MaxInt
	if other := k.sibling("minContains"); other.exists() && k.draft >= 2019 {
		least, from = other, other.count()
	}
	if most.exists() && k.draft >= 2019 {
		to = most.count()
	}
	return func(on *instance) {
		if kindOf(on.value) != "array" {
			return
		}
		matches, others := on.matching(n, k.draft >= 2020)
		switch {
		case matches < from && len(others) > 0:
			on.add(others)
		case matches < from:
			on.violate(least.name)
		}
		if matches > to {
			on.violate(most.name)
		}
	}
}

// matching counts the items that conform to a subschema, and returns how the others violate it.
func (on *instance) matching(n *node, evaluates bool) (count int, others []violation) {
	for i, item := range on.items() {
		name := strconv.Itoa(i)
		violations := n.apply(item, on.at.to(name), false).violations
		others = append(others, violations...)
		if len(violations) > 0 {
			continue
		}
		if count++; evaluates {
			on.evaluate(name)
		}
	}
	return count, others
}

func unevaluatedItems(k keyword) check {
	n := k.subschema()
	return func(on *instance) {
		for i, item := range on.items() {
			if name := strconv.Itoa(i); !on.evaluated[name] {
				on.addPart(name, item, n)
			}
		}
	}
}
