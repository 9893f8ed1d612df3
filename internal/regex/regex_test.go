package regex_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/regex"
)

func TestExpensivePatternsAreRejected(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]string{
		"too long":                        strings.Repeat("a", 1025),
		"a repetition":                    "x{1000}",
		"nested repetitions":              "(((a{10}){10}){10})",
		"optional repetitions":            "((x{0,30}){30})",
		"folded ranges":                   "(?i)" + strings.Repeat(`[\x{100}-\x{1e943}]`, 3),
		"folded ranges in a class":        "(?i:[" + strings.Repeat(`\x{100}-\x{1e943}`, 3) + "])",
		"folded ranges, written out":      "(?si)[" + strings.Repeat("é-\U0001e943", 3) + "]",
		"folded ranges behind other ones": "a(?i-s)" + strings.Repeat(`[\x{100}-\x{1e943}]`, 3),
		"classes":                         strings.Repeat(`\pL`, 60),
		"negated classes":                 "[^" + strings.Repeat(`\PL`, 60) + "]",
		"many parts":                      strings.Repeat("a*", 512),
		"invalid":                         "(",
	} {
		if _, err := regex.Measure(pattern); err == nil {
			t.Errorf("%s: Measure takes it", name)
		}
		if _, err := regex.Compile(pattern); err == nil {
			t.Errorf("%s: Compile takes it", name)
		}
	}
}

func TestOrdinaryPatternsCompile(t *testing.T) {
	t.Parallel()
	for pattern, text := range map[string]string{
		"": "", "^web-[0-9]+$": "web-1", `(?i)^/opt/[a-z0-9.-]+/bin/java .*-jar\b`: "/OPT/x/bin/java -x -jar a", `(?i)[à-ü]+`: "É",
		`\pL+ \p{Greek}`: "a α", "a{2,100}": "aa", strings.Repeat("a", 900): strings.Repeat("a", 900),
	} {
		re, err := regex.Compile(pattern)
		if err != nil || !re.MatchString(text) {
			t.Errorf("%.60q: %v", pattern, err)
		}
	}
}

func threadTime() time.Duration {
	const ofThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	_ = syscall.Getrusage(ofThread, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// It does not run in parallel, because allocations of other tests would count.
func TestParsingStaysWithinTheEstimate(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, part := range []string{
		"a", "(", "a*", "(a|b)*", "[a-z]", `\pL`, `\PL`, `[^\pL\pN]`, `\p{Any}`, `[\x{100}-\x{1e943}]`, `[é-\x{1e943}]`, "[[:^alpha:]]", `\W`, "()", ".*", "x?", "é-ü", "(?i)a(?-i)a", `[\0-\377]`,
	} {
		for _, frame := range []string{"%s", "[%s]", "(?i)%s", "(?i)[%s]", "(?i)[^%s]"} {
			var pattern string
			var work regex.Work
			for n := 1; ; n++ { // the longest that is taken
				longer := fmt.Sprintf(frame, strings.Repeat(part, n))
				measured, err := regex.Measure(longer)
				if err != nil {
					break
				}
				pattern, work = longer, measured
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := threadTime()
			if _, err := regex.Measure(pattern); err != nil {
				t.Fatal(err)
			}
			took := threadTime() - start
			runtime.ReadMemStats(&after)
			const slow = 4 // a machine may be slower than the one that the estimates come from
			if took > slow*time.Duration(work.ParseTime)+2*time.Millisecond || work.ParseTime > regex.MaxParseTime {
				t.Errorf("%.60q takes %v, estimated were %v", pattern, took, time.Duration(work.ParseTime))
			}
			if got := int(after.TotalAlloc - before.TotalAlloc); got > work.ParseBytes+4096 {
				t.Errorf("%.60q allocates %d bytes, estimated were %d", pattern, got, work.ParseBytes)
			}
		}
	}
}
