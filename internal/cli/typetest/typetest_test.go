package typetest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// on returns a lie that changes the answers to a request about resources that exist.
func on(request string, change func(answer line)) lie {
	return lie{change: func(of string, _, a line) {
		if of == request && (a.state() != nil || request != "get") {
			change(a)
		}
	}}
}

// says returns a lie that changes an attribute that get returns.
func says(attribute string, value any) lie {
	return on("get", func(a line) { a.state()[attribute] = value })
}

// without returns a lie that omits an attribute in the answers to a request.
func without(request, attribute string) lie {
	return on(request, func(a line) { delete(a.state(), attribute) })
}

// with returns a lie that adds a field to the answers to a request.
func with(request, field string, value any) lie {
	return on(request, func(a line) { a[field] = value })
}

// not returns a lie that answers a request in another way than the program would.
func not(request string, answer func(p *process, r line) []line) lie {
	return lie{instead: func(p *process, of string, r line) ([]line, bool) {
		if of != request {
			return nil, false
		}
		return answer(p, r), true
	}}
}

// row returns a lie that changes each answer to list.
func row(change func(line)) lie {
	return lie{rows: func(all []line) []line {
		for _, a := range all {
			change(a)
		}
		return all
	}}
}

func done(request string, r line) []line { return []line{{"answer": request, "name": r["name"]}} }

func TestATruthfulProgramHoldsToAllLaws(t *testing.T) {
	t.Parallel()

	broken, held := test(t, lie{})
	if len(broken) > 0 || held < 30 {
		t.Errorf("%d laws hold, and these do not: %s", held, strings.Join(broken, "\n"))
	}
}

func TestEachLieBreaksALaw(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		lie  lie
		want string // the beginning of a line, or its parts
	}{
		"get: another Namevar":           {says("name", "other"), `get answers each name, with the same state each time, while it exists: the program was asked for the name "one", and answered with "other": return it as it was asked for`},
		"get: no Namevar":                {without("get", "zone"), "get answers each name, with the same state each time, while it exists: the program answered without the Namevar zone"},
		"get: a Namevar is null":         {says("zone", nil), "get answers each name, with the same state each time, while it exists: the program answered without the Namevar zone"},
		"get: a Namevar of another type": {says("name", 1), "get answers each name, with the same state each time, while it exists: the program answered with the type integer for name"},
		"get: a value outside of enum":   {says("colour", "blue"), `get returns values that the type allows, while it exists: the state of "z/one" after set has a value that the type excludes: colour violates enum`},
		"get: a value out of range":      {says("size", 5000), "set brings the example in sync: "},
		"get: a value of another form":   {says("label", "A!"), "get returns values that the type allows, while it exists: ... label violates pattern"},
		"get: another type":              {says("size", "5"), "get answers each name, with the same state each time, while it exists: the program answered with the type string for size: it must be integer"},
		"get: another type, unmanaged":   {says("colour", 1), "get returns values that the type allows, while it exists: ... colour violates type"},
		"get: ReadOnly of another type":  {says("age", "old"), "get returns values that the type allows, while it exists: ... age violates type"},
		"get: an unknown attribute":      {says("mood", "good"), `get answers each name, with the same state each time, while it exists: the program answered with the attribute "mood"`},
		"get: an unknown ensure":         {says("ensure", "maybe"), `get answers each name, with the same state each time, while it exists: the program answered with the value "maybe" of ensure`},
		"get: no answer":                 {not("get", func(*process, line) []line { return nil }), `get answers each name, with the same state each time, before: the program did not answer the request get for "z/one"`},
		"get: two answers":               {not("get", func(p *process, r line) []line { a := p.answer("get", r); return []line{a, a} }), `get answers each name, with the same state each time, before: the program answered the request "get" for "z/one" twice`},
		"get: answers for other names": {not("get", func(p *process, r line) []line {
			return append(done("get", line{"name": "z/three"}), p.answer("get", r))
		}), `each answer is to what was asked: an answer to get has the name "z/three", which was not asked for`},
		"get: an error of what is absent": {not("get", func(p *process, r line) []line { return refused(p, "get", r) }), "get answers each name, with the same state each time, before: not found"},
		"get: another state each time":    {not("get", aging), `get answers each name, with the same state each time, while it exists: two reads of "z/one" differ`},
		"get: the desired state":          {not("get", func(_ *process, r line) []line { return echo(r) }), `get returns the present state, not the desired one, before: "z/one" is as it should be before set created it`},
		"get: names that nobody created":  {not("get", invent), `get answers other names, before: "z/fettle-no-such-resource" exists, but nobody created it`},
		"get: inSync of the unknown":      {with("get", "inSync", line{"mood": true}), `get answers each name, with the same state each time, while it exists: the program answered with the attribute "mood" in inSync`},
		"get: a state and an error":       {on("get", func(a line) { a["error"] = "maybe" }), "each answer is to what was asked: the answer to get for \"z/one\" has a state and an error"},
		"get: an unknown field":           {with("get", "mood", "good"), `get answers each name, with the same state each time, while it exists: a line of the program's output is not an answer: unknown field "mood"`},
		"get: needs what removals lack":   {not("get", func(p *process, r line) []line { return needsText(p, "get", r) }), "get reads a resource that does not exist, before: with only its Namevars and Parameters: the program exited with 1"},

		"crash at the example":     {ends("z/one", 139), "get answers each name, with the same state each time, before: the program exited with 139: out of luck"},
		"crash at another name":    {ends("z/fettle-no-such-resource", 139), `get answers other names, before: with the name "z/fettle-no-such-resource": the program exited with 139`},
		"crash at an odd name":     {ends("z/a;b|c&d", 139), `get answers other names, before: with the name "z/a;b|c&d": the program exited with 139`},
		"crash after all answers":  {lie{ended: func(p *process) { p.end(3) }}, "get answers each name, with the same state each time, before: the program exited with 3"},
		"hang":                     {ends("z/one", hung), "get answers each name, with the same state each time, before: killed after its timeout of 30s"},
		"hang in set":              {not("set", func(p *process, _ line) []line { p.end(hung); return nil }), "set brings the example in sync: ... killed after its timeout of "},
		"garbage":                  {not("get", func(p *process, r line) []line { p.out.WriteString("Traceback\n"); return nil }), "get answers each name, with the same state each time, before: a line of the program's output is not an answer"},
		"another protocol":         {lie{hello: "Fettle/9"}, `get answers each name, with the same state each time, before: the program speaks "Fettle/9"`},
		"check: no name":           {not("check", func(*process, line) []line { return []line{{"answer": "check"}} }), `check answers each name, without an error, before: "z/one" of the example would prevent each run: the program did not answer the request check`},
		"check: refuses":           {with("check", "error", "not today"), `check answers each name, without an error, before: "z/one" of the example would prevent each run: not today`},
		"canonicalize: each time":  {on("canonicalize", func(a line) { a.state()["text"] = fmt.Sprint(a.state()["text"], "x") }), `canonicalize is idempotent, and leaves the output of get as it is, before: canonicalize of "z/one" changes a canonical state`},
		"canonicalize: get":        {says("text", " Hello "), `canonicalize is idempotent, and leaves the output of get as it is, while it exists: canonicalize of "z/one" changes a canonical state`},
		"canonicalize: ensure":     {on("canonicalize", func(a line) { a.state()["ensure"] = "absent" }), `canonicalize is idempotent, and leaves the output of get as it is, before: the program made ensure "absent" of "present"`},
		"canonicalize: the name":   {on("canonicalize", func(a line) { a.state()["name"] = "x" }), `set brings the example in sync: ... "z/one" is on this host the same as "z/two" of Entry/two, canonically "z/x"`},
		"canonicalize: excluded":   {on("canonicalize", func(a line) { a.state()["size"] = 5000 }), "canonicalize is idempotent, and leaves the output of get as it is, before: the program answered canonicalize with a value that the type excludes: size violates maximum"},
		"canonicalize: unknown":    {on("canonicalize", func(a line) { a.state()["mood"] = "good" }), `canonicalize is idempotent, and leaves the output of get as it is, before: the program answered with the attribute "mood"`},
		"canonicalize: needs more": {not("canonicalize", func(p *process, r line) []line { return needsText(p, "canonicalize", r) }), "canonicalize is idempotent, and leaves the output of get as it is, before: with only its Namevars and Parameters: the program exited with 1"},

		"set: does nothing":           {not("set", func(_ *process, r line) []line { return done("set", r) }), "set brings the example in sync: ... the change did not take effect: ensure is absent, should be present"},
		"set: forgets an attribute":   {on("set", func(line) {}).but(func(p *process, r line) { delete(r.should(), "size") }), "set brings the example in sync: ... the change did not take effect: size is absent, should be 5"},
		"set: loses the rest":         {not("set", replace), `set leaves attributes that are not managed, while it exists: set changed size of "z/one", which was not in should`},
		"set: ignores absent":         {not("set", keep), "removal makes it absent: ... the change did not take effect: ensure is present, should be absent"},
		"set: an unknown attribute":   {with("set", "errors", line{"mood": "bad"}), `each answer is to what was asked: the answer to set for "z/one" has an error of the attribute "mood"`},
		"set: control characters":     {with("set", "notes", []string{"\x1b[31mred"}), `each answer is to what was asked: the answer to set for "z/one" has a message with control characters`},
		"set: several lines":          {with("set", "notes", []string{"a\nb"}), `each answer is to what was asked: the answer to set for "z/one" has a message with control characters, or of several lines`},
		"set: a state":                {with("set", "state", line{"zone": "z", "name": "one"}), `each answer is to what was asked: the answer to set for "z/one" has the field state`},
		"refresh: missing":            {with("refresh", "error", "unknown request refresh"), `refresh answers each name, without an error, while it exists: "z/one" cannot be refreshed: unknown request refresh; remove Refresh from spec.requests`},
		"refresh: undoes the change":  {not("refresh", func(p *process, r line) []line { clear(p.has); return done("refresh", r) }), "a set after these changes nothing: it changed something again"},
		"validate: missing":           {not("validate", func(*process, line) []line { return nil }), `validate answers each name, and allows the example, before: validate refuses the example, so each plan and each apply of "z/one" fails: the program did not answer the request validate`},
		"validate: unknown":           {with("validate", "error", "unknown request validate"), `validate answers each name, and allows the example, before: ... remove Validate from spec.requests`},
		"validate: refuses":           {with("validate", "error", "no"), `validate answers each name, and allows the example, before: validate refuses the example`},
		"validate: refuses a removal": {not("validate", func(_ *process, r line) []line { return refuseRemoval(r) }), `validate answers each name, and allows the example, while it exists: validate refuses the removal of the example`},

		"list: omits what exists":    {lie{rows: func([]line) []line { return nil }}, `list has what get finds, and get finds what list has, while it exists: "z/one" exists, and list does not have it`},
		"list: other names":          {row(func(a line) { a["name"] = "x" }), `list has what get finds, and get finds what list has, while it exists: list: an answer has the name "x", and its state that of "z/one"`},
		"list: no Namevar":           {row(func(a line) { delete(a.state(), "zone") }), "list has what get finds, and get finds what list has, while it exists: list: the program answered without the Namevar zone"},
		"list: twice":                {lie{rows: func(all []line) []line { return append(all, all...) }}, `list has what get finds, and get finds what list has, while it exists: list: the program listed "z/one" twice`},
		"list: another state":        {row(func(a line) { a.state()["size"] = 6 }), `list has what get finds, and get finds what list has, while it exists: list and get differ about size of "z/one": 6 and 5`},
		"list: an unknown attribute": {row(func(a line) { a.state()["mood"] = "good" }), `list has what get finds, and get finds what list has, while it exists: list: the program answered with the attribute "mood"`},
		"list: what get can't find":  {lie{rows: func(all []line) []line { return append(all, ghost()) }}, `list has what get finds, and get finds what list has, before: list has "z/ghost", and get does not find it`},
		"list: an error":             {lie{rows: func([]line) []line { return []line{{"answer": "list", "error": "broken"}} }}, "list has what get finds, and get finds what list has, before: list: broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			broken, _ := test(t, c.lie)
			begin, part, _ := strings.Cut(c.want, "... ")
			if !slices.ContainsFunc(broken, func(b string) bool { return strings.HasPrefix(b, begin) && strings.Contains(b, part) }) {
				t.Errorf("no law says %q:\n%s", c.want, strings.Join(broken, "\n"))
			}
		})
	}
}

// but returns a lie that changes the request set, too.
func (l lie) but(change func(p *process, r line)) lie {
	l.instead = func(p *process, request string, r line) ([]line, bool) {
		if request == "set" {
			change(p, r)
		}
		return nil, false
	}
	return l
}

// ends returns a lie that ends a process at a name.
func ends(name string, code int) lie {
	return lie{instead: func(p *process, request string, r line) ([]line, bool) {
		if request == "get" && r["name"] == name {
			p.end(code)
			return nil, true
		}
		return nil, false
	}}
}

func refused(p *process, request string, r line) []line {
	a := p.answer(request, r)
	if a.state() == nil {
		a["error"] = "not found"
	}
	return []line{a}
}

// aging returns another age in each process.
func aging(p *process, r line) []line {
	a := p.answer("get", r)
	if a.state() != nil {
		a.state()["age"] = p.now
	}
	return []line{a}
}

func echo(r line) []line {
	a := line{"answer": "get", "name": r["name"]}
	if r.should()["ensure"] != "absent" {
		a["state"] = maps.Clone(r.should())
	}
	return []line{a}
}

func invent(p *process, r line) []line {
	a := p.answer("get", r)
	if a.state() == nil && r["name"] == "z/fettle-no-such-resource" {
		a["state"] = line{"zone": "z", "name": "fettle-no-such-resource"}
	}
	return []line{a}
}

func needsText(p *process, request string, r line) []line {
	if r.should()["text"] == nil {
		p.end(1)
		return nil
	}
	return []line{p.answer(request, r)}
}

func keep(p *process, r line) []line {
	if r.should()["ensure"] == "absent" {
		return done("set", r)
	}
	return []line{p.answer("set", r)}
}

// replace stores what should has, and nothing else.
func replace(p *process, r line) []line {
	if name, ok := r["name"].(string); ok {
		delete(p.has, name)
	}
	return []line{p.answer("set", r)}
}

func refuseRemoval(r line) []line {
	all := done("validate", r)
	if r.should()["ensure"] == "absent" {
		all[0]["error"] = "in use"
	}
	return all
}

func ghost() line {
	return line{"answer": "list", "name": "z/ghost", "state": map[string]any{"zone": "z", "name": "ghost", "text": "boo"}}
}
