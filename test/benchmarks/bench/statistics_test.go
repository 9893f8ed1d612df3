package bench_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

func TestAtReturnsPercentiles(t *testing.T) {
	t.Parallel()

	values := []int{5, 1, 4, 2, 3}
	got := []int{bench.At(values, 0), bench.Median(values), bench.At(values, 0.99), bench.At(values, 1), bench.Median([]int(nil))}
	if diff := cmp.Diff([]int{1, 3, 5, 5, 0}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{5, 1, 4, 2, 3}, values); diff != "" {
		t.Errorf("the values were changed (-want +got):\n%s", diff)
	}
}

func TestVerdictComparesWithTheTarget(t *testing.T) {
	t.Parallel()

	got := []string{
		bench.Verdict(time.Second, 0), bench.Verdict(49*time.Millisecond, 50*time.Millisecond), bench.Verdict(3*time.Second, 2*time.Second),
		bench.Verdict(time.Minute, 2*time.Minute),
	}
	if diff := cmp.Diff([]string{"", "50 ms: met", "2 s: missed", "2 min: met"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
