package nodeagent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
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
	w := newFixture(t, cfg)
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

// planned asks the agent of a machine what a change of its catalog would do.
func planned(t *testing.T, g Gomega, m *machine, hub *questions.Hub, p *reports.Proposal) ([]string, error) {
	t.Helper()
	answer, err := hub.Propose(t.Context(), m.name, p)
	if err != nil {
		return nil, err
	}
	g.Expect(answer.Reports).To(HaveLen(1))
	return lines(g, answer.Reports[0].Report.Raw), nil
}

func TestAgentAnswersWhatAChangeWouldDoAndOnlyThat(t *testing.T) {
	t.Parallel()
	cfg := controlplane.StartAggregated(t)
	w := newFixture(t, cfg)
	_, hub := nodequestions.ServeHub(t, cfg, nil)
	m := w.machine(t)
	entry := func(kind, name, attributes string, edit func(*v1alpha1.CatalogEntry)) v1alpha1.CatalogEntry {
		e := v1alpha1.CatalogEntry{Kind: kind, Name: name, Attributes: &runtime.RawExtension{Raw: []byte(attributes)}}
		edit(&e)
		return e
	}
	unlike := fileEntry("drifts", "as wanted\n")
	unlike.Noop = new(true)
	leaves := fileEntry("leaves", "x\n")
	leaves.DeletionPolicy = v1alpha1.DeletionDelete
	m.start()
	is := m.applied(m.should(fileEntry("a", "one\n"), unlike, leaves,
		entry("Exec", "reload", `{"command":"/bin/false","refreshOnly":true}`, func(e *v1alpha1.CatalogEntry) {
			e.Edges = &v1alpha1.Edges{Subscribe: []v1alpha1.ResourceRef{"File/a"}}
		}),
		entry("Exec", "other", `{"command":"/bin/false","refreshOnly":true}`, func(*v1alpha1.CatalogEntry) {}),
		entry("Notify", "told", `{"message":"a has changed"}`, func(e *v1alpha1.CatalogEntry) {
			e.Edges = &v1alpha1.Edges{Require: []v1alpha1.ResourceRef{"File/a"}}
		})))
	base := is.Status.AppliedDigest

	changed := fileEntry("a", "two\n")
	m.soon("the plan", func(g Gomega) {
		got, err := planned(t, g, m, hub, &reports.Proposal{
			Base: base, Digest: "next", Entries: []v1alpha1.CatalogEntry{changed, fileEntry("new", "x\n"), entry("File", "fetched", `{"path":"/etc/fetched","source":"https://127.0.0.1:1/x"}`, func(*v1alpha1.CatalogEntry) {})}, Remove: []v1alpha1.ResourceRef{"File/leaves"},
		})
		g.Expect(err).NotTo(HaveOccurred())
		text := strings.Join(got, "\n")
		g.Expect(got).To(HaveLen(5), text)
		g.Expect(text).To(And(
			ContainSubstring("File/a Noop content changed"), ContainSubstring("-one\n+two"),
			ContainSubstring("File/new Noop created"), ContainSubstring("File/fetched Skipped not checked: a plan sends no request to a source"), ContainSubstring("File/leaves Noop removed"),
			ContainSubstring("Exec/reload Skipped not checked: a question starts no command of an Exec; the change would refresh it"),
		))
	})
	after := fileEntry("after", "x\n")
	after.Edges = &v1alpha1.Edges{Require: []v1alpha1.ResourceRef{"DNSZone/example"}}
	m.soon("the plan of a kind of which the node has had no resource", func(g Gomega) {
		got, err := planned(t, g, m, hub, &reports.Proposal{
			Base: base, Digest: "next", Entries: []v1alpha1.CatalogEntry{after, entry("DNSZone", "example", `{"name":"example"}`, func(*v1alpha1.CatalogEntry) {})},
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.Join(got, "\n")).To(And(
			ContainSubstring("DNSZone/example Skipped not checked: a question starts no program of an external type"), ContainSubstring("File/after Noop created"),
		))
	})
	m.Expect(m.file("a").text()).To(Equal("one\n"), "a plan changes nothing")
	m.Expect(m.file("leaves").text()).To(Equal("x\n"))

	for want, p := range map[string]*reports.Proposal{
		"the host is at another catalog than the cluster": {Base: "another"},
		"the question has no change":                      nil,
	} {
		m.soon(want, func(g Gomega) {
			_, err := planned(t, g, m, hub, p)
			g.Expect(err).To(MatchError(ContainSubstring(want)))
		})
	}
}

// A plan that takes for ever delays no correction: it gives way, and begins again.
func TestPlanGivesWayToRuns(t *testing.T) {
	t.Parallel()
	cfg := controlplane.StartAggregated(t)
	w := newFixture(t, cfg)
	_, hub := nodequestions.ServeHub(t, cfg, nil)
	m := w.machine(t)
	huge := filepath.Join(m.root, "etc/huge")
	must(t, os.WriteFile(huge, nil, 0o600))
	must(t, os.Truncate(huge, 15<<30)) // takes longer to read than somebody waits, and nothing to store
	m.start()
	is := m.applied(m.should(fileEntry("a", "one\n")))
	audited := v1alpha1.CatalogEntry{Kind: "File", Name: "huge", Attributes: &runtime.RawExtension{Raw: []byte(`{"path":"/etc/huge"}`)}, Audit: []string{"content"}}
	ended := make(chan error, 1)
	plan := func() {
		_, err := hub.Propose(t.Context(), m.name, &reports.Proposal{Base: is.Status.AppliedDigest, Digest: "next", Entries: []v1alpha1.CatalogEntry{audited}})
		ended <- err
	}
	reads := func() bool {
		open, _ := filepath.Glob("/proc/self/fd/*")
		return slices.ContainsFunc(open, func(fd string) bool {
			to, _ := os.Readlink(fd)
			return to == huge
		})
	}
	m.Eventually(func() bool { return hub.Connected(m.name) }).WithTimeout(limit).Should(BeTrue())
	const attempts = 10 // the machine may be too slow for the time of one question
	for range attempts {
		go plan()
		m.Eventually(func() bool { return reads() || len(ended) > 0 }).WithTimeout(limit).WithPolling(time.Millisecond).Should(BeTrue(), "the plan reads the file")
		m.file("a").write("drift\n")
		m.Eventually(func(g Gomega) {
			m.clock.Step(time.Second)
			g.Expect(m.file("a").text()).To(Equal("one\n"))
		}).WithTimeout(limit).WithPolling(time.Millisecond).Should(Succeed(), "drift is corrected")
		gaveWay := len(ended) == 0
		if err := <-ended; err == nil {
			t.Fatal("the plan read the whole file: it has to be larger")
		}
		if gaveWay {
			return
		}
	}
	t.Errorf("%d plans ended before the drift was corrected", attempts)
}
