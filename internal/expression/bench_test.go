package expression_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/expression"
)

// BenchmarkUnits measures a unit of cost in nanoseconds. It should not be much above one.
func BenchmarkUnits(b *testing.B) {
	vars := expensive()
	var env expression.Environment
	for name, text := range map[string]string{
		"when/comparison": `facts.os.family == "Debian"`,
		"when/loops":      `[1, 2, 3].all(x, [1, 2, 3].all(y, [1, 2, 3].all(z, x + y + z > 0)))`,
		"when/facts":      `facts.big.exists(x, x == "none") || true`,
		"when/text":       `facts.text.upperAscii().size() > 0`,
		"when/regex":      `facts.text.matches("(a|b)*c") || true`,
	} {
		c, err := env.CompileWhen(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			measure(b, func() (int, error) { _, cost, err := c.Holds(vars, expression.MaxCost); return cost, err })
		})
	}
	for name, text := range map[string]string{
		"template/text":   `{{ .facts.text }}`,
		"template/fields": `{{ range 1000 }}{{ $.facts.os.family }}{{ end }}`,
		"template/calls":  `{{ range 1000 }}{{ $x := upper "x" | quote }}{{ end }}`,
		"template/lists":  `{{ range .facts.big }}{{ end }}{{ $x := concat .facts.big .facts.big | len }}`,
		"template/json":   `{{ $x := .facts.big | toJson | fromJson }}`,
		"template/regex":  `{{ $x := regexReplaceAll "x(y)" (trunc 100 .facts.text) "$1" }}`,
	} {
		c, err := expression.ParseTemplate(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			measure(b, func() (int, error) { _, cost, err := c.Render(vars, expression.MaxCost); return cost, err })
		})
	}
}

func measure(b *testing.B, evaluate func() (int, error)) {
	b.Helper()
	b.ReportAllocs()
	var cost int
	for b.Loop() {
		var err error
		if cost, err = evaluate(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(cost), "ns/unit")
}
