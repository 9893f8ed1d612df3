package bench

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// At returns the value that a share of the values does not exceed: At(values, 0.99) is the 99th percentile, and At(values, 1) the
// largest. It is zero if there are none.
func At[T cmp.Ordered](values []T, share float64) (value T) {
	if len(values) == 0 {
		return value
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// Median returns the value in the middle, zero if there are none.
func Median[T cmp.Ordered](values []T) T { return At(values, 0.5) }

// Ratio divides; it is 0 if there is nothing to divide by.
func Ratio[T ~int64](a, b T) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Milliseconds prints a duration: 1.5 ms.
func Milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// Seconds prints a duration: 1.50 s.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// MB prints a number of bytes in units of 2^20: 1.5 MB.
func MB(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20)) }

// Verdict says in a table whether a value is within a target; "" without one.
func Verdict(value, target time.Duration) string {
	text := target.String()
	switch {
	case target == 0:
		return ""
	case target >= time.Minute:
		text = fmt.Sprintf("%.0f min", target.Minutes())
	case target >= time.Second:
		text = fmt.Sprintf("%.0f s", target.Seconds())
	case target >= time.Millisecond:
		text = fmt.Sprintf("%.0f ms", float64(target)/float64(time.Millisecond))
	}
	if value <= target {
		return text + ": met"
	}
	return text + ": missed"
}

// Machine describes the processors of this machine.
func Machine() string {
	model := runtime.GOARCH
	text, _ := os.ReadFile("/proc/cpuinfo") // not every architecture has a model
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d CPUs, %s", runtime.NumCPU(), model)
}
