package jsonschema

// whole is a subschema of the value itself.
func whole(k keyword) check {
	n := k.subschema()
	return func(on *instance) { on.add(on.whole(n)) }
}

func not(k keyword) check {
	n := k.subschema()
	return func(on *instance) {
		if len(on.whole(n)) == 0 {
			on.violate("") // there is no telling what is wrong
		}
	}
}

func allOf(k keyword) check {
	all := k.subschemas()
	return func(on *instance) {
		for _, n := range all {
			on.add(on.whole(n))
		}
	}
}

func anyOf(k keyword) check { return k.branches(len(k.list())) }

func oneOf(k keyword) check { return k.branches(1) }

// branches is a check that a value conforms to some of several subschemas. If it does to none, the violations of all count.
func (k keyword) branches(most int) check {
	all := k.subschemas()
	return func(on *instance) {
		matches := 0
		var others []violation
		for _, n := range all {
			violations := on.whole(n)
			if len(violations) == 0 {
				matches++
			}
			others = append(others, violations...)
		}
		switch {
		case matches == 0:
			on.add(others)
		case matches > most:
			on.violate(k.name)
		}
	}
}

// conditional is if, with then and else.
func conditional(k keyword) check {
	n, yes, no := k.subschema(), &node{}, &node{}
	if then := k.sibling("then"); then.exists() {
		yes = then.subschema()
	}
	if otherwise := k.sibling("else"); otherwise.exists() {
		no = otherwise.subschema()
	}
	return func(on *instance) {
		if len(on.whole(n)) == 0 {
			on.add(on.whole(yes))
		} else {
			on.add(on.whole(no))
		}
	}
}

// branch is then or else, which mean nothing without an if that compiles them.
func branch(k keyword) check {
	if !k.sibling("if").exists() {
		k.subschema()
	}
	return nil
}
