package bench_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

func TestWriteReplacesOneChapter(t *testing.T) {
	t.Parallel()

	const a, b = "<!-- begin: a -->\n\nold\n\n<!-- end: a -->\n", "<!-- begin: b -->\n\nold\n\n<!-- end: b -->\n"
	const now = "<!-- begin: a -->\n\nnow\n\n<!-- end: a -->\n"
	for name, c := range map[string]struct{ before, want string }{
		"no document":           {"", now},
		"one that lacks it":     {"# Title\n", "# Title\n\n" + now},
		"its place, among more": {"# Title\n" + a + "between\n" + b + "end\n", "# Title\n" + now + "between\n" + b + "end\n"},
		"one that does not end": {"<!-- begin: a -->\nold\n", ""},
		"one that only ends":    {"old\n<!-- end: a -->\n", ""},
		"one that ends twice":   {a + "<!-- end: a -->\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "page.md")
			if c.before != "" {
				must(t, os.WriteFile(path, []byte(c.before), 0o644))
			}
			err := bench.WriteChapter(path, "a", "\nnow\n")
			if (c.want == "") != (err != nil) {
				t.Fatalf("error %v", err)
			}
			want := c.want
			if err != nil {
				want = c.before
			}
			got, err := os.ReadFile(path)
			must(t, err)
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
