package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkApplyInSync measures a run over a thousand files of 1 KB that are in sync, without process startup.
func BenchmarkApplyInSync(b *testing.B) {
	const files = 1000
	root := emptyRoot(b)
	var manifests strings.Builder
	for i := range files {
		line := fmt.Sprintf("    option_%05d = the value that this line of the file sets, of 64\n", i)
		fmt.Fprintf(&manifests, "---\napiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata:\n  name: file-%05d\nspec:\n  nodeSelector: {}\n"+
			"  path: /etc/file-%05d\n  owner: root\n  group: root\n  mode: \"0640\"\n  content: |\n%s", i, i, strings.Repeat(line, 16))
	}
	file := filepath.Join(b.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(manifests.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	apply := func() outcome { return fettle(b, "", "apply", "-f", file, "--root", root) }
	if o := apply(); o.code != 0 {
		b.Fatal(o.err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if o := apply(); o.code != 0 || !strings.Contains(o.out, "1000 in sync") {
			b.Fatal(o.out, o.err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*files), "ns/file")
}
