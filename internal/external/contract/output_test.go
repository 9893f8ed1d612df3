package contract_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/host"
)

// Decoded, an output takes many times as much memory: an agent of 256 MiB could be killed by 8 MiB of empty objects.
func TestOutputsOfManyValuesAreNotDecoded(t *testing.T) {
	t.Parallel()

	const first = `{"answer":"get","name":"a"}` + "\n"
	many := strings.Repeat("{},", 300_000)
	for name, test := range map[string]struct {
		output    string
		truncated bool
		want, err string
	}{
		"few values":                  {output: first + `{"x":[1,2]}`, want: first + `{"x":[1,2]}`},
		"commas in text":              {output: first + `{"x":"\"` + strings.Repeat(`,[{\\\"`, 300_000) + `"}`, want: first + `{"x":"\"` + strings.Repeat(`,[{\\\"`, 300_000) + `"}`},
		"many values in a line":       {output: first + `{"x":[` + many + `{}]}` + "\n" + first, want: first, err: "wrote more than 200000 values"},
		"many lines":                  {output: first + strings.Repeat("{}\n", 300_000), want: first + strings.Repeat("{}\n", 199_998), err: "wrote more than 200000 values"},
		"after text without an end":   {output: "\"\\\n" + `{"x":[` + many, want: "\"\\\n", err: "wrote more than 200000 values"},
		"many values in the only one": {output: `{"x":[` + many, err: "wrote more than 200000 values"},
		"more than was kept":          {output: first, truncated: true, want: first, err: "wrote more than 4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := contract.Bounded(host.Result{Stdout: []byte(test.output), Truncated: test.truncated})
			if string(got.Stdout) != test.want {
				t.Errorf("%d bytes are decoded, want %d", len(got.Stdout), len(test.want))
			}
			if text := message(err); text != test.err {
				t.Errorf("the error is %q, want %q", text, test.err)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
