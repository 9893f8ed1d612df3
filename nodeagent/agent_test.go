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

// TestAgent runs agents on directories against a real API server, with exactly the permissions of agents.
func TestAgent(t *testing.T) {
	cfg, _ := controlplane.Start(t)
	w := newFixture(t, cfg)
	for name, test := range map[string]func(*testing.T, *machine){
		"applies changes":                                               appliesChanges,
		"waits for its own splay and interval":                          waitsForSplay,
		"publishes facts once its NodeCatalog exists":                   publishesFacts,
		"corrects drift at the interval and reports it":                 correctsDrift,
		"writes no status while nothing changes":                        staysQuiet,
		"corrects drift during an API server outage and catches up":     survivesOutage,
		"starts from disk without the API server":                       startsFromDisk,
		"enforces the last good catalog if the new one is invalid":      refusesInvalid,
		"waits for a missing catalog":                                   waitsForMissing,
		"applies other resources if one fails":                          isolatesFailure,
		"only reports changes in noop":                                  honoursNoop,
		"runs prerun and postrun commands except in noop":               runsCommands,
		"reports withheld resources":                                    reportsWithheld,
		"records drift that it cannot correct":                          recordsUncorrectable,
		"tidies where no withheld resource manages anything":            tidiesElsewhere,
		"follows a recreated NodeCatalog":                               followsRecreation,
		"writes no status after a restart without changes":              restartsQuietly,
		"repairs its status after another writer":                       repairsStatus,
		"waits for another run on the host":                             waitsForOthers,
		"reports a run that cannot start and retries":                   retriesRun,
		"fails liveness only when stuck for hours":                      reportsStuck,
		"is ready once it knows that there is nothing to run":           isReadyWithoutCatalog,
		"keeps the since field when it restarts without the API server": keepsStatus,
		"corrects drift as it happens, once":                            correctsAsItHappens,
		"corrects a file at once, and what it notifies":                 correctsAtOnce,
		"purges at once, but not what other resources manage":           purgesAtOnce,
		"backs off from another writer and reports the contest":         reportsContest,
		"corrects nothing apart from runs with commands around them":    correctsWithCommands,
		"watches its host as soon as it can":                            watchesLater,
		"names the author of drift":                                     namesAuthor,
		"reports at once that runs are disabled or enabled":             noticesDisabled,
		"reports why runs are disabled":                                 respectsDisabled,
		"is disabled by its NodeCatalog and by the Fleet":               respectsDisabledNode,
		"joins a fleet that is disabled":                                joinsDisabledFleet,
		"resumes by itself, also without the API server":                resumesByItself,
		"reports that it is held, and runs nothing for that":            reportsHeld,
		"applies what it has when a rollout is tried again":             appliesRetriedRollout,
		"fails a run that exceeds its time limit":                       stopsLongRuns,
		"logs at the level of each resource, including audits":          logsAtLevels,
		"starts a change at its own offset":                             startsAtOffset,
		"renews its Lease while it is busy":                             renewsLease,
		"acts for resources of Remote types while its Lease lasts":      actsWhileItsLeaseLasts,
		"hides secrets, even at debug level":                            hidesSecrets,
		"explains unsuitable providers in its debug log":                explainsProviders,
		"reports output that is not UTF-8 without losing a byte":        reportsAnyEncoding,
		"hides sealed values, also on disk":                             hidesSealedValues,
		"creates, publishes and keeps a key":                            keepsKey,
		"opens sealed values without the API server":                    opensFromDisk,
		"replaces a lost key":                                           replacesLostKey,
		"replaces an old key by itself":                                 replacesOldKey,
		"replaces a key from the future":                                replacesKeyFromFuture,
		"is alive and acts when the clock is set":                       survivesSetClock,
		"rejects values sealed for other attributes":                    rejectsForeignValues,
		"applies deletion policies to removed resources":                appliesDeletionPolicies,
		"reports a failed removal until it succeeds":                    reportsFailedRemoval,
		"does not remove withheld resources":                            keepsWithheld,
		"keeps the last good state of withheld resources":               keepsLastGoodState,
		"removes nothing when its NodeCatalog is deleted":               keepsHostWithoutNodeCatalog,
		"corrects drift while requests hang and reports it later":       keepsHostWhileRequestsHang,
		"corrects unrelated drift while a command runs":                 correctsMeanwhile,
		"corrects drift from before a run while a command runs":         correctsEarlierDrift,
		"reports a run during which another one was being reported":     reportsAfterRun,
		"uses the last program while a new image cannot be pulled":      keepsLastProgram,
		"applies another version of a type than the cluster has":        appliesKeptType,
		"reports that it is at another revision, and runs nothing":      followsRollout,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w.machine(t))
		})
	}
}

// condition returns a condition of an object without its times.
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
	m.soon("facts are published", func(g Gomega) { g.Expect(m.object().Status.Facts).NotTo(BeNil()) })
	var facts resource.Facts
	must(t, json.Unmarshal(m.object().Status.Facts.Raw, &facts))
	m.Expect(facts.String("os.name")).To(Equal("Debian"))
}

func correctsDrift(t *testing.T, m *machine) {
	m.unwatchable.Store(true)
	m.start()
	before := m.applied(m.should(fileEntry("motd", "good\n"), fileEntry("other", "x\n")))
	m.file("motd").write("bad\n")
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	m.soon("the drift is reported", func(g Gomega) { g.Expect(m.object().Status.Resources).To(HaveLen(1)) })
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
	m.soon("the drift is reported", func(g Gomega) { g.Expect(m.object().Status.Resources).To(HaveLen(1)) })
	before, runs, logged := m.object(), m.runs.Load(), m.logs.String()
	m.passes("five more runs take place", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs+5)) })
	m.Expect(m.object().ResourceVersion).To(Equal(before.ResourceVersion))
	m.Expect(m.logs.String()).To(Equal(logged))
}

func survivesOutage(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	m.door.lock()
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

func startsFromDisk(_ *testing.T, m *machine) {
	m.start()
	first := m.applied(m.should(fileEntry("motd", "good\n")))
	m.stop()
	m.door.lock()
	m.file("motd").write("bad\n")
	m.start()
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	runs := m.runs.Load()
	m.passes("a quiet run follows", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs+1)) })
	m.door.unlock()
	m.passes("the drift is reported", func(g Gomega) { g.Expect(m.object().Status.Resources).To(HaveLen(1)) })
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
	// A forged catalog has the name of other content.
	name := catalog.Name([]v1alpha1.CatalogEntry{fileEntry("motd", "never made "+m.name)})
	forged := &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: name}, Entries: []v1alpha1.CatalogEntry{fileEntry("motd", "evil\n")}}
	must(m.t, m.w.admin.Create(m.t.Context(), forged))
	refused := m.spec(v1alpha1.NodeCatalogSpec{Catalogs: []v1alpha1.CatalogRef{{Name: name}}})
	m.soon("the agent reports Stalled", func(g Gomega) {
		g.Expect(condition(m.object(), "Stalled")).To(HavePrefix("True CatalogInvalid: catalog " + name + " is invalid: its content is that of sha256-"))
	})
	nc := m.object()
	m.Expect(condition(nc, "Ready")).To(HavePrefix("False CatalogInvalid"))
	m.Expect(nc.Status.ObservedGeneration).To(Equal(refused.Generation))
	m.Expect(nc.Status.AppliedGeneration).To(Equal(refused.Generation - 1))
	m.Expect(m.file("motd").text()).To(Equal("good\n"))

	m.file("motd").write("bad\n")
	m.passes("the last good catalog is still enforced", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	m.applied(m.should(fileEntry("motd", "better\n")))
	m.Expect(condition(m.object(), "Stalled")).To(Equal("False Settled"))
}

func waitsForMissing(_ *testing.T, m *machine) {
	m.start()
	entries := []v1alpha1.CatalogEntry{fileEntry("motd", "late "+m.name+"\n")}
	name := catalog.Name(entries)
	m.spec(v1alpha1.NodeCatalogSpec{Catalogs: []v1alpha1.CatalogRef{{Name: name}}})
	m.soon("the agent reports Stalled", func(g Gomega) {
		g.Expect(condition(m.object(), "Stalled")).To(HavePrefix("True CatalogUnavailable: cannot get catalog " + name))
	})
	must(m.t, m.w.admin.Create(m.t.Context(), &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: name}, Entries: entries}))
	m.passes("the catalog is applied", func(g Gomega) { g.Expect(m.object().Status.AppliedGeneration).To(Equal(int64(1))) })
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
	m.stop()
	m.file("motd").write("bad\n")
	next := m.spec(v1alpha1.NodeCatalogSpec{Catalogs: first.Spec.Catalogs, Noop: true})
	m.start()
	nc := m.applied(next)
	m.Expect(m.file("motd").text()).To(Equal("bad\n"))
	if diff := cmp.Diff(&v1alpha1.RunCounts{Total: 1, OutOfSync: 1, Noop: 1}, nc.Status.Counts); diff != "" {
		t.Error(diff)
	}
	m.Expect(condition(nc, "Ready")).To(Equal("True Noop: 1 only reported: File/motd"))
}

func reportsWithheld(_ *testing.T, m *machine) {
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
	m.Expect(nc.Status.Counts).To(And(HaveField("Total", int32(2)), HaveField("Withheld", int32(1))))
}

func recordsUncorrectable(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n"), fileEntry("other", "x")))
	m.stop()
	m.file("motd").remove()
	must(m.t, os.MkdirAll(m.file("motd/theirs").path, 0o755))
	m.start()
	m.passes("the directory is drift", func(g Gomega) {
		s := m.object().Status
		g.Expect(s.Drift).To(HaveLen(1))
		g.Expect(s.Drift[0]).To(And(HaveField("Ref", v1alpha1.ReportedRef("File/motd")), HaveField("Count", int64(1)), HaveField("Corrected", false), HaveField("Properties", []string{"ensure"})))
		g.Expect(cmp.Diff(&v1alpha1.RunCounts{Total: 2, InSync: 1, OutOfSync: 1, Failed: 1}, s.Counts)).To(BeEmpty())
		g.Expect(s.Resources).To(ConsistOf(And(HaveField("State", v1alpha1.StateFailed), HaveField("Corrective", true), HaveField("OutOfSync", true))))
	})
	runs := m.runs.Load()
	m.passes("two more runs", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">=", runs+2)) })
	m.Expect(m.object().Status.Drift[0].Count).To(Equal(int64(1)))
}

func tidiesElsewhere(_ *testing.T, m *machine) {
	tidy := func(name string) v1alpha1.CatalogEntry {
		return v1alpha1.CatalogEntry{Kind: "Tidy", Name: name, Namevar: name, Attributes: &runtime.RawExtension{Raw: []byte(`{"path": "/etc/` + name + `", "recurse": true}`)}}
	}
	for _, name := range []string{"a", "b"} {
		must(m.t, os.Mkdir(m.file(name).path, 0o755))
		m.file(name + "/old").write("x")
	}
	m.start()
	spec := v1alpha1.NodeCatalogSpec{
		Entries:  []v1alpha1.CatalogEntry{tidy("a"), tidy("b")},
		Withheld: []v1alpha1.Withheld{{Ref: "File/mine", Reason: "InvalidWhen", Message: "when fails", Location: "/etc/a/mine"}},
	}
	nc := m.applied(m.spec(spec))
	m.Expect(m.file("a/old").text()).To(Equal("x"))
	m.Expect(m.file("b/old").text()).To(ContainSubstring("no such file"))
	m.Expect(nc.Status.Resources).To(ConsistOf(
		And(HaveField("Ref", v1alpha1.ReportedRef("File/mine")), HaveField("State", v1alpha1.StateWithheld)),
		And(HaveField("Ref", v1alpha1.ReportedRef("Tidy/a")), HaveField("State", v1alpha1.StateSkipped),
			HaveField("Message", "skipped: File/mine is withheld (InvalidWhen: when fails) and manages /etc/a/mine")),
	))
	m.Expect(condition(nc, "Ready")).To(Equal("False Withheld: 1 withheld: File/mine"))
	m.Expect(condition(nc, "Degraded")).To(Equal("False Settled"))

	spec.Withheld = nil
	m.applied(m.spec(spec))
	m.Expect(m.file("a/old").text()).To(ContainSubstring("no such file"))
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
	m.passes("the agent runs", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs+1)) })
	m.Expect(m.object().ResourceVersion).To(Equal(before.ResourceVersion))
}

func repairsStatus(_ *testing.T, m *machine) {
	m.start()
	nc := m.applied(m.should(fileEntry("motd", "good\n")))
	nc.Status.AgentVersion = "someone else's"
	must(m.t, m.w.admin.Status().Update(m.t.Context(), nc))
	m.soon("the agent repairs the status", func(g Gomega) { g.Expect(m.object().Status.AgentVersion).NotTo(Equal("someone else's")) })
}

func waitsForOthers(_ *testing.T, m *machine) {
	someone, err := state.Open(m.stateDir(), state.Options{})
	must(m.t, err)
	m.start()
	m.should(fileEntry("motd", "good\n"))
	m.soon("the run waits", func(g Gomega) { g.Expect(m.logs.String()).To(ContainSubstring("the run waits")) })
	m.Expect(m.agent.Ready()).To(MatchError(ContainSubstring("no run has finished since the start: ")))
	m.soon("waiting is not a failure", func(g Gomega) { g.Expect(condition(m.object(), "Degraded")).To(Equal("False Settled")) })
	m.Expect(m.file("motd").text()).To(ContainSubstring("no such file"))
	must(m.t, someone.Close())
	m.passes("the agent runs", func(g Gomega) { g.Expect(condition(m.object(), "Ready")).To(HavePrefix("True Applied")) })
	m.Expect(m.file("motd").text()).To(Equal("good\n"))
}

func retriesRun(_ *testing.T, m *machine) {
	must(m.t, os.MkdirAll(filepath.Join(m.stateDir(), "state.db"), 0o700)) // a directory where the database should be
	m.start()
	m.should(fileEntry("motd", "good\n"))
	m.soon("the run fails", func(g Gomega) {
		g.Expect(condition(m.object(), "Degraded")).To(HavePrefix("True RunFailed: cannot open the state in "))
	})
	m.Expect(condition(m.object(), "Ready")).To(HavePrefix("False RunFailed"))
	m.Expect(m.agent.Ready()).To(MatchError(HavePrefix("no run has finished since the start: cannot open the state in ")))
	m.Expect(m.file("motd").text()).To(ContainSubstring("no such file"))
	must(m.t, os.Remove(filepath.Join(m.stateDir(), "state.db")))
	m.passes("the agent runs", func(g Gomega) { g.Expect(condition(m.object(), "Ready")).To(HavePrefix("True Applied")) })
	m.Expect(condition(m.object(), "Degraded")).To(Equal("False Settled"))
	m.Expect(m.agent.Ready()).To(Succeed())
}

func isReadyWithoutCatalog(_ *testing.T, m *machine) {
	m.start()
	m.Expect(m.agent.Ready()).To(MatchError("no run has finished since the start"))
	m.passes("the agent is ready", func(g Gomega) { g.Expect(m.agent.Ready()).To(Succeed()) })
}

// stuck starts the agent and keeps it busy with its first run until goOn is called or the test ends.
func (m *machine) stuck() (goOn func()) {
	stuck := make(chan struct{})
	goOn = sync.OnceFunc(func() { close(stuck) })
	m.t.Cleanup(goOn)
	m.ran = func() { <-stuck }
	m.start()
	m.clock.Step(time.Second)
	m.should(fileEntry("motd", "good\n"))
	m.soon("the agent is busy", func(g Gomega) { g.Expect(m.runs.Load()).To(Equal(int32(1))) })
	return goOn
}

func reportsStuck(_ *testing.T, m *machine) {
	goOn := m.stuck()
	m.clock.Step(time.Hour)
	m.Expect(m.agent.Alive()).To(Succeed())
	m.clock.Step(2 * time.Hour)
	m.Expect(m.agent.Alive()).To(MatchError("the agent is stuck: it has been busy with one step for 3h0m0s, more than 2h0m0s"))
	goOn()
	m.soon("the agent continues", func(g Gomega) { g.Expect(m.agent.Alive()).To(Succeed()) })
}

func keepsStatus(t *testing.T, m *machine) {
	m.start()
	bad := v1alpha1.CatalogEntry{Kind: "Gadget", Name: "x"}
	before := m.applied(m.should(bad, fileEntry("motd", "good\n")))
	m.stop()
	m.door.lock()
	m.start()
	runs := m.runs.Load()
	m.passes("the agent runs", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs+2)) })
	m.door.unlock()
	m.file("motd").write("bad\n")
	m.passes("the agent has reconnected", func(g Gomega) { g.Expect(m.object().ResourceVersion).NotTo(Equal(before.ResourceVersion)) })
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
