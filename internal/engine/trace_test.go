package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

func TestTraceRecordsManagedPropertiesOnEachComparison(t *testing.T) {
	long := strings.Repeat("blue", 60)
	clipped := strings.Repeat("BLUE", 49) + "B..."
	want := []string{
		"Thing/same: color: current red, normalized RED, target RED",
		"Thing/same: secret: current [redacted], target [redacted]",
		"Thing/same: color: current RED, target RED",
		"Thing/same: secret: current [redacted], target [redacted]",
		"Thing/new: ensure: current absent, target present",
		"Thing/new: color: current absent, target " + clipped,
		"Thing/new: ensure: current present, target present",
		"Thing/new: color: current " + clipped + ", target " + clipped,
	}
	for name, beforehand := range map[string]bool{"read in their turns": false, "read for their names": true} {
		m := newMachine()
		m.things["new"] = thing{Name: "new", Ensure: new(resource.Absent)}
		m.things["same"] = redThing("same")
		shouting := m.typ("Thing", []resource.Provider[thing]{plain{m, "hand"}})
		shouting.CanonicalNames = beforehand
		shouting.Normalize = func(t *thing) {
			if t.Color != nil {
				t.Color = new(strings.ToUpper(*t.Color))
			}
		}
		var items []resource.Item
		for _, i := range []struct{ name, attributes string }{{"same", `{"color":"red","secret":"s3cret"}`}, {"new", `{"ensure":"present","color":"` + long + `"}`}} {
			item := resource.Item{Ref: resource.Ref{Kind: "Thing", Name: i.name}}
			item.Resource, item.Invalid = bound.Kind(shouting).Bind(item.Ref, json.RawMessage(i.attributes))
			items = append(items, item)
		}
		var got []string
		transact(t, items, func(tx *engine.Transaction) { tx.Trace = func(line string) { got = append(got, line) } })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
