package nodeagent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// TestAgent runs agents on directories against a real API server, with the rights that
// agents have and no others.
func TestAgent(t *testing.T) {
	cfg, _ := controlplane.Start(t)
	w := newWorld(t, cfg)
	for name, test := range map[string]func(*testing.T, *machine){
		"applies what changes":                                   appliesChanges,
		"waits for its splay, and not as long as others":         keepsItsTime,
		"publishes facts as soon as there is a NodeCatalog":      publishesFacts,
		"corrects drift at the interval and tells of it":         correctsDrift,
		"writes nothing while all is quiet":                      staysQuiet,
		"goes on without the API server, which learns it all":    goesOnAlone,
		"starts without the API server from what is on disk":     startsAlone,
		"leaves the host alone when a catalog is invalid":        refusesInvalid,
		"waits for a catalog that is missing":                    waitsForMissing,
		"one bad resource does not stop the others":              isolatesFailure,
		"reports only where the node is in noop":                 honoursNoop,
		"runs its commands around runs, but around no noop":      runsCommands,
		"tells what is withheld":                                 tellsWithheld,
		"follows a NodeCatalog that is deleted and recreated":    followsRecreation,
		"does not run again at a restart before its time":        restartsQuietly,
		"repairs its status when someone else writes over it":    repairsStatus,
		"waits while someone else runs something on the host":    waitsForOthers,
		"says when there can be no run, and tries again":         triesAgain,
		"is alive unless it is stuck for hours":                  tellsStuck,
		"keeps since when it restarts without the API server":    keepsStatus,
		"corrects drift as it happens, and has a quiet eye":      correctsAtOnce,
		"runs nothing while that is disabled, and says why":      respectsDisabled,
		"fails a run whose time is up":                           stopsLongRuns,
		"logs at the level of resources, audits included":        logsAtLevels,
		"begins a change at a place of its own":                  beginsAtItsPlace,
		"says that it is there, whatever it is doing":            saysItIsThere,
		"tells secrets to nobody, not even when it debugs":       tellsNoSecret,
		"explains in its debug log why a provider cannot work":   explainsProviders,
		"reports output that is not UTF-8 without losing a byte": reportsAnyEncoding,
		"tells nobody what is sealed for it, on disk neither":    tellsNothingSealed,
		"makes a key, publishes it and keeps it":                 keepsKey,
		"opens what is sealed for it without the API server":     opensAlone,
		"gets another key when it has lost its own":              getsAnotherKey,
		"replaces a key of age, and needs nobody for it":         replacesKeyOfAge,
		"opens nothing that is sealed for something else":        opensWhatIsItsOwn,
		"does as policies say with what leaves the catalog":      doesAsPoliciesSay,
		"reports what cannot be removed until it is":             reportsWhatCannotGo,
		"leaves what is withheld":                                keepsWhatIsWithheld,
		"keeps the last good state of what waits":                keepsLastGoodState,
		"leaves hosts as they are when its NodeCatalog goes":     leavesHostsWhenItGoes,
		"keeps the host while requests hang, and tells later":    keepsHostWhileRequestsHang,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w.machine(t))
		})
	}
}

// condition is one of an object's, without its times.
func condition(nc *v1alpha1.NodeCatalog, kind string) string {
	c := meta.FindStatusCondition(nc.Status.Conditions, kind)
	if c == nil {
		return "missing"
	}
	return strings.TrimSuffix(string(c.Status)+" "+c.Reason+": "+c.Message, ": ")
}

func appliesChanges(t *testing.T, m *machine) {
	m.start()
	nc := m.applied(m.should(fileEntry("motd", "one\n"), fileEntry("other", "x\n")))
	m.Expect(m.file("motd").text()).To(Equal("one\n"))
	m.Expect(nc.Status.LastRun.Trigger).To(Equal(v1alpha1.TriggerStart))
	if diff := cmp.Diff(&v1alpha1.RunCounts{Total: 2, InSync: 2, Changed: 2}, nc.Status.Counts); diff != "" {
		t.Error(diff)
	}
	m.Expect(nc.Status.Resources).To(BeEmpty())
	m.Expect(nc.Status.AppliedDigest).To(Equal(catalog.Digest(nc.Spec)))
	m.Expect(nc.Status.AgentVersion).NotTo(BeEmpty())
	m.Expect(condition(nc, "Ready")).To(Equal("True Applied: all 2 resources are in sync"))
	m.Expect(condition(nc, "Reconciling")).To(Equal("False Settled"))
	m.Expect(condition(nc, "Stalled")).To(Equal("False Settled"))
	m.Expect(condition(nc, "Degraded")).To(Equal("False Settled"))

	nc = m.applied(m.should(fileEntry("motd", "two\n"), fileEntry("other", "x\n")))
	m.Expect(m.file("motd").text()).To(Equal("two\n"))
	m.Expect(nc.Status.LastRun.Trigger).To(Equal(v1alpha1.TriggerChange))
	if diff := cmp.Diff(&v1alpha1.RunCounts{Total: 2, InSync: 2, Changed: 1}, nc.Status.Counts); diff != "" {
		t.Error(diff)
	}
	m.Expect(m.logs.String()).To(ContainSubstring(`msg="File/motd: content changed`))
}

func publishesFacts(t *testing.T, m *machine) {
	m.start()
	m.spec(v1alpha1.NodeCatalogSpec{})
	m.soon("facts are there", func(g Gomega) { g.Expect(m.object().Status.Facts).NotTo(BeNil()) })
	var facts resource.Facts
	must(t, json.Unmarshal(m.object().Status.Facts.Raw, &facts))
	m.Expect(facts.String("os.name")).To(Equal("Debian"))
}

func correctsDrift(t *testing.T, m *machine) {
	m.start()
	before := m.applied(m.should(fileEntry("motd", "good\n"), fileEntry("other", "x\n")))
	m.file("motd").write("bad\n")
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	m.soon("it is told", func(g Gomega) { g.Expect(m.object().Status.Resources).To(HaveLen(1)) })
	nc := m.object()
	m.Expect(nc.Status.LastRun.Trigger).To(Equal(v1alpha1.TriggerInterval))
	m.Expect(nc.Status.LastRun.Started.After(before.Status.LastRun.Started.Time)).To(BeTrue())
	drift := nc.Status.Resources[0]
	m.Expect(drift.Since).NotTo(BeNil())
	drift.Since = nil
	if diff := cmp.Diff(v1alpha1.ResourceReport{
		Ref: "File/motd", State: v1alpha1.StateChanged, Corrective: true,
		Changes: []v1alpha1.PropertyChange{{Property: "content", Is: contentOf("bad\n"), Should: contentOf("good\n")}},
	}, drift); diff != "" {
		t.Error(diff)
	}
	m.Expect(condition(nc, "Ready")).To(Equal("True Applied: all 2 resources are in sync"))
}

func staysQuiet(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	m.file("motd").write("bad\n")
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	m.soon("it is told", func(g Gomega) { g.Expect(m.object().Status.Resources).To(HaveLen(1)) })
	before, runs, logged := m.object(), m.runs.Load(), m.logs.String()
	m.passes("five more runs take place", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs+5)) })
	m.Expect(m.object().ResourceVersion).To(Equal(before.ResourceVersion))
	m.Expect(m.logs.String()).To(Equal(logged))
}

func goesOnAlone(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	m.door.shut()
	m.file("motd").write("bad\n")
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	runs := m.runs.Load()
	m.passes("a quiet run follows", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs+1)) })
	m.Expect(m.object().Status.Resources).To(BeEmpty())
	next := m.should(fileEntry("motd", "new\n"))
	m.door.unlock()
	m.passes("the status catches up with drift or change", func(g Gomega) {
		g.Expect(m.object().Status.AppliedGeneration).To(Equal(next.Generation))
	})
	m.Expect(m.file("motd").text()).To(Equal("new\n"))
}

func startsAlone(_ *testing.T, m *machine) {
	m.start()
	first := m.applied(m.should(fileEntry("motd", "good\n")))
	m.stop()
	m.door.shut()
	m.file("motd").write("bad\n")
	m.start()
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	runs := m.runs.Load()
	m.passes("a quiet run follows", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs+1)) })
	m.door.unlock()
	m.passes("the drift is told", func(g Gomega) { g.Expect(m.object().Status.Resources).To(HaveLen(1)) })
	nc := m.object()
	m.Expect(nc.Status.Resources[0].Corrective).To(BeTrue())
	m.Expect(nc.Status.LastRun.Trigger).To(Equal(v1alpha1.TriggerStart))
	m.Expect(first.Status.LastRun.CachedCatalogStatus).To(Equal("not_used"))
	m.Expect(nc.Status.LastRun.CachedCatalogStatus).To(Equal("on_failure"))
	m.Expect(nc.Status.AppliedGeneration).To(Equal(first.Status.AppliedGeneration))
}

func refusesInvalid(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	// Someone made a catalog under a name that is another's hash.
	name := catalog.Name([]v1alpha1.CatalogEntry{fileEntry("motd", "never made "+m.name)})
	forged := &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: name}, Entries: []v1alpha1.CatalogEntry{fileEntry("motd", "evil\n")}}
	must(m.t, m.w.admin.Create(m.t.Context(), forged))
	refused := m.spec(v1alpha1.NodeCatalogSpec{Catalogs: []v1alpha1.CatalogRef{{Name: name}}})
	m.soon("it stalls", func(g Gomega) {
		g.Expect(condition(m.object(), "Stalled")).To(HavePrefix("True CatalogInvalid: catalog " + name + " is invalid: its content is that of sha256-"))
	})
	nc := m.object()
	m.Expect(condition(nc, "Ready")).To(HavePrefix("False CatalogInvalid"))
	m.Expect(nc.Status.ObservedGeneration).To(Equal(refused.Generation))
	m.Expect(nc.Status.AppliedGeneration).To(Equal(refused.Generation - 1))
	m.Expect(m.file("motd").text()).To(Equal("good\n"))

	m.file("motd").write("bad\n")
	m.passes("the last good one is still enforced", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	m.applied(m.should(fileEntry("motd", "better\n")))
	m.Expect(condition(m.object(), "Stalled")).To(Equal("False Settled"))
}

func waitsForMissing(_ *testing.T, m *machine) {
	m.start()
	entries := []v1alpha1.CatalogEntry{fileEntry("motd", "late "+m.name+"\n")}
	name := catalog.Name(entries)
	m.spec(v1alpha1.NodeCatalogSpec{Catalogs: []v1alpha1.CatalogRef{{Name: name}}})
	m.soon("it stalls", func(g Gomega) {
		g.Expect(condition(m.object(), "Stalled")).To(HavePrefix("True CatalogUnavailable: cannot get catalog " + name))
	})
	must(m.t, m.w.admin.Create(m.t.Context(), &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: name}, Entries: entries}))
	m.passes("it is applied", func(g Gomega) { g.Expect(m.object().Status.AppliedGeneration).To(Equal(int64(1))) })
	m.Expect(m.file("motd").text()).To(HavePrefix("late "))
	m.Expect(condition(m.object(), "Ready")).To(HavePrefix("True Applied"))
}

func isolatesFailure(t *testing.T, m *machine) {
	m.start()
	unknown := v1alpha1.CatalogEntry{Kind: "Gadget", Name: "x"}
	after := fileEntry("after", "x")
	after.Edges = &v1alpha1.Edges{Require: []v1alpha1.ResourceRef{"Gadget/x"}}
	nc := m.applied(m.should(unknown, after, fileEntry("motd", "good\n")))
	m.Expect(m.file("motd").text()).To(Equal("good\n"))
	if diff := cmp.Diff(&v1alpha1.RunCounts{Total: 3, InSync: 1, Changed: 1, Failed: 1, Skipped: 1}, nc.Status.Counts); diff != "" {
		t.Error(diff)
	}
	m.Expect(nc.Status.Resources).To(HaveLen(2))
	m.Expect(nc.Status.Resources[0].Ref).To(Equal(v1alpha1.ReportedRef("Gadget/x")))
	m.Expect(nc.Status.Resources[0].Message).To(ContainSubstring(`kind "Gadget" is not known`))
	m.Expect(nc.Status.Resources[1].State).To(Equal(v1alpha1.StateSkipped))
	m.Expect(condition(nc, "Ready")).To(Equal("False ResourcesFailed: 1 failed: Gadget/x"))
	m.Expect(condition(nc, "Degraded")).To(Equal("True ResourcesFailed: 1 failed: Gadget/x"))
}

func honoursNoop(t *testing.T, m *machine) {
	m.start()
	entries := []v1alpha1.CatalogEntry{fileEntry("motd", "good\n")}
	first := m.should(entries...)
	m.applied(first)
	m.file("motd").write("bad\n")
	nc := m.applied(m.spec(v1alpha1.NodeCatalogSpec{Catalogs: first.Spec.Catalogs, Noop: true}))
	m.Expect(m.file("motd").text()).To(Equal("bad\n"))
	if diff := cmp.Diff(&v1alpha1.RunCounts{Total: 1, OutOfSync: 1, Noop: 1}, nc.Status.Counts); diff != "" {
		t.Error(diff)
	}
	m.Expect(condition(nc, "Ready")).To(Equal("True Noop: 1 only reported: File/motd"))
}

func tellsWithheld(_ *testing.T, m *machine) {
	m.start()
	c := m.should(fileEntry("motd", "good\n"), fileEntry("mine", "x"))
	nc := m.applied(m.spec(v1alpha1.NodeCatalogSpec{
		Catalogs: c.Spec.Catalogs,
		Withheld: []v1alpha1.Withheld{{Ref: "File/mine", Reason: "Conflict", Message: "File/yours claims /etc/mine too"}},
	}))
	m.Expect(nc.Status.Resources).To(HaveLen(1))
	m.Expect(nc.Status.Resources[0].State).To(Equal(v1alpha1.StateWithheld))
	m.Expect(nc.Status.Resources[0].Message).To(Equal("Conflict: File/yours claims /etc/mine too"))
	m.Expect(condition(nc, "Ready")).To(Equal("False Withheld: 1 withheld: File/mine"))
	m.Expect(nc.Status.Counts.Total).To(Equal(int32(1)))
}

func keepsLastGoodState(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "one\n"), fileEntry("mine", "good\n")))
	m.applied(m.spec(v1alpha1.NodeCatalogSpec{
		Entries:  []v1alpha1.CatalogEntry{fileEntry("mine", "bad\n"), fileEntry("motd", "two\n")},
		Withheld: []v1alpha1.Withheld{{Ref: "File/mine", Reason: "TooLarge"}},
	}))
	m.Expect(m.file("motd").text()).To(Equal("two\n"))
	m.Expect(m.file("mine").text()).To(Equal("good\n"))
}

func followsRecreation(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "one\n")))
	old := m.object()
	must(m.t, m.w.admin.Delete(m.t.Context(), old))
	again := m.should(fileEntry("motd", "two\n"))
	m.Expect(again.UID).NotTo(Equal(old.UID))
	m.Expect(again.Generation).To(Equal(old.Generation))
	m.applied(again)
	m.Expect(m.file("motd").text()).To(Equal("two\n"))
}

func restartsQuietly(_ *testing.T, m *machine) {
	m.start()
	before := m.applied(m.should(fileEntry("motd", "good\n")))
	m.stop()
	runs := m.runs.Load()
	m.start()
	m.passes("it runs", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs+1)) })
	m.Expect(m.object().ResourceVersion).To(Equal(before.ResourceVersion))
}

func repairsStatus(_ *testing.T, m *machine) {
	m.start()
	nc := m.applied(m.should(fileEntry("motd", "good\n")))
	nc.Status.AgentVersion = "someone else's"
	must(m.t, m.w.admin.Status().Update(m.t.Context(), nc))
	m.soon("it is the agent's again", func(g Gomega) { g.Expect(m.object().Status.AgentVersion).NotTo(Equal("someone else's")) })
}

func waitsForOthers(_ *testing.T, m *machine) {
	someone, err := state.Open(m.stateDir(), state.Options{})
	must(m.t, err)
	m.start()
	m.should(fileEntry("motd", "good\n"))
	m.soon("it waits", func(g Gomega) { g.Expect(m.logs.String()).To(ContainSubstring("the run waits")) })
	m.soon("that is no failure", func(g Gomega) { g.Expect(condition(m.object(), "Degraded")).To(Equal("False Settled")) })
	m.Expect(m.file("motd").text()).To(ContainSubstring("no such file"))
	must(m.t, someone.Close())
	m.passes("it runs", func(g Gomega) { g.Expect(condition(m.object(), "Ready")).To(HavePrefix("True Applied")) })
	m.Expect(m.file("motd").text()).To(Equal("good\n"))
}

func triesAgain(_ *testing.T, m *machine) {
	must(m.t, os.MkdirAll(filepath.Join(m.stateDir(), "state.db"), 0o700)) // a directory where the database should be
	m.start()
	m.should(fileEntry("motd", "good\n"))
	m.soon("it fails", func(g Gomega) {
		g.Expect(condition(m.object(), "Degraded")).To(HavePrefix("True RunFailed: cannot open the state in "))
	})
	m.Expect(condition(m.object(), "Ready")).To(HavePrefix("False RunFailed"))
	m.Expect(m.file("motd").text()).To(ContainSubstring("no such file"))
	must(m.t, os.Remove(filepath.Join(m.stateDir(), "state.db")))
	m.passes("it runs", func(g Gomega) { g.Expect(condition(m.object(), "Ready")).To(HavePrefix("True Applied")) })
	m.Expect(condition(m.object(), "Degraded")).To(Equal("False Settled"))
}

func tellsStuck(t *testing.T, m *machine) {
	stuck := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(stuck) })
	t.Cleanup(goOn)
	m.ran = func() { <-stuck }
	m.start()
	m.clock.Step(time.Second)
	m.should(fileEntry("motd", "good\n"))
	m.soon("it is busy", func(g Gomega) { g.Expect(m.runs.Load()).To(Equal(int32(1))) })
	m.clock.Step(time.Hour)
	m.Expect(m.agent.Alive()).To(Succeed())
	m.clock.Step(2 * time.Hour)
	m.Expect(m.agent.Alive()).To(MatchError("the agent is stuck: it has been busy with one step for 3h0m0s, more than 2h0m0s"))
	goOn()
	m.soon("it goes on", func(g Gomega) { g.Expect(m.agent.Alive()).To(Succeed()) })
}

func keepsStatus(t *testing.T, m *machine) {
	m.start()
	bad := v1alpha1.CatalogEntry{Kind: "Gadget", Name: "x"}
	before := m.applied(m.should(bad, fileEntry("motd", "good\n")))
	m.stop()
	m.door.shut()
	m.start()
	runs := m.runs.Load()
	m.passes("it runs", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs+2)) })
	m.door.unlock()
	m.file("motd").write("bad\n")
	m.passes("it is in touch again", func(g Gomega) { g.Expect(m.object().ResourceVersion).NotTo(Equal(before.ResourceVersion)) })
	after := m.object()
	if diff := cmp.Diff(before.Status.Resources[0], after.Status.Resources[0]); diff != "" {
		t.Error(diff)
	}
}

func logsAtLevels(t *testing.T, m *machine) {
	m.file("watched").write("x")
	watched := v1alpha1.CatalogEntry{
		Kind: "File", Name: "watched", Audit: []string{"mode"}, LogLevel: "warning",
		Attributes: &runtime.RawExtension{Raw: []byte(`{"path":"/etc/watched"}`)},
	}
	hidden := fileEntry("hidden", "x")
	hidden.LogLevel = "debug"
	m.start()
	nc := m.applied(m.should(watched, hidden))
	if diff := cmp.Diff(&v1alpha1.RunCounts{Total: 2, InSync: 2, Changed: 1}, nc.Status.Counts); diff != "" {
		t.Error(diff)
	}
	m.Expect(m.logs.String()).To(ContainSubstring(`level=WARN msg="File/watched: audit change: newly-recorded value of mode is 0644"`))
	m.Expect(m.logs.String()).NotTo(ContainSubstring("File/hidden: created"))
}
