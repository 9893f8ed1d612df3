package fault_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
)

func TestFindingsNameNodesUnlessTheyAreAll(t *testing.T) {
	t.Parallel()
	full, odd := fault.New("Full", "it is full"), fault.New("Odd", "it is odd")
	findings := fault.Findings{}
	for _, node := range []string{"b", "a"} {
		findings.Add("File/some", full, node)
		findings.Add("File/all", full, node)
	}
	findings.Add("File/all", odd, "a")
	findings.Add("File/none", odd)
	got := findings.Problems(map[v1alpha1.ResourceRef][]string{"File/some": {"a", "b", "c"}, "File/all": {"a", "b"}})
	want := []fault.Problem{
		{Ref: "File/all", Reason: "Full", Message: "it is full"},
		{Ref: "File/all", Node: "a", Reason: "Odd", Message: "it is odd"},
		{Ref: "File/none", Reason: "Odd", Message: "it is odd"},
		{Ref: "File/some", Node: "a", Reason: "Full", Message: "it is full"},
		{Ref: "File/some", Node: "b", Reason: "Full", Message: "it is full"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
