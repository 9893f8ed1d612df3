package apt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/providers/package/apt"
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

func TestParsePolicy(t *testing.T) {
	t.Parallel()

	want := map[string]apt.Offer{
		"bash":                 {Candidate: "5.2.15-2+b9", Versions: []string{"5.2.15-2+b9", "5.2.15-2+b8"}},
		"libc6:i386":           {Candidate: "2.36-9+deb12u10", Versions: []string{"2.36-9+deb12u10"}},
		"mail-transport-agent": {},
	}
	if diff := cmp.Diff(want, apt.ParsePolicy(policyOutput)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzParsePolicy looks for panics, and for invalid versions.
func FuzzParsePolicy(f *testing.F) {
	f.Add(policyOutput)
	f.Add("     \n *** \n:\na:\n      x\n *** 1")
	f.Fuzz(func(t *testing.T, out string) {
		for name, offer := range apt.ParsePolicy(out) {
			for _, v := range offer.Versions {
				if name == "" || v == "" || strings.Contains(v, " ") {
					t.Errorf("package %q has version %q", name, v)
				}
			}
		}
	})
}

const showpkgOutput = `Package: mail-transport-agent
Versions: 

Reverse Depends: 
  mutt,mail-transport-agent
Dependencies: 
Provides: 
Reverse Provides: 
postfix 3.7.11-0+deb12u1 (= )
postfix 3.7.10-0+deb12u1 (= )
exim4-daemon-light:i386 4.96-15+deb12u10 (= 1)
Package: nobody
Versions: 

Reverse Provides: 
`

func TestParseProviders(t *testing.T) {
	t.Parallel()

	want := map[string][]string{"mail-transport-agent": {"exim4-daemon-light:i386", "postfix"}}
	if diff := cmp.Diff(want, apt.ParseProviders(showpkgOutput)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzParseProviders looks for panics, and for providers that could be taken for options.
func FuzzParseProviders(f *testing.F) {
	f.Add(showpkgOutput)
	f.Add("Reverse Provides: \n-y 1\nPackage: \n")
	f.Fuzz(func(t *testing.T, out string) {
		for name, providers := range apt.ParseProviders(out) {
			for _, p := range providers {
				if p == "" || p[0] == '-' {
					t.Errorf("%q is provided by %q", name, p)
				}
			}
		}
	})
}

func BenchmarkParsePolicy(b *testing.B) {
	var out strings.Builder
	for i := range 500 {
		fmt.Fprintf(&out, "package-%d:\n  Installed: (none)\n  Candidate: 1.%d\n  Version table:\n     1.%d 500\n        500 http://archive.example/debian bookworm/main amd64 Packages\n     1.0 500\n        500 http://archive.example/debian bookworm/main amd64 Packages\n", i, i, i)
	}
	b.ReportAllocs()
	b.SetBytes(int64(out.Len()))
	for b.Loop() {
		if n := len(apt.ParsePolicy(out.String())); n != 500 {
			b.Fatal(n)
		}
	}
}
