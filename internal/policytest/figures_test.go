package policytest_test

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing"
)

// The README has rounded figures of docs/benchmarks.md.
func TestFiguresInTheReadmeAreThoseOfTheBenchmarks(t *testing.T) {
	t.Parallel()

	text, err := fs.ReadFile(checkout(), "docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := fs.ReadFile(checkout(), "README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n### 1000 files, in sync\n")
	if !found {
		t.Fatal("docs/benchmarks.md has no section about 1000 files in sync")
	}
	want := fmt.Sprintf("\n| 1,000 files in sync | %.2f s | %.1f s |", medianOf(t, section, "fettle"), medianOf(t, section, "puppet"))
	if !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not have the row of docs/benchmarks.md: %s", want)
	}
}

// medianOf returns the median of a program in seconds: the second cell of its first row, in milliseconds.
func medianOf(t *testing.T, section, program string) float64 {
	t.Helper()
	_, row, _ := strings.Cut(section, "\n| "+program+" | ")
	cell, _, _ := strings.Cut(row, " ms |")
	median, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		t.Fatalf("docs/benchmarks.md has no median of %s: %v", program, err)
	}
	return median / 1000
}
