package compiler_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

func TestCompileFromIsTheCompilationWithWhatIsKept(t *testing.T) {
	t.Parallel()

	var c compiler.Compiler
	selecting := when(`node.name == "web-1"`)
	in := compiler.Input{Nodes: []compiler.Node{{Name: "web-1"}, {Name: "db-1"}}, Kinds: kinds(), Resources: []v1alpha1.Resource{file("a", "/a"), file("b", "/b", selecting)}}
	base := c.Draft(in)
	in.Resources = []v1alpha1.Resource{file("a", "/new", when("node.nme")), file("b", "/b", selecting)}
	fleet, draft := c.Nodes(in.Nodes), c.Draft(in)
	kept, faults := fleet.KeepFrom(draft, base, nil)
	want := fleet.Assign(kept, nil, nil)
	want.Problems = append(want.Problems, compiler.KeptProblem("File/a", faults["File/a"]))
	var all sync.WaitGroup
	for range 4 { // each with the same base
		all.Go(func() {
			got := compiler.CompileFrom(in, base)
			if diff := cmp.Diff(encoded(t, want), encoded(t, got)); diff != "" || len(faults) != 1 {
				t.Errorf("%v: %s", faults, diff)
			}
		})
	}
	all.Wait()
	in.Limit.Pairs = 1
	if got := compiler.CompileFrom(in, base); !errors.Is(got.Err, compiler.ErrUsage) {
		t.Errorf("with a limit: %v", got.Err)
	}
}
