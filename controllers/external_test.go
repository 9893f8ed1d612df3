package controllers_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// zoneType returns the ExternalType of DNSZone.
func zoneType(adjust ...func(*v1alpha1.ExternalTypeSpec)) *v1alpha1.ExternalType {
	parse := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	t := &v1alpha1.ExternalType{ObjectMeta: metav1.ObjectMeta{Name: "dnszones"}}
	t.Spec = v1alpha1.ExternalTypeSpec{
		Kind: "DNSZone", Version: "1", Description: "A zone of a DNS service.",
		Attributes: []v1alpha1.ExternalAttribute{
			{Name: "name", Description: "The name of the zone.", Behaviour: v1alpha1.BehaviourNamevar, Schema: parse(`{"type":"string"}`)},
			{Name: "ttl", Description: "The default TTL.", Schema: parse(`{"type":"integer"}`), Default: "size(name) * 100"},
			{Name: "key", Description: "The key of the service.", Behaviour: v1alpha1.BehaviourParameter, Sensitive: true, Schema: parse(`{"type":"string"}`)},
		},
		Providers: []v1alpha1.ExternalProvider{{Name: "python", Command: []string{"./main.py"}}},
		Source:    v1alpha1.ExternalSource{Files: map[string]string{"main.py": "#!/usr/bin/python3\n"}},
	}
	for _, a := range adjust {
		a(&t.Spec)
	}
	return t
}

// zoneDefinition returns the CustomResourceDefinition of DNSZone.
func zoneDefinition(adjust ...func(*v1alpha1.ExternalTypeSpec)) *unstructured.Unstructured {
	GinkgoHelper()
	d, err := definition.New(zoneType(adjust...))
	Expect(err).NotTo(HaveOccurred())
	crd, err := crdbuild.Build(d)
	Expect(err).NotTo(HaveOccurred())
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	Expect(err).NotTo(HaveOccurred())
	u := &unstructured.Unstructured{Object: o}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	return u
}

// zone returns a DNSZone with a spec in JSON.
func zone(name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{}}}
	u.SetGroupVersionKind(v1alpha1.ExternalGroupVersion.WithKind("DNSZone"))
	var fields map[string]any
	Expect(json.Unmarshal([]byte(spec), &fields)).To(Succeed())
	u.Object["spec"] = fields
	return u
}

const selectEveryNode = `{"nodeSelector": {}}`

// createDefinition creates the definition of DNSZone. It is deleted after the spec, with all ExternalTypes.
func createDefinition(ctx context.Context, crd *unstructured.Unstructured) {
	GinkgoHelper()
	create(ctx, crd)
	Eventually(ctx, func() error { return k8s.List(ctx, zoneList()) }).Should(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(k8s.DeleteAllOf(ctx, &v1alpha1.ExternalType{})).To(Succeed())
		deleteDefinition(ctx)
	})
}

// deleteDefinition deletes the definition of DNSZone, after removing finalizers of DNSZones.
func deleteDefinition(ctx context.Context) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, zoneDefinition()))).To(Succeed())
	Eventually(ctx, func() error {
		list := zoneList()
		if k8s.List(ctx, list) == nil {
			for i := range list.Items {
				_ = k8s.Patch(ctx, &list.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
			}
		}
		return k8s.Get(ctx, client.ObjectKeyFromObject(zoneDefinition()), zoneDefinition())
	}).Should(Satisfy(apierrors.IsNotFound))
}

func zoneList() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.ExternalGroupVersion.WithKind("DNSZoneList"))
	return list
}

// conditionsOf returns the conditions of a zone or type as "Type=Status Reason".
func conditionsOf(ctx context.Context, o client.Object) []string {
	GinkgoHelper()
	text, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	Expect(err).NotTo(HaveOccurred())
	u := &unstructured.Unstructured{Object: text}
	gvk, err := k8s.GroupVersionKindFor(o)
	Expect(err).NotTo(HaveOccurred())
	u.SetGroupVersionKind(gvk)
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(u), u)).To(Succeed())
	var status v1alpha1.ResourceStatus
	found, _, err := unstructured.NestedMap(u.Object, "status")
	Expect(err).NotTo(HaveOccurred())
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(found, &status)).To(Succeed())
	var all []string
	for _, c := range status.Conditions {
		all = append(all, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	return all
}

// withheldFrom returns what a node's spec withholds, as "ref reason".
func withheldFrom(ctx context.Context, node string) []string {
	GinkgoHelper()
	var all []string
	for _, w := range nodeCatalog(ctx, NewWithT(GinkgoT()), node).Spec.Withheld {
		all = append(all, string(w.Ref)+" "+w.Reason)
	}
	return all
}

var _ = Describe("An external type", func() {
	It("reaches nodes with its digest and with the defaults of attributes", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition())
		create(ctx, zoneType(), node("dns-1", "dns"), zone("example", selectEveryNode), zone("other", `{"nodeSelector": {"matchLabels": {"role": "web"}}}`))
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "dns-1")).To(Equal(map[string]string{"DNSZone/example": `{"ttl":700}`}))
		var list v1alpha1.CatalogList
		Expect(k8s.List(ctx, &list)).To(Succeed())
		Expect(list.Items).To(HaveLen(1))
		Expect(list.Items[0].Entries[0].Type).To(MatchRegexp(`^dnszones@sha256-[0-9a-f]{64}$`))
		Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElement("Ready=False Applying"))
		Expect(conditionsOf(ctx, zone("other", "{}"))).To(ContainElement("Ready=True NoNodesSelected"))

		reportApplied(ctx, "dns-1")
		w.reconcile(ctx)
		Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElement("Ready=True InSync"))
		t := zoneType()
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
		Expect(conditionsOf(ctx, t)).To(Equal([]string{"Ready=True Served", "Stalled=False Settled"}))
		Expect([]int64{t.Status.ObservedGeneration, int64(t.Status.Resources)}).To(Equal([]int64{1, 2}))
		before := resourceVersions(ctx)
		w.reconcile(ctx)
		Expect(resourceVersions(ctx)).To(Equal(before))

		By("a change of the type changes the entries")
		t.Spec.Version = "2"
		Expect(k8s.Update(ctx, t)).To(Succeed())
		digest := nodeCatalog(ctx, NewWithT(GinkgoT()), "dns-1").Spec.Catalogs
		w.reconcile(ctx)
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "dns-1").Spec.Catalogs).NotTo(Equal(digest))
	})

	It("has edges to and from other kinds, and conflicts", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition())
		create(ctx, zoneType(), node("dns-1", "dns"), file("a", "/a"), file("b", "/b", requires("DNSZone/one")), file("c", "/c", requires("DNSZone/none")),
			zone("one", `{"nodeSelector": {}, "require": ["File/a"], "properties": {"name": "example.com"}}`))
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "dns-1")).To(And(HaveLen(3), HaveKey("File/a"), HaveKey("File/b"), HaveKey("DNSZone/one")))
		Expect(messageOf(ctx, "c", "Stalled")).To(Equal("require names DNSZone/none, which does not exist; the node has DNSZone/one"))

		create(ctx, zone("two", `{"nodeSelector": {}, "properties": {"name": "example.com"}}`))
		w.reconcile(ctx)
		Expect(conditionsOf(ctx, zone("two", "{}"))).To(ContainElement("Conflict=True Conflict"))
		Expect(fileConditions(ctx, "b")).To(ContainElement("Stalled=True DependsOnProblem"))
	})

	It("withholds resources while the type is missing, invalid or another one, and removes nothing", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition())
		create(ctx, node("dns-1", "dns"), zone("example", `{"nodeSelector": {}, "deletionPolicy": "Delete"}`), file("a", "/a"))
		w.reconcile(ctx)
		Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElement("Stalled=True MissingType"))
		Expect(withheldFrom(ctx, "dns-1")).To(Equal([]string{"DNSZone/example MissingType"}))

		create(ctx, zoneType())
		w.reconcile(ctx)
		reportApplied(ctx, "dns-1")
		w.reconcile(ctx)
		Expect(withheldFrom(ctx, "dns-1")).To(BeEmpty())
		Expect(entriesOf(ctx, "dns-1")).To(HaveLen(2))

		for _, bad := range []struct {
			reason string
			change func(*v1alpha1.ExternalTypeSpec)
		}{
			{"InvalidType", func(s *v1alpha1.ExternalTypeSpec) { s.Attributes[1].Default = "1 +" }},
			{"DefinitionMismatch", func(s *v1alpha1.ExternalTypeSpec) { s.Kind = "Zone" }},
			{"DefinitionMismatch", func(s *v1alpha1.ExternalTypeSpec) { s.Attributes[1].Schema.Raw = []byte(`{"type":"number"}`) }},
		} {
			reason, t := bad.reason, zoneType(bad.change)
			By(reason)
			Expect(k8s.Patch(ctx, t, client.Merge)).To(Succeed())
			w.reconcile(ctx)
			Expect(conditionsOf(ctx, t)).To(Equal([]string{"Ready=False " + reason, "Stalled=True " + reason}))
			Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElement("Stalled=True " + reason))
			Expect(withheldFrom(ctx, "dns-1")).To(Equal([]string{"DNSZone/example " + reason}))
		}

		Expect(k8s.Delete(ctx, zoneType())).To(Succeed())
		w.reconcile(ctx)
		Expect(withheldFrom(ctx, "dns-1")).To(Equal([]string{"DNSZone/example MissingType"}))
		Expect(pendingCleanups(ctx, "dns-1")).To(BeEmpty())
		Expect(entriesOf(ctx, "dns-1")).To(HaveLen(1))
	})

	It("rejects only the resources whose default cannot be computed", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition())
		create(ctx, zoneType(func(s *v1alpha1.ExternalTypeSpec) { s.Attributes[1].Default = "100 / (size(name) - 3)" }),
			node("dns-1", "dns"), zone("abc", selectEveryNode), zone("abcd", selectEveryNode))
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "dns-1")).To(Equal(map[string]string{"DNSZone/abcd": `{"ttl":100}`}))
		Expect(conditionsOf(ctx, zone("abc", "{}"))).To(ContainElement("Stalled=True InvalidSpec"))
	})

	It("seals values of Secrets to nodes", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition())
		create(ctx, zoneType(), node("dns-1", "dns"), secret("dns", "key", "marker-of-a-secret"),
			zone("example", `{"nodeSelector": {}, "acceptSelfLabelledNodes": true, "propertiesFrom": [{"name": "key", "secretKeyRef": {"namespace": "default", "name": "dns", "key": "key"}}]}`))
		w.reconcile(ctx)
		key := publishKey(ctx, "dns-1")
		w.reconcile(ctx)
		Expect(unsealedOn(ctx, NewWithT(GinkgoT()), "dns-1", key, "DNSZone/example")).To(Equal("marker-of-a-secret"))
		own := nodeCatalog(ctx, NewWithT(GinkgoT()), "dns-1").Spec.Entries
		Expect(own).To(HaveLen(1))
		Expect(own[0].Type).To(HavePrefix("dnszones@sha256-"))
		text, err := json.Marshal(nodeCatalog(ctx, NewWithT(GinkgoT()), "dns-1"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).NotTo(ContainSubstring("marker-of-a-secret"))
	})

	It("waits with a deletion for nodes, which clean up", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition())
		create(ctx, zoneType(), node("dns-1", "dns"), zone("example", `{"nodeSelector": {}, "deletionPolicy": "Delete"}`))
		w.reconcile(ctx)
		reportApplied(ctx, "dns-1")
		w.reconcile(ctx)
		o := zone("example", "{}")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		Expect(o.GetFinalizers()).To(Equal([]string{cleanupFinalizer}))
		Expect(k8s.Delete(ctx, o)).To(Succeed())
		w.reconcile(ctx)
		Expect(pendingCleanups(ctx, "dns-1")).To(Equal([]v1alpha1.ResourceRef{"DNSZone/example"}))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
		Expect(err).NotTo(HaveOccurred())
		Expect(conditions[0]).To(HaveKeyWithValue("message", ContainSubstring("kubectl annotate dnszone.types.fettle.dev example fettle.dev/abandon-cleanup=true")))

		reportApplied(ctx, "dns-1")
		w.reconcile(ctx)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Satisfy(apierrors.IsNotFound))
	})

	It("leaves hosts alone when its definition is deleted", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition())
		create(ctx, zoneType(), node("dns-1", "dns"), zone("example", `{"nodeSelector": {}, "deletionPolicy": "Delete"}`), file("a", "/a"))
		w.reconcile(ctx)
		reportApplied(ctx, "dns-1")
		w.reconcile(ctx)
		Expect(k8s.Delete(ctx, zoneDefinition())).To(Succeed())
		Eventually(ctx, func() int64 {
			o := zone("example", "{}")
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			if o.GetDeletionTimestamp() == nil {
				return 0
			}
			return 1
		}).Should(BeNumerically("==", 1))
		w.reconcile(ctx)
		w.reconcile(ctx)
		Eventually(ctx, func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(zoneDefinition()), zoneDefinition()) }).Should(Satisfy(apierrors.IsNotFound))
		for _, w := range []*fixture{w, restartManager(w)} {
			create(ctx, file("f", "/f"))
			w.reconcile(ctx)
			Expect(withheldFrom(ctx, "dns-1")).To(Equal([]string{"DNSZone/example Uninstalled"}))
			Expect(pendingCleanups(ctx, "dns-1")).To(BeEmpty())
			Expect(entriesOf(ctx, "dns-1")).To(And(HaveLen(2), HaveKey("File/a"), HaveKey("File/f")), "the rest goes on")
			Expect(k8s.Delete(ctx, file("f", "/f"))).To(Succeed())
			w.reconcile(ctx)
		}
		Expect(conditionsOf(ctx, zoneType())).To(ContainElement("Ready=False MissingDefinition"))

		create(ctx, zoneDefinition())
		Eventually(ctx, func() error { return k8s.Create(ctx, zone("example", selectEveryNode)) }).Should(Succeed())
		w.reconcile(ctx)
		Expect(withheldFrom(ctx, "dns-1")).To(BeEmpty())
		Expect(entriesOf(ctx, "dns-1")).To(HaveKey("DNSZone/example"))
	})

	It("lets the manager change one finalizer of resources only", func(ctx SpecContext) {
		createDefinition(ctx, zoneDefinition())
		create(ctx, zone("example", selectEveryNode))
		manager, err := client.New(impersonating("fettle-manager"), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		patch := func(text string) error {
			return manager.Patch(ctx, zone("example", "{}"), client.RawPatch(types.MergePatchType, []byte(text)))
		}
		Expect(patch(`{"metadata":{"finalizers":["fettle.dev/cleanup"]}}`)).To(Succeed())
		for _, other := range []string{`{"spec":{"noop":true}}`, `{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"finalizers":["example.com/mine"]}}`} {
			Eventually(ctx, func() error { return patch(other) }).Should(MatchError(ContainSubstring( // a policy takes a moment to be in force
				"the manager may change the finalizer fettle.dev/cleanup of dnszones.types.fettle.dev example, and nothing else")))
		}
	})

	It("has the deselection budget of the other kinds", func(ctx SpecContext) {
		w := newFixture()
		createDefinition(ctx, zoneDefinition())
		create(ctx, zoneType(), zone("example", `{"nodeSelector": {"matchLabels": {"role": "dns"}}}`))
		for _, name := range []string{"dns-1", "dns-2", "dns-3"} {
			create(ctx, node(name, "dns"))
		}
		w.reconcile(ctx)
		for _, name := range []string{"dns-1", "dns-2"} {
			reportApplied(ctx, name)
			relabel(ctx, name, "web")
		}
		w.reconcile(ctx)
		w.reconcile(ctx)
		Expect(conditionsOf(ctx, zone("example", "{}"))).To(ContainElement("Stalled=True DeselectionHeld"))
		Expect(entriesOf(ctx, "dns-1")).To(HaveKey("DNSZone/example"))
	})

	It("is followed by a running manager", func(ctx SpecContext) {
		_, recorded := startManager(false)
		t := zoneType()
		create(ctx, node("dns-1", "dns"), t)
		Eventually(ctx, func() []string { return conditionsOf(ctx, t) }).Should(ContainElement("Ready=False MissingDefinition"))
		createDefinition(ctx, zoneDefinition())
		Eventually(ctx, func() []string { return conditionsOf(ctx, t) }).Should(ContainElement("Ready=True Served"))
		create(ctx, zone("example", selectEveryNode))
		Eventually(ctx, func() map[string]string { return entriesOf(ctx, "dns-1") }).Should(Equal(map[string]string{"DNSZone/example": `{"ttl":700}`}))
		create(ctx, zone("second", selectEveryNode))
		Eventually(ctx, func() map[string]string { return entriesOf(ctx, "dns-1") }).Should(HaveLen(2))
		Expect(recorded.matching("/dnszones")).NotTo(ContainElement("GET /apis/types.fettle.dev/v1alpha1/dnszones/example"))

		deleteDefinition(ctx)
		Eventually(ctx, func() []string { return withheldFrom(ctx, "dns-1") }).Should(Equal([]string{"DNSZone/example Uninstalled", "DNSZone/second Uninstalled"}))
		Eventually(ctx, func() []string { return conditionsOf(ctx, t) }).Should(ContainElement("Ready=False MissingDefinition"))
		Eventually(ctx, func() time.Duration {
			_, quiet := recorded.sinceLast()
			return quiet
		}).Should(BeNumerically(">", 3*time.Second), "nothing watches the kind any more")

		create(ctx, zoneDefinition())
		Eventually(ctx, func() error { return k8s.Create(ctx, zone("third", selectEveryNode)) }).Should(Succeed())
		Eventually(ctx, func() map[string]string { return entriesOf(ctx, "dns-1") }).Should(HaveKey("DNSZone/third"))
		Expect(meta.IsNoMatchError(k8s.List(ctx, zoneList()))).To(BeFalse())
	})
})
