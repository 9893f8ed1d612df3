package file_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
)

// A check may read the other files of a configuration, in their order.
func TestValidateCmdRunsInOrderOfTheBatch(t *testing.T) {
	t.Parallel()

	const each = 60
	h := newHost(t, nil)
	var all []resource.BatchItem
	add := func(format string, args ...any) {
		r := look(t, h.ReadOnly(), fmt.Sprintf(format, args...))
		all = append(all, resource.BatchItem{Resource: r, Changes: r.Compare().Changes})
	}
	var before []string
	for i := range each {
		add("{path: /a%02d, content: x}", i)
		before = append(before, fmt.Sprintf("a%02d", i))
	}
	add("{path: /b, content: x, validateCmd: checker %%}")
	for i := range each {
		add("{path: /c%02d, content: x}", i)
	}
	var seen []string
	h.Handle("checker", func(host.Cmd) host.Result {
		names, err := h.ReadDir("/")
		if err != nil {
			return host.Result{ExitCode: 1}
		}
		seen = slices.DeleteFunc(names, func(n string) bool { return len(n) != len("a00") || n[0] != 'a' && n[0] != 'c' })
		return host.Result{}
	})
	for i, err := range all[0].Resource.Provider().WriteAll(t.Context(), resourcetest.Writer(h), all) {
		if err != nil {
			t.Errorf("%s: %v", all[i].Resource.Namevar(), err)
		}
	}
	if diff := cmp.Diff(before, seen); diff != "" {
		t.Errorf("the command saw (-want +got):\n%s", diff)
	}
}
