package nodeagent_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/nodequestions"
)

// lines returns a line for each resource in a report: its reference, state and message, or the first event's message and diff.
func lines(g Gomega, raw []byte) []string {
	var r struct {
		Resources []struct {
			Ref, State, Message string
			Events              []struct{ Message, Diff string }
		}
	}
	g.Expect(json.Unmarshal(raw, &r)).To(Succeed())
	var all []string
	for _, res := range r.Resources {
		text := res.Message
		for _, e := range res.Events {
			text += e.Message + e.Diff
		}
		all = append(all, res.Ref+" "+res.State+" "+text)
	}
	return all
}

func TestAgentAnswersWithTheDifferenceAndItsReports(t *testing.T) {
	t.Parallel()
	cfg := controlplane.StartAggregated(t)
	w := newWorld(t, cfg)
	c := nodequestions.Serve(t, cfg)
	m := w.machine(t)
	entry := func(kind, name, attributes string) v1alpha1.CatalogEntry {
		return v1alpha1.CatalogEntry{Kind: kind, Name: name, Attributes: &runtime.RawExtension{Raw: []byte(attributes)}}
	}
	m.file("b").write("as wanted\n")
	m.unwatchable.Store(true)
	m.start()
	m.applied(m.should(fileEntry("a", "wanted\n"), fileEntry("b", "as wanted\n"), entry("Exec", "never", `{"command":"/bin/false","refreshOnly":true}`)))
	m.file("a").write("changed\n") // the agent notices that only at its interval

	m.soon("the difference", func(g Gomega) {
		var diff reports.NodeDiff
		g.Expect(c.Get(t.Context(), client.ObjectKey{Name: m.name}, &diff)).To(Succeed())
		got := lines(g, diff.Report.Raw)
		g.Expect(got).To(HaveLen(2))
		g.Expect(strings.Join(got, "\n")).To(And(
			ContainSubstring("Exec/never Skipped not checked: a question starts no command of an Exec"),
			ContainSubstring("File/a Noop content changed"), ContainSubstring("-changed\n+wanted"),
		))
	})
	m.Expect(m.file("a").text()).To(Equal("changed\n"), "a question changes nothing")

	m.passes("the drift is corrected", func(g Gomega) { g.Expect(m.file("a").text()).To(Equal("wanted\n")) })
	m.soon("the reports", func(g Gomega) {
		var list reports.NodeReportList
		g.Expect(c.List(t.Context(), &list, client.MatchingFields{reports.FieldNode: m.name})).To(Succeed())
		var got []string
		for _, r := range list.Items {
			got = append(got, r.Name+" "+strings.Join(lines(g, r.Report.Raw), " "))
		}
		g.Expect(got).To(HaveLen(2))
		g.Expect(got[0]).To(HavePrefix(m.name + ".1 File/a Changed created"))
		g.Expect(got[1]).To(HavePrefix(m.name + ".2 File/a Changed content changed"))
	})
}
