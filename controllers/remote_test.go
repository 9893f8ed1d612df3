package controllers_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// withRemoteScope gives a type the scope Remote, and its programs a timeout of a minute.
func withRemoteScope(s *v1alpha1.ExternalTypeSpec) {
	s.Scope, s.TimeoutSeconds = v1alpha1.ScopeRemote, 60
}

// createNodesWithAgents creates nodes whose agents have renewed their Leases and reported.
func createNodesWithAgents(ctx context.Context, w *fixture, role string, names ...string) {
	GinkgoHelper()
	for _, name := range names {
		create(ctx, node(name, role))
	}
	w.reconcile(ctx)
	for _, name := range names {
		w.renew(ctx, name)
		reportApplied(ctx, name)
	}
}

// createZoneWithAgents creates a type, nodes with agents and a zone, and returns the acting node of the zone, and the others.
func createZoneWithAgents(ctx context.Context, w *fixture, zoneSpec string, names ...string) (first string, others []string) {
	GinkgoHelper()
	createDefinition(ctx, zoneDefinition(withRemoteScope))
	create(ctx, zoneType(withRemoteScope))
	createNodesWithAgents(ctx, w, "dns", names...)
	create(ctx, zone("example", zoneSpec))
	w.reconcile(ctx)
	acting, _ := actingAndStopping(ctx, "example", names...)
	Expect(acting).To(HaveLen(1))
	return acting[0], slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == acting[0] })
}

// actingAndStopping returns the nodes whose NodeCatalogs have a zone, and the nodes from which it is withheld.
func actingAndStopping(ctx context.Context, zone string, nodes ...string) (acting, stopping []string) {
	GinkgoHelper()
	for _, name := range nodes {
		nc := nodeCatalog(ctx, NewWithT(GinkgoT()), name)
		for _, e := range nc.Spec.Entries {
			if e.Name == zone {
				acting = append(acting, name)
			}
		}
		for _, held := range nc.Spec.Withheld {
			if held.Ref == v1alpha1.ResourceRef("DNSZone/"+zone) {
				stopping = append(stopping, name)
			}
		}
	}
	return acting, stopping
}

// statusActingNode returns actingNode from the status of a zone.
func statusActingNode(ctx context.Context, name string) string {
	GinkgoHelper()
	o := zone(name, "{}")
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
	node, _, err := unstructured.NestedString(o.Object, "status", "actingNode")
	Expect(err).NotTo(HaveOccurred())
	return node
}

var _ = Describe("A resource of a Remote type", func() {
	all := []string{"n1", "n2", "n3"}
	const (
		everyNodeOrphan = `{"nodeSelector": {}, "deletionPolicy": "Orphan"}`
		everyNodeDelete = `{"nodeSelector": {}, "deletionPolicy": "Delete"}`
	)

	It("has one acting node, which stays while it is heard", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition(withRemoteScope))
		create(ctx, zoneType(withRemoteScope), node("n0", "no-agent"))
		createNodesWithAgents(ctx, w, "dns", all...)
		create(ctx, zone("example", everyNodeOrphan))
		w.reconcile(ctx)
		acting, _ := actingAndStopping(ctx, "example", append(all, "n0")...)
		Expect(acting).To(HaveLen(1))
		Expect(acting).NotTo(Equal([]string{"n0"}), "no agent runs there")
		Expect(statusActingNode(ctx, "example")).To(Equal(acting[0]))
		reportApplied(ctx, acting[0])
		w.reconcile(ctx)
		Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElement("Ready=True InSync"))

		By("nodes come and go, and the manager is another one")
		before := resourceVersions(ctx)
		w = restartManager(w)
		w.reconcile(ctx)
		Expect(resourceVersions(ctx)).To(Equal(before))
		createNodesWithAgents(ctx, w, "dns", "n4", "n5", "n6", "n7")
		w.reconcile(ctx)
		now, stopping := actingAndStopping(ctx, "example", append(all, "n4", "n5", "n6", "n7")...)
		Expect(now).To(Equal(acting))
		Expect(stopping).To(BeEmpty())
	})

	It("moves from a silent node when its programs have ended, and nothing is removed", func(ctx SpecContext) {
		w := newFixture()
		first, others := createZoneWithAgents(ctx, w, everyNodeDelete, all...)
		reportApplied(ctx, first)
		renewOthers := func() {
			for _, name := range others {
				w.renew(ctx, name)
			}
		}
		w.reconcileAfter(ctx, 40*time.Second)
		renewOthers()
		wait := w.reconcileAfter(ctx, 30*time.Second) // the Lease has expired
		acting, _ := actingAndStopping(ctx, "example", all...)
		Expect(acting).To(Equal([]string{first}), "others may be silent, too")
		Expect(wait).To(BeNumerically("<=", 50*time.Second))
		renewOthers()
		w.reconcileAfter(ctx, 50*time.Second)
		acting, stopping := actingAndStopping(ctx, "example", all...)
		Expect(acting).To(BeEmpty())
		Expect(stopping).To(Equal([]string{first}))
		Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElement("Reconciling=True Moving"))
		renewOthers()
		w.reconcile(ctx)
		acting, stopping = actingAndStopping(ctx, "example", all...)
		Expect(acting).To(HaveLen(1))
		Expect(acting).NotTo(ContainElement(first))
		Expect(stopping).To(BeEmpty())
		for _, name := range all {
			Expect(pendingCleanups(ctx, name)).To(BeEmpty())
		}
		Expect(statusActingNode(ctx, "example")).To(Equal(acting[0]))

		By("the first node comes back")
		w.renew(ctx, first)
		w.reconcile(ctx)
		now, _ := actingAndStopping(ctx, "example", all...)
		Expect(now).To(Equal(acting))
	})

	It("keeps its acting node while many agents fall silent at once, and explains that", func(ctx SpecContext) {
		w := newFixture()
		first, others := createZoneWithAgents(ctx, w, everyNodeDelete, all...)
		reportApplied(ctx, first)
		last := w.clock.Now()
		w.renewAt(ctx, first, last)
		w.renewAt(ctx, others[1], last)
		w.reconcileAfter(ctx, 40*time.Second)
		w.renew(ctx, others[0])
		w.reconcileAfter(ctx, 30*time.Second)
		for range 10 {
			w.renew(ctx, others[0])
			w.reconcileAfter(ctx, 50*time.Second)
		}
		acting, stopping := actingAndStopping(ctx, "example", all...)
		Expect(acting).To(Equal([]string{first}))
		Expect(stopping).To(BeEmpty())
		Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElements("Ready=False TakeoverHeld", "Stalled=True TakeoverHeld"))
		Expect(messageOfZone(ctx, "example")).To(Equal("node " + first + " acts for it and is silent, and no other node takes over, " +
			"because the agents of 2 of 3 nodes fell silent at about the same time: bring the agents back or, if the machine of " + first + " will not return, delete that Node"))

		By("the manager is another one")
		w = restartManager(w)
		w.renewAt(ctx, first, last)
		w.renewAt(ctx, others[1], last)
		for range 5 {
			w.renew(ctx, others[0])
			w.reconcileAfter(ctx, 50*time.Second)
			acting, _ = actingAndStopping(ctx, "example", all...)
			Expect(acting).To(Equal([]string{first}))
		}

		By("the other agent is heard again")
		w.renew(ctx, others[0])
		w.renew(ctx, others[1])
		w.reconcile(ctx)
		w.reconcile(ctx)
		acting, _ = actingAndStopping(ctx, "example", all...)
		Expect(acting).To(HaveLen(1))
		Expect(acting).NotTo(ContainElement(first))
		Expect(messageOfZone(ctx, "example")).NotTo(ContainSubstring("silent"))
	})

	It("moves from a node that it no longer selects once the node confirms that it stopped", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition(withRemoteScope))
		create(ctx, zoneType(withRemoteScope))
		createNodesWithAgents(ctx, w, "dns", all...)
		create(ctx, secret("dns", "key", "marker-of-a-secret"),
			zone("example", `{"nodeSelector": {"matchLabels": {"role": "dns"}}, "acceptSelfLabelledNodes": true, "propertiesFrom": [{"name": "key", "secretKeyRef": {"namespace": "default", "name": "dns", "key": "key"}}]}`))
		for _, name := range all {
			publishKey(ctx, name)
		}
		w.reconcile(ctx)
		first, _ := actingAndStopping(ctx, "example", all...)
		Expect(first).To(HaveLen(1))
		Expect(sealedFor(ctx, NewWithT(GinkgoT()), first[0])).To(HaveKey("DNSZone/example"))
		reportApplied(ctx, first[0])
		relabel(ctx, first[0], "web")
		w.reconcile(ctx)
		w.reconcile(ctx)
		acting, stopping := actingAndStopping(ctx, "example", all...)
		Expect(acting).To(BeEmpty())
		Expect(stopping).To(Equal(first))
		Expect(sealedFor(ctx, NewWithT(GinkgoT()), first[0])).To(BeEmpty())
		Expect(messageOfZone(ctx, "example")).To(HaveSuffix("takes over once " + first[0] + " has stopped acting for it"))

		reportApplied(ctx, first[0])
		w.reconcile(ctx)
		acting, stopping = actingAndStopping(ctx, "example", all...)
		Expect(acting).To(HaveLen(1))
		Expect(stopping).To(BeEmpty())
		for _, name := range all {
			reportApplied(ctx, name)
		}

		By("no node is left")
		for _, name := range all {
			relabel(ctx, name, "web")
		}
		w.reconcile(ctx)
		_, stopping = actingAndStopping(ctx, "example", all...)
		Expect(stopping).To(Equal(acting))
		Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElements("Ready=False NoNodesSelected", "Stalled=True NoNodesSelected"))
		Expect(statusActingNode(ctx, "example")).To(BeEmpty())
	})

	It("is removed when it is deleted, by its acting node or by the one that takes over", func(ctx SpecContext) {
		w := newFixture()
		first, others := createZoneWithAgents(ctx, w, everyNodeDelete, all...)
		reportApplied(ctx, first)
		w.reconcile(ctx)
		Expect(entriesOf(ctx, first)).To(Equal(map[string]string{"DNSZone/example": `{"ttl":700}`}))
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), first).Spec.Entries[0].DeletionPolicy).To(BeEmpty(), "it is the manager that deletes")

		o := zone("example", "{}")
		Expect(k8s.Delete(ctx, o)).To(Succeed())
		w.reconcile(ctx)
		Expect(entriesOf(ctx, first)).To(Equal(map[string]string{"DNSZone/example": `{"ensure":"absent","ttl":700}`}))
		Expect(messageOfZone(ctx, "example")).To(ContainSubstring("deletionPolicy Delete: 1 node has yet to clean up: " + first))

		By("the acting node goes away meanwhile")
		Expect(k8s.Delete(ctx, node(first, ""))).To(Succeed())
		w.reconcile(ctx)
		second, _ := actingAndStopping(ctx, "example", others...)
		Expect(second).To(HaveLen(1))
		reportApplied(ctx, second[0], v1alpha1.ResourceReport{Ref: "DNSZone/example", State: v1alpha1.StateFailed, Message: "refused"})
		w.reconcile(ctx)
		Expect(messageOfZone(ctx, "example")).To(ContainSubstring("refused"))
		w.renew(ctx, second[0])
		reportApplied(ctx, second[0])
		w.reconcile(ctx)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Satisfy(apierrors.IsNotFound))
		w.reconcile(ctx)
		Expect(entriesOf(ctx, second[0])).To(BeEmpty())
	})

	It("is not deleted before a node has removed it, unless its cleanup is abandoned", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition(withRemoteScope))
		create(ctx, zoneType(withRemoteScope), zone("example", everyNodeDelete))
		w.reconcile(ctx)
		Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElement("Stalled=True NoNodesSelected"))
		o := zone("example", "{}")
		Expect(k8s.Delete(ctx, o)).To(Succeed())
		w.reconcile(ctx)
		Expect(messageOfZone(ctx, "example")).To(HavePrefix("deletionPolicy Delete: no node matches its nodeSelector"))
		Expect(k8s.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"fettle.dev/abandon-cleanup":"true"}}}`)))).To(Succeed())
		w.reconcile(ctx)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Satisfy(apierrors.IsNotFound))
	})

	It("moves from a disabled node", func(ctx SpecContext) {
		w := newFixture()
		first, _ := createZoneWithAgents(ctx, w, everyNodeOrphan, all...)
		disable := func() {
			setStatus(ctx, first, func(s *v1alpha1.NodeCatalogStatus) {
				s.ObservedGeneration = nodeCatalog(ctx, NewWithT(GinkgoT()), first).Generation
				s.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "Disabled", Message: "maintenance", LastTransitionTime: metav1.NewTime(w.clock.Now())}}
			})
		}
		disable()
		w.reconcile(ctx)
		acting, stopping := actingAndStopping(ctx, "example", all...)
		Expect(acting).To(BeEmpty())
		Expect(stopping).To(Equal([]string{first}))
		disable()
		w.reconcile(ctx)
		acting, _ = actingAndStopping(ctx, "example", all...)
		Expect(acting).To(HaveLen(1))
		Expect(acting).NotTo(ContainElement(first))
	})

	It("is not deleted while its type is missing", func(ctx SpecContext) {
		w := newFixture()
		first, _ := createZoneWithAgents(ctx, w, everyNodeDelete, all...)
		reportApplied(ctx, first)
		w.reconcile(ctx)
		Expect(k8s.Delete(ctx, zoneType(withRemoteScope))).To(Succeed())
		w = restartManager(w)
		w.reconcile(ctx)
		acting, withheld := actingAndStopping(ctx, "example", all...)
		Expect(acting).To(BeEmpty())
		Expect(withheld).To(Equal([]string{first}), "the other nodes know nothing of it")
		Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElement("Stalled=True MissingType"))

		By("deleting the resource")
		o := zone("example", "{}")
		Expect(k8s.Delete(ctx, o)).To(Succeed())
		w.reconcile(ctx)
		for _, name := range all {
			reportApplied(ctx, name)
			w.renew(ctx, name)
		}
		w.reconcile(ctx)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())

		By("applying the type again")
		create(ctx, zoneType(withRemoteScope))
		w.reconcile(ctx)
		acting, _ = actingAndStopping(ctx, "example", all...)
		Expect(acting).To(Equal([]string{first}))
		Expect(entriesOf(ctx, first)).To(Equal(map[string]string{"DNSZone/example": `{"ensure":"absent","ttl":700}`}))
		reportApplied(ctx, first)
		w.reconcile(ctx)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Satisfy(apierrors.IsNotFound))
	})

	It("cannot change its scope", func(ctx SpecContext) {
		createDefinition(ctx, zoneDefinition(withRemoteScope))
		t := zoneType(withRemoteScope)
		create(ctx, t)
		t.Spec.Scope = ""
		Expect(k8s.Update(ctx, t)).To(MatchError(ContainSubstring("scope cannot be changed: define another kind")))
	})
})

// messageOfZone returns the message of a zone's condition Ready.
func messageOfZone(ctx context.Context, name string) string {
	GinkgoHelper()
	o := zone(name, "{}")
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	Expect(err).NotTo(HaveOccurred())
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Ready" {
			return c["message"].(string)
		}
	}
	return ""
}
