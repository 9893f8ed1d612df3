package expression_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/expression"
)

var (
	generated    = flag.Int("generated", 600, "how many expressions are generated of each language")
	generateSeed = flag.Uint64("seed", 1, "of the generators")
)

// An author writes random expensive expressions up to a depth.
type author struct {
	*rand.Rand
	depth int
}

func (a *author) pick(words ...string) string { return words[a.IntN(len(words))] }

func (a *author) times(most int, text func() string) string {
	var b strings.Builder
	for range a.IntN(most) + 1 {
		b.WriteString(text())
	}
	return b.String()
}

// deeper calls one of several functions; the first one does not recurse.
func (a *author) deeper(ways ...func() string) string {
	if a.depth <= 0 {
		return ways[0]()
	}
	a.depth--
	defer func() { a.depth++ }()
	return ways[a.IntN(len(ways))]()
}

// condition writes a CEL expression of type bool.
func (a *author) condition() string {
	return a.deeper(
		func() string {
			return a.pick("true", "x == x", "facts.none", "has(facts.os)", "x in [x]", "facts.big == facts.big")
		},
		func() string {
			return a.list() + a.pick(".all(x, ", ".exists(x, ", ".exists_one(x, ") + a.condition() + ")"
		},
		func() string { return a.condition() + a.pick(" || ", " && ") + a.condition() },
		func() string { return a.list() + a.pick(" == ", " != ") + a.list() },
		func() string { return a.text() + a.pick(" == ", " < ") + a.text() },
		func() string {
			return a.text() + ".matches(" + a.pick(a.pattern(), a.text()) + ")"
		},
		func() string { return a.text() + a.pick(".contains(", ".startsWith(") + a.text() + ")" },
		func() string { return a.pick("x", a.list()) + " in " + a.list() },
		func() string { return a.list() + ".size() == " + a.text() + ".size()" },
		func() string { return a.text() + ".indexOf(" + a.text() + ") == 0" },
		func() string { return "size(bytes(" + a.text() + ")) > 0" },
	)
}

// pattern writes a quoted regular expression that is expensive to parse, to compile or to match.
func (a *author) pattern() string {
	repeated := func(n int, s string) func() string {
		return func() string { return strings.Repeat(s, a.IntN(n)) }
	}
	text := a.pick("", "(?i)", "[", "(?i)[") + a.times(3, func() string {
		return a.deeper(
			repeated(60, `[\\x{100}-\\x{1e943}]`), repeated(60, `\\x{100}-\\x{1e943}`), repeated(100, `\\pL`), repeated(100, "()"),
			repeated(100, "x?"), repeated(300, ".*"), repeated(2, "(x+x+)+y"), repeated(2, "x*y|x"), repeated(2, "x{300}"), repeated(2, "(a?){50}a{50}"),
		)
	}) + a.pick("", "]", "y")
	return `"` + text + `"`
}

func (a *author) list() string {
	return a.deeper(
		func() string {
			return a.pick("facts.big", "facts.deep", "x", "[1, 2, 3]", "["+a.times(300, func() string { return "7," })+"]")
		},
		func() string { return "[" + a.pick("x", a.text(), a.list()) + ", " + a.pick("x", a.list()) + "]" },
		func() string { return a.list() + ".map(x, " + a.pick("x", "[x, x]", "x + x", a.text(), a.list()) + ")" },
		func() string { return a.list() + ".filter(x, " + a.condition() + ")" },
		func() string { return a.list() + " + " + a.list() },
		func() string { return a.text() + `.split(` + a.pick(`""`, `"x"`, a.text()) + ")" },
		func() string { return `{"a": ` + a.list() + `, "b": x}.map(x, x)` },
	)
}

func (a *author) text() string {
	return a.deeper(
		func() string {
			return a.pick(`"x"`, "facts.text", "node.name", "x", `"`+a.times(200, func() string { return "x" })+`"`)
		},
		func() string { return a.text() + " + " + a.text() },
		func() string { return a.text() + ".replace(" + a.pick(`""`, `"x"`, a.text()) + ", " + a.text() + ")" },
		func() string { return a.list() + ".join(" + a.text() + ")" },
		func() string {
			return a.pick(`"%s%s"`, `"%s%.99f"`, a.text()) + ".format([" + a.pick("x", a.list()) + ", " + a.text() + "])"
		},
		func() string { return "strings.quote(" + a.text() + ")" },
		func() string {
			return a.text() + a.pick(".upperAscii()", ".reverse()", ".trim()", ".substring(0)", ".charAt(0)")
		},
		func() string { return "string(" + a.pick("x", a.text()) + ")" },
	)
}

// template writes a contentTemplate.
func (a *author) template() string {
	return `{{ $x := "x" }}{{ $y := list 1 2 }}` + a.times(6, a.statement)
}

func (a *author) statement() string {
	return a.deeper(
		func() string {
			return a.pick("{{ $x }}", "text", "{{ . }}", "{{ $.facts.os.family }}", "{{ $y }}", "{{ print $x | len }}")
		},
		func() string { return "{{ range " + a.operand() + " }}" + a.times(3, a.statement) + "{{ end }}" },
		func() string {
			return "{{ range $i, $x := " + a.operand() + " }}" + a.times(3, a.statement) + a.pick("", "{{ break }}", "{{ continue }}") + "{{ end }}"
		},
		func() string {
			return "{{ if " + a.operand() + " }}" + a.statement() + "{{ else }}" + a.statement() + "{{ end }}"
		},
		func() string { return "{{ with " + a.operand() + " }}" + a.times(3, a.statement) + "{{ end }}" },
		func() string { return "{{ $x = " + a.operand() + " }}" },
		func() string { return "{{ $y = " + a.operand() + " }}" },
		func() string { return "{{ range 1000 }}{{ $x = " + a.operand() + " }}{{ end }}" },
		func() string {
			return "{{ range until 60 }}{{ $y = " + a.pick("concat $y $y", "list $y $y", "append $y $x", `dict "a" $y "b" $y`) + " }}{{ end }}"
		},
		func() string { return "{{ " + a.operand() + " }}" },
		func() string {
			return strings.Repeat("{{ range 100 }}", 5) + a.times(20, a.statement) + strings.Repeat("{{ end }}", 5)
		},
		func() string {
			return a.pick(`{{ template "contentTemplate" . }}`, `{{ define "a" }}{{ template "a" }}{{ end }}`, `{{ block "a" . }}{{ end }}`)
		},
	)
}

func (a *author) operand() string {
	number := func() string {
		return a.pick("0", "1", "7", "-1", "1000", "100000", "9223372036854775807", "-9223372036854775808")
	}
	return a.deeper(
		func() string {
			return a.pick("$x", "$y", ".", "$", "$.facts.text", "$.facts.big", "$.facts.deep", "$.facts", `"x"`, "100000", "(repeat 100000 \"x\")", "(until 10000)", a.pattern(), number())
		},
		func() string {
			return "(" + a.function() + a.times(3, func() string { return " " + a.operand() }) + ")"
		},
		func() string { return "(" + a.function() + " " + number() + " " + a.operand() + ")" },
		func() string {
			return "(" + a.pick("regexReplaceAll ", "regexReplaceAllLiteral ", "regexSplit ", "regexFindAll ") + a.pattern() + " " + a.operand() + " " + a.pick("$x", "-1", `"$0$0$1"`) + ")"
		},
		func() string { return "(" + a.operand() + " | " + a.function() + " " + a.operand() + ")" },
		func() string {
			return "(printf \"" + a.times(50, func() string { return a.pick("%s", "%[1]s", "%999999d", "%*d", "%v", "%q", "%.500f") }) + "\" " + a.operand() + ")"
		},
	)
}

// deepTemplates have the maximum length, and are nested as deep as that allows.
func deepTemplates() []string {
	return []string{
		strings.Repeat("{{if .facts.os}}", 2800) + strings.Repeat("{{end}}", 2800),
		strings.Repeat("{{if .a}}", 7000),
		"{{" + strings.Repeat("(", 30000) + "1" + strings.Repeat(")", 30000) + "}}",
		"{{" + strings.Repeat("(", 9000) + ".a" + strings.Repeat(").b", 9000) + "}}",
		"{{" + strings.Repeat("1 ", 32000) + "}}",
		strings.Repeat("{{.a}}", 10000),
		strings.Repeat("{{$a:=1}}", 7000),
		strings.Repeat("{{with $}}{{else with .}}", 2000),
	}
}

func (a *author) function() string {
	all := expression.Functions()
	return all[a.IntN(len(all))]
}

// expensive returns the variables of a node that reports large facts.
func expensive() map[string]any {
	v := variables()
	facts := v["facts"].(map[string]any)
	var deep any = "x"
	for range 50 {
		deep = []any{deep, "y"}
	}
	var big []any
	for i := range 2000 {
		big = append(big, fmt.Sprint(i), float64(i), map[string]any{"x": "y"})
	}
	facts["deep"], facts["big"], facts["text"] = deep, big, strings.Repeat("xy ä", 5000)
	return v
}

// maxBytes is the memory that [expression.MaxCost] stands for.
const maxBytes = expression.MaxCost / 2

// A worst records the largest share of the limits that an evaluation took.
type worst struct {
	time, bytes         float64 // as fractions of the limits
	timeText, bytesText string
	evaluated, limited  int
}

// evaluate measures the CPU time of this thread, and all bytes that were allocated.
func (w *worst) evaluate(text string, do func() (int, error)) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := threadTime()
	cost, err := do()
	took := threadTime() - start
	runtime.ReadMemStats(&after)
	if w.evaluated++; err != nil && cost >= expression.MaxCost {
		w.limited++
	}
	if part := float64(took.Nanoseconds()) / expression.MaxCost; part > w.time {
		w.time, w.timeText = part, fmt.Sprintf("%v at %+v: %.100v: %s", took, cost, err, text)
	}
	if part := float64(after.TotalAlloc-before.TotalAlloc) / maxBytes; part > w.bytes {
		w.bytes, w.bytesText = part, fmt.Sprintf("%d bytes at %+v: %.100v: %s", after.TotalAlloc-before.TotalAlloc, cost, err, text)
	}
}

func threadTime() time.Duration {
	const ofThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	_ = syscall.Getrusage(ofThread, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (w *worst) check(t *testing.T, evaluations int) {
	t.Helper()
	t.Logf("%d evaluations, %d of them cut off; at most %.0f %% of 100 ms and %.0f %% of 48 MiB", w.evaluated, w.limited, 100*w.time, 100*w.bytes)
	const slow = 4 // a machine may be slower than the one that the units come from
	if w.time > slow {
		t.Errorf("an evaluation took too long: %.2000s", w.timeText)
	}
	if w.bytes > 1.25 {
		t.Errorf("an evaluation took too much memory: %.2000s", w.bytesText)
	}
	if w.evaluated < evaluations {
		t.Errorf("got %d evaluations, want at least %d", w.evaluated, evaluations)
	}
}

// checkExpensive fails if too few evaluations exceeded a limit: then the generator is too harmless.
func (w *worst) checkExpensive(t *testing.T) {
	t.Helper()
	if w.limited < w.evaluated/100+1 {
		t.Errorf("%d of %d evaluations were cut off, want more", w.limited, w.evaluated)
	}
}

// It does not run in parallel, because allocations of other tests would count.
func TestGeneratedConditionsStayWithinTheirLimits(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a := &author{Rand: rand.New(rand.NewPCG(*generateSeed, 1))}
	var env expression.Environment
	var compiled, evaluated worst
	vars := expensive()
	for range 3 * *generated { // they are short
		a.depth = 1 + a.IntN(9)
		text := a.condition()
		var c *expression.Condition
		compiled.evaluate(text, func() (_ int, err error) {
			c, err = env.CompileWhen(text)
			return 0, err
		})
		if c != nil {
			evaluated.evaluate(text, func() (int, error) {
				_, cost, err := c.Holds(vars, expression.MaxCost)
				return cost, err
			})
		}
	}
	compiled.check(t, 3**generated)
	evaluated.check(t, *generated/10)
	evaluated.checkExpensive(t)
}

func TestGeneratedTemplatesStayWithinTheirLimits(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a := &author{Rand: rand.New(rand.NewPCG(*generateSeed, 2))}
	var parsed, evaluated worst
	vars := expensive()
	for i := range *generated {
		a.depth = 1 + a.IntN(7)
		text := a.template()
		if deep := deepTemplates(); i < len(deep) {
			text = deep[i]
		}
		var c *expression.Template
		parsed.evaluate(text, func() (_ int, err error) {
			c, err = expression.ParseTemplate(text)
			return 0, err
		})
		if c != nil {
			evaluated.evaluate(text, func() (int, error) {
				_, cost, err := c.Render(vars, expression.MaxCost)
				return cost, err
			})
		}
	}
	parsed.check(t, *generated)
	evaluated.check(t, *generated/10)
	evaluated.checkExpensive(t)
}

func TestGeneratedRegularExpressionsStayWithinTheirLimits(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a := &author{Rand: rand.New(rand.NewPCG(*generateSeed, 3))}
	var evaluated worst
	for range *generated {
		a.depth = 1
		call := a.pick("regexMatch %s %s", "regexFind %s %s", "regexFindAll %s %s -1", "regexSplit %s %s -1", `regexReplaceAll %s %s "$0$0$1"`)
		text := fmt.Sprintf(`{{ $x := repeat %d "x" }}{{ range until %d }}{{ $y := `+call+` }}{{ end }}`, a.IntN(10_000), a.IntN(100), a.pattern(), "$x")
		c, err := expression.ParseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		evaluated.evaluate(text, func() (int, error) {
			_, cost, err := c.Render(nil, expression.MaxCost)
			return cost, err
		})
	}
	evaluated.check(t, *generated)
	evaluated.checkExpensive(t)
}
