package report_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/report"
)

// A decoded report encodes to the same report, to the millisecond.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"kind":"Report","host":"web-1","status":"changed","started":"2026-01-02T03:04:05Z","duration":"1.5s","counts":{"total":1},
		"resources":[{"ref":"File/motd","state":"Changed","duration":"0.021s","events":[{"property":"mode","is":"0644","should":"0600","status":"success"}]}]}`))
	f.Add([]byte(`{"duration":"-1h0.0005s","resources":[{"ref":"/"}]}`))
	f.Add([]byte(`{"duration":"9223372036.854775807s","started":"0000-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"duration":null,"resources":[null]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var read report.Report
		if json.Unmarshal(text, &read) != nil {
			return
		}
		written, err := json.Marshal(read)
		if err != nil {
			return // a time or a reference that was left out
		}
		var once, twice report.Report
		if err := json.Unmarshal(written, &once); err != nil {
			for _, r := range read.Resources {
				if r.Ref == (report.Ref{}) {
					return // nobody's
				}
			}
			t.Fatalf("%s is written as %s: %v", text, written, err)
		}
		again, err := json.Marshal(once)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &twice); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Errorf("%s (-once +twice):\n%s", text, diff)
		}
	})
}

func BenchmarkReport(b *testing.B) {
	ran := report.Report{Kind: "Report"}
	for range 500 {
		ran.Resources = append(ran.Resources, report.ResourceReport{
			Ref: report.Ref{Kind: "File", Name: "motd"}, Provider: "posix", State: report.Changed, Duration: 21e6,
			Events: []report.Event{{Property: "mode", Is: "0644", Should: "0600", Status: report.Success, Message: "mode changed 0644 to 0600"}},
		})
	}
	text, err := json.Marshal(ran)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var read report.Report
		if err := json.Unmarshal(text, &read); err != nil || len(read.Resources) != 500 {
			b.Fatal(len(read.Resources), err)
		}
	}
}
