package bench_test

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

func TestListParsesFlag(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		args []string
		want bench.Counts
		err  string
	}{
		"the default":   {nil, bench.Counts{100, 1000}, ""},
		"one":           {[]string{"-n", "5"}, bench.Counts{5}, ""},
		"more than one": {[]string{"-n", "5,6000"}, bench.Counts{5, 6000}, ""},
		"no number":     {[]string{"-n", "5,many"}, bench.Counts{100, 1000}, `invalid count "many"`},
		"none":          {[]string{"-n", ""}, bench.Counts{100, 1000}, `invalid count ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			flags := flag.NewFlagSet("", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			got := bench.Counts{100, 1000}
			flags.Var(&got, "n", "how many")
			err := flags.Parse(c.args)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

func TestListPrintsDefault(t *testing.T) {
	t.Parallel()

	flags := flag.NewFlagSet("", flag.ContinueOnError)
	var usage strings.Builder
	flags.SetOutput(&usage)
	flags.Var(&bench.Counts{100, 1000}, "n", "how many")
	flags.PrintDefaults()
	if !strings.Contains(usage.String(), "how many (default 100,1000)") {
		t.Error(usage.String())
	}
}
