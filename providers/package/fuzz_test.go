package pkg_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	pkg "github.com/fettle-dev/fettle/providers/package"
)

// Of what debconf says only the numbers of lines are told, for the lines may be secret.
func FuzzStumbled(f *testing.F) {
	f.Add(1, "error: parse error on line 3: 'mysql-server mysql-server/root_password s3cret'\n")
	f.Add(0, "warning: Unknown type s3cret, skipping line 12\nwarning: Unknown type x, skipping line 13")
	f.Add(1, "debconf: DbDriver \"config\": /var/cache/debconf/config.dat is locked by another process: s3cret")
	f.Add(9, "")
	told := regexp.MustCompile(`^(debconf-set-selections does not take [a-z0-9, ()]+: write owner, question, type and value` +
		`|another process holds the lock of debconf's database|debconf-set-selections ended with exit code -?[0-9]+)$`)
	f.Fuzz(func(t *testing.T, exit int, stderr string) {
		err := pkg.Stumbled(host.Result{ExitCode: exit, Stderr: []byte(stderr)})
		if exit != 0 && err == nil || err != nil && !told.MatchString(err.Error()) {
			t.Errorf("exit code %d and %q give: %v", exit, stderr, err)
		}
	})
}

// Whatever a tool writes, its explanation is of bounded length and has no value of the environment.
func FuzzExplanation(f *testing.F) {
	f.Add("The following packages have unmet dependencies:\n a : Depends: b\n", "E: Unable to correct problems\n", "http://ann:s3cret@proxy", false)
	f.Add("Waiting for cache lock: s3cret-and-more", "debconf: x\n s3cret \n", "s3cret", false)
	f.Add("", strings.Repeat("E: x\xff\n", 500)+"s3cret\nword", "s3cret\nword", false)
	f.Add("", "E: two  blanks", "two  blanks", false)
	f.Add("Waiting for cache lock: s3cret-an", "E: s3cret-\n", "s3cret-and-more", true)
	f.Fuzz(func(t *testing.T, stdout, stderr, secret string, truncated bool) {
		res := host.Result{ExitCode: 100, Stdout: []byte(stdout), Stderr: []byte(stderr), Truncated: truncated}
		text := pkg.Explanation(res, []string{"A=" + secret, "B=" + secret + "word"})
		if len(text) > 1100 || utf8.ValidString(stdout) && utf8.ValidString(stderr) && utf8.ValidString(secret) && !utf8.ValidString(text) {
			t.Errorf("told are %d bytes: %q", len(text), text)
		}
		if strings.ContainsAny(secret, "[]();:") || !utf8.ValidString(secret) { // the marks themselves, and what no manifest can say
			return
		}
		marks := resource.Redacted + "(1 lines omitted)"
		for s := range strings.SplitSeq(secret, "\n") {
			if len(s) > 3 && !strings.Contains(marks, s) && strings.Contains(strings.TrimPrefix(text, "..."), s) {
				t.Errorf("told is %q, which has %q in it", text, s)
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
		if n := len(pkg.ParsePolicy(out.String())); n != 500 {
			b.Fatal(n)
		}
	}
}
