package layers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/hack/structure/layers"
)

const table = `
# Highest first.

top     cmd/... a/b/special
middle  a/...
bottom  base
`

func TestAPackageImportsItsOwnLayerAndLowerOnes(t *testing.T) {
	t.Parallel()

	got := layers.Parse(table).Problems(map[string][]string{
		"cmd/x":       {"cmd/y", "a", "base"},
		"cmd/y":       nil,
		"a":           {"a/b", "base"},
		"a/b":         nil,
		"a/b/special": {"cmd/y", "a/b"},
		"base":        nil,
	})
	if len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestAnImportOfAHigherLayerIsAProblem(t *testing.T) {
	t.Parallel()

	got := layers.Parse(table).Problems(map[string][]string{"base": {"a", "cmd"}, "a/b": {"a/b/special"}})
	want := []string{
		"package a/b of layer middle imports a/b/special of the higher layer top: move what it needs down, or pass it in",
		"package base of layer bottom imports a of the higher layer middle: move what it needs down, or pass it in",
		"package base of layer bottom imports cmd of the higher layer top: move what it needs down, or pass it in",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPackageWithoutALayerIsAProblem(t *testing.T) {
	t.Parallel()

	got := layers.Parse(table).Problems(map[string][]string{"base/more": nil})
	want := []string{"package base/more is in no layer: add it to hack/structure/layers/layers.txt"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCyclesAreFoundBetweenFolders(t *testing.T) {
	t.Parallel()

	got := layers.Cycles(map[string][]string{
		"api":             {"internal/host"},
		"internal/host":   {"internal/text"},
		"internal/text/x": {"internal/host/y"},
		"internal/host/y": {"internal/host"},
		"cmd/a":           {"hack/b", "api"},
		"hack/c":          {"test"},
		"test/d":          {"cmd/e"},
	})
	want := [][]string{{"cmd", "hack", "test"}, {"internal/host", "internal/text"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFoldersThatImportOneWayAreNoCycle(t *testing.T) {
	t.Parallel()

	if got := layers.Cycles(map[string][]string{"a/x": {"a/y", "b"}, "b": {"c"}, "a/y": {"c"}}); got != nil {
		t.Errorf("got %q", got)
	}
}
