package status_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent/status"
	"github.com/fettle-dev/fettle/test/fixtures/hostile"
)

// awkward returns texts that grow when encoded as JSON, or are empty.
func awkward() []string {
	return []string{"x", "ä", "<", "\x00", "\xff", `"`, "\u2028", "\U0001F600", "\n", ""}
}

// A heap generates values up to the largest that a host could report, from a seed.
type heap struct{ *rand.Rand }

func (h heap) text(longest int) string {
	all := awkward()
	return strings.Repeat(all[h.IntN(len(all))], h.IntN(longest+1))
}

func (h heap) report(i int) report.ResourceReport {
	states := []report.State{report.InSync, report.Changed, report.Refreshed, report.Noop, report.Skipped, report.Failed}
	r := report.ResourceReport{
		Ref: report.Ref{Kind: "File", Name: fmt.Sprintf("/%d%s", i, h.text(4000))}, State: states[h.IntN(len(states))],
		Message: h.text(5000), OutOfSync: h.IntN(2) == 0, Differs: h.IntN(2) == 0, Left: h.IntN(9) == 0,
	}
	r.Author = &host.Author{Executable: h.text(4096), Unit: h.text(255), Pod: h.text(64)}
	for range h.IntN(40) {
		r.Events = append(r.Events, report.Event{
			Property: h.text(40), Is: h.text(3000), Should: h.text(3000), Message: h.text(500), Status: report.Failure, Corrective: h.IntN(2) == 0,
		})
	}
	return r
}

func (h heap) facts() resource.Facts {
	facts := resource.Facts{"os": map[string]any{"family": "Debian"}}
	for i := range h.IntN(200) {
		inner := map[string]any{}
		for j := range h.IntN(20) {
			inner[fmt.Sprint(j)+h.text(20)] = []any{h.text(400), nil, 7.0}
		}
		facts[fmt.Sprint(i)+h.text(50)] = inner
	}
	return facts
}

func (h heap) input(at time.Time) status.Input {
	var reports results
	for i := range h.IntN(120) {
		reports = append(reports, h.report(i))
	}
	in := status.Input{Now: at, Generation: 3, AgentVersion: "v1.2.3-45-g0123456789ab-dirty", PublicKey: strings.Repeat("k", 1624), Facts: h.facts(), Run: ran(at, reports...)}
	for i := range h.IntN(80) {
		in.Run.Withheld = append(in.Run.Withheld, v1alpha1.Withheld{
			Ref: v1alpha1.ResourceRef(fmt.Sprintf("File/w%d%s", i, strings.Repeat("w", 240))), Reason: v1alpha1.ReasonDependencyCycle, Message: h.text(300),
		})
	}
	if reasons := []string{"", v1alpha1.ReasonApplying, v1alpha1.ReasonCatalogInvalid, v1alpha1.ReasonRunFailed}; h.IntN(2) == 0 {
		in.Problem = &status.Problem{Reason: reasons[1+h.IntN(len(reasons)-1)], Message: h.text(5000)}
	}
	return in
}

func FuzzStatusSize(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		h := heap{rand.New(rand.NewPCG(seed, 1))}
		var s v1alpha1.NodeCatalogStatus
		for hour := range 3 { // the same report again
			in := h.input(noon().Add(time.Duration(hour) * time.Hour))
			s, _ = status.Next(s, in)
			if size := len(asJSON(t, s)); size > status.MaxSize {
				t.Fatalf("the status has %d bytes", size)
			}
			if len(s.Resources) > 50 {
				t.Fatalf("it has %d entries", len(s.Resources))
			}
		}
	})
}

// A status is printable for any names on a host, and distinct names stay distinct.
func TestStatusIsEscaped(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		names := map[string]bool{}
		var reports results
		for range 30 {
			name := hostile.Name(r)
			names[name] = true
			reports = append(reports, failed(name, hostile.String(r)))
			reports[len(reports)-1].Events = []report.Event{{Property: "target", Is: hostile.String(r), Should: hostile.String(r), Status: report.Failure}}
		}
		s, _ := status.Next(v1alpha1.NodeCatalogStatus{}, status.Input{
			Now: noon(), Generation: 3, Facts: resource.Facts{hostile.Name(r): hostile.String(r)}, Run: ran(noon(), reports...),
			Problem: &status.Problem{Reason: v1alpha1.ReasonRunFailed, Message: hostile.String(r)},
		})
		if len(s.Resources)+int(s.Omitted) != len(names) {
			t.Errorf("%d entries and %d more of %d names", len(s.Resources), s.Omitted, len(names))
		}
		texts := []string{s.OmittedFacts}
		for _, c := range s.Conditions {
			texts = append(texts, c.Message)
		}
		for _, res := range s.Resources {
			texts = append(texts, string(res.Ref), res.Message, res.Changes[0].Is, res.Changes[0].Should)
		}
		for _, text := range texts {
			if i := strings.IndexFunc(text, func(c rune) bool { return !unicode.IsGraphic(c) }); i >= 0 || !utf8.ValidString(text) {
				t.Fatalf("seed %d: %q is not printable", seed, text)
			}
		}
		if strings.Contains(string(s.Facts.Raw), `\ufffd`) {
			t.Fatalf("seed %d: the facts lost bytes: %s", seed, s.Facts.Raw)
		}
	}
}

// Every part has its maximum size at once.
func TestLargestStatusFits(t *testing.T) {
	for _, c := range awkward() {
		var many results
		for i := range 60 {
			r := failed(fmt.Sprintf("%03d%s", i, strings.Repeat(c, 60)), strings.Repeat(c, 2000))
			for range 16 {
				r.Events = append(r.Events, report.Event{Property: "content", Is: strings.Repeat(c, 1000), Should: strings.Repeat(c, 1000), Status: report.Failure})
			}
			many = append(many, r)
		}
		facts := resource.Facts{}
		for i := range 5000 {
			facts[fmt.Sprintf("fact-%04d-%s", i, strings.Repeat("x", 30))] = c
		}
		s, _ := status.Next(v1alpha1.NodeCatalogStatus{}, status.Input{
			Now: noon(), Generation: 1 << 40, AgentVersion: strings.Repeat("v", 60), PublicKey: strings.Repeat("k", 1624), Facts: facts, Run: ran(noon(), many...),
			Problem: &status.Problem{Reason: v1alpha1.ReasonCatalogInvalid, Message: strings.Repeat(c, 4000)},
		})
		size := len(asJSON(t, s))
		if size > status.MaxSize {
			t.Errorf("filled with %q the status has %d bytes", c, size)
		}
		if len(s.Resources) < 2 || len(s.Resources)+int(s.Omitted) != 60 || len(s.Facts.Raw) < 30<<10 {
			t.Errorf("filled with %q the status has %d entries (%d omitted) and %d bytes of facts", c, len(s.Resources), s.Omitted, len(s.Facts.Raw))
		}
	}
}

func TestOmittedFactsAreNamed(t *testing.T) {
	text := func(kilobytes int) string { return strings.Repeat("x", kilobytes<<10) }
	many := resource.Facts{}
	for i := range 40 {
		many[fmt.Sprintf("f%02d", i)] = text(2)
	}
	for name, c := range map[string]struct {
		facts resource.Facts
		want  string
		has   []string
	}{
		"none": {resource.Facts{"a": "1"}, "", []string{"a"}},
		"omits the largest first": {
			resource.Facts{"a": text(20), "b": text(100), "c": text(1)}, "b", []string{"a", "c"},
		},
		"omits only the part that takes most of a structured fact": {
			resource.Facts{"networking": map[string]any{"ip": "10.0.0.1", "interfaces": map[string]any{"a": text(20), "b": text(20)}}, "os": text(1)},
			"networking.interfaces",
			[]string{"networking", "os"},
		},
		"omits all of a structured fact with many small parts": {
			resource.Facts{"list": []any{text(20), text(20)}, "os": text(1)}, "list", []string{"os"},
		},
		"omits some of many": {many, "f00, f01, f02, f03, f04 and 20 more", nil},
		"omits facts beyond the limit of 1,024, the largest first": {
			names(1023, resource.Facts{"a": "12345678", "b": "1234567", "os": "1"}), "a, b", []string{"os"},
		},
		"omits facts nested deeper than 8 levels": {
			resource.Facts{"a": nested(8), "b": nested(7), "c": []any{nil, nested(7)}}, "a, c", []string{"b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := status.Next(v1alpha1.NodeCatalogStatus{}, status.Input{Now: noon(), Generation: 1, Facts: c.facts})
			if degraded := message(s, v1alpha1.ConditionDegraded); strings.HasSuffix(degraded, "not available to templates and when: "+c.want) != (c.want != "") {
				t.Errorf("Degraded has the message %q", degraded)
			}
			if s.OmittedFacts != c.want {
				t.Errorf("omitted are %q, want %q", s.OmittedFacts, c.want)
			}
			var has []string
			for _, name := range []string{"a", "b", "c", "list", "networking", "os"} {
				if strings.Contains(string(s.Facts.Raw), `"`+name+`":`) && c.facts[name] != nil {
					has = append(has, name)
				}
			}
			if diff := cmp.Diff(c.has, has); diff != "" {
				t.Error(diff)
			}
			again, changed := status.Next(s, status.Input{Now: noon(), Generation: 1, Facts: c.facts})
			if changed {
				t.Errorf("the same facts changed the status: %s", cmp.Diff(s, again))
			}
		})
	}
}

// names adds n small facts to others.
func names(n int, facts resource.Facts) resource.Facts {
	for i := range n {
		facts[fmt.Sprintf("f%04d", i)] = "x"
	}
	return facts
}

// nested returns a value with n levels.
func nested(levels int) any {
	if levels == 0 {
		return "x"
	}
	return map[string]any{"x": nested(levels - 1)}
}

func message(s v1alpha1.NodeCatalogStatus, condition string) string {
	if c := meta.FindStatusCondition(s.Conditions, condition); c != nil {
		return c.Message
	}
	return ""
}
