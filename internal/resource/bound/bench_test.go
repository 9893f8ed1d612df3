package bound_test

import (
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// lampJSON manages every property.
const lampJSON = `{"ensure":"present","colour":"RED","watts":40,"rooms":["study","attic","hall"],"code":"s3cret","dimming":true}`

func BenchmarkBind(b *testing.B) {
	k, ref, raw := bound.Kind(lamps(plain{name: "switch"})), resource.Ref{Kind: "Lamp", Name: "desk"}, json.RawMessage(lampJSON)
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := k.Bind(ref, raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	p := &able{plain: plain{name: "debian"}, on: "Debian", features: []resource.Feature{colourful, dimmable, ultra}}
	r, err := bound.Kind(lamps(plain{name: "switch"}, p)).Bind(resource.Ref{Kind: "Lamp", Name: "desk"}, json.RawMessage(lampJSON))
	if err != nil {
		b.Fatal(err)
	}
	facts := bookworm()
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Choose(facts, nil, ""); err != nil || r.Unsupported() != nil {
			b.Fatal(err, r.Unsupported())
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	there := lamp{Name: "desk", Ensure: new("present"), Colour: new("red"), Watts: new(40), Rooms: []string{"study", "hall", "attic"}, Code: new("s3cret")}
	inSync, differs := there, there
	differs.Watts, differs.Rooms = new(7), []string{"study"}
	for name, bench := range map[string]struct {
		is      lamp
		changes int
	}{"in sync": {inSync, 0}, "out of sync": {differs, 2}} {
		b.Run(name, func(b *testing.B) {
			r, err := bound.Kind(lamps(plain{name: "switch", is: bench.is})).Bind(resource.Ref{Kind: "Lamp", Name: "desk"}, json.RawMessage(lampJSON))
			if err != nil {
				b.Fatal(err)
			}
			if err := r.Choose(nil, nil, ""); err != nil {
				b.Fatal(err)
			}
			if err := r.Read(b.Context(), resource.Call{}.Reader(nil)); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if n := len(r.Compare().Changes); n != bench.changes {
					b.Fatal(n)
				}
			}
		})
	}
}
