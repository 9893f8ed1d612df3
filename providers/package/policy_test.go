package pkg_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	pkg "github.com/fettle-dev/fettle/providers/package"
)

const policyOutput = `bash:
  Installed: 5.2.15-2+b8
  Candidate: 5.2.15-2+b9
  Version table:
     5.2.15-2+b9 500
        500 http://archive.example/debian bookworm/main amd64 Packages
 *** 5.2.15-2+b8 100
        100 /var/lib/dpkg/status
libc6:i386:
  Installed: (none)
  Candidate: 2.36-9+deb12u10
  Package pin: 2.36-9+deb12u10
  Version table:
     2.36-9+deb12u10 990
        500 http://archive.example/debian bookworm/main i386 Packages
mail-transport-agent:
  Installed: (none)
  Candidate: (none)
  Version table:
`

func TestPolicy(t *testing.T) {
	t.Parallel()

	want := map[string][]string{
		"bash":                 {"5.2.15-2+b9", "5.2.15-2+b9", "5.2.15-2+b8"},
		"libc6:i386":           {"2.36-9+deb12u10", "2.36-9+deb12u10"},
		"mail-transport-agent": {""},
	}
	if diff := cmp.Diff(want, pkg.ParsePolicy(policyOutput)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzParsePolicy looks for panics, and for versions that are none.
func FuzzParsePolicy(f *testing.F) {
	f.Add(policyOutput)
	f.Add("     \n *** \n:\na:\n      x\n *** 1")
	f.Fuzz(func(t *testing.T, out string) {
		for name, versions := range pkg.ParsePolicy(out) {
			for _, v := range versions[1:] {
				if name == "" || v == "" || strings.Contains(v, " ") {
					t.Errorf("package %q has version %q", name, v)
				}
			}
		}
	})
}
