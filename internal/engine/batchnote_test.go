package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// A noting provider adds a note to the report of each resource that it writes in a batch.
type noting struct{ batching }

func (p noting) WriteAll(ctx context.Context, h resource.Writer, writes []resource.Write[thing]) []error {
	for _, w := range writes {
		w.AddNote("noted " + w.Want.Name + "\n")
	}
	return p.batching.WriteAll(ctx, h, writes)
}

func TestBatchNoteBelongsToItsResource(t *testing.T) {
	t.Parallel()

	m := newMachine()
	kind := bound.Kind(m.typ("Crate", []resource.Provider[thing]{noting{batching{plain{m, "truck"}}}}))
	var items []resource.Item
	for _, name := range []string{"a", "b"} {
		ref := resource.Ref{Kind: "Crate", Name: name}
		r, err := kind.Bind(ref, json.RawMessage(`{"ensure":"present"}`))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, resource.Item{Ref: ref, Resource: r})
	}

	report := transact(t, items)

	want := []string{"Crate/a Changed", "  output: noted a", "  created", "Crate/b Changed", "  output: noted b", "  created"}
	if diff := cmp.Diff(want, lines(report)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
