package controllers_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/controllers/caches"
	"github.com/fettle-dev/fettle/providers"
)

// startManager runs a manager as the command does, with the rights of its own account, and stops it
// after the spec. It records the manager's requests.
func startManager(elect bool) (ctrl.Manager, *requests) {
	GinkgoHelper()
	return startManagerRecording(&requests{}, elect)
}

// startManagerRecording is startManager with the requests that it records.
func startManagerRecording(recorded *requests, elect bool) (ctrl.Manager, *requests) {
	GinkgoHelper()
	deferCleanUp()
	mgr, _ := runManager(recorded, elect)
	return mgr, recorded
}

// runManager starts a manager beside others. It runs until stop, or the end of the spec.
func runManager(recorded *requests, elect bool) (mgr ctrl.Manager, stop func()) {
	GinkgoHelper()
	mgr = newManager(NewWithT(GinkgoT()), impersonating("fettle-manager"), scheme, recorded, elect)
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // it outlives every node of the spec
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		GinkgoHelper()
		cancel()
		Eventually(done).Should(Receive(Not(HaveOccurred())))
	})
	DeferCleanup(stop)
	return mgr, stop
}

// newManager creates a manager as the command does.
func newManager(g Gomega, cfg *rest.Config, scheme *runtime.Scheme, recorded *requests, elect bool) ctrl.Manager {
	cfg.Wrap(recorded.record)
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         caches.Options(),
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		Controller:                    config.Controller{SkipNameValidation: new(true)},
		LeaderElection:                elect,
		LeaderElectionID:              "fettle-manager",
		LeaderElectionNamespace:       "fettle-system",
		LeaderElectionReleaseOnCancel: true,
	})
	g.Expect(err).NotTo(HaveOccurred())
	fleet := controllers.New(controllers.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("fettle-manager"),
		Clock: clock.RealClock{}, Kinds: providers.Kinds(), Metrics: controllers.NewMetrics(nil),
	})
	g.Expect(fleet.SetupWithManager(mgr)).To(Succeed())
	return mgr
}

var _ = Describe("A running manager", func() {
	It("follows labels, ConfigMaps, resources and nodes as they change", func(ctx SpecContext) {
		startManager(false)
		eventually := func(name string, want map[string]string) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				got, _ := entries(ctx, g, name)
				g.Expect(got).To(Equal(want))
			}).Should(Succeed())
		}
		By("a resource whose ConfigMap is created later")
		create(ctx, node("web-1", "web"), node("db-1", "db"), file("a", "/a", on("web"), fromConfigMap("motd", "text")))
		Eventually(ctx, func() []string { return fileConditions(ctx, "a") }).Should(ContainElement("Stalled=True MissingSource"))
		cm := configMap("motd", "text", "one")
		create(ctx, cm)
		eventually("web-1", map[string]string{"File/a": `{"content":"one","path":"/a"}`})
		eventually("db-1", map[string]string{})

		By("the ConfigMap changes")
		first := nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").Spec.Catalogs
		cm.Data["text"] = "two"
		Expect(k8s.Update(ctx, cm)).To(Succeed())
		eventually("web-1", map[string]string{"File/a": `{"content":"two","path":"/a"}`})
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").Spec.Catalogs).NotTo(Equal(first))

		By("a label selects a node, and is removed")
		relabel(ctx, "db-1", "web")
		eventually("db-1", map[string]string{"File/a": `{"content":"two","path":"/a"}`})
		relabel(ctx, "db-1", "db")
		eventually("db-1", map[string]string{})

		By("a node reports corrected drift")
		reportApplied(ctx, "web-1")
		Eventually(ctx, func() []string { return fileConditions(ctx, "a") }).Should(ContainElement("Ready=True InSync"))
		reportApplied(ctx, "web-1",
			v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateChanged, Corrective: true, Message: "content changed"},
			v1alpha1.ResourceReport{Ref: "User/b", State: v1alpha1.StateChanged, Corrective: true, Message: "created"})
		Eventually(ctx, func() []string { return eventNotes(ctx, "NodeCatalog") }).Should(
			ContainElements("DriftCorrected File/a: content changed; author: unknown", "DriftCorrected User/b: created; author: unknown"))
		Expect(eventNotes(ctx, "File")).To(ContainElements(ContainSubstring("ProblemFound MissingSource"), ContainSubstring("BecameReady")))
		Eventually(ctx, func() []string { return eventNotes(ctx, "File") }).Should(ContainElement("DriftCorrected drift corrected 1 time on 1 node: web-1 (Node web-1)"))

		By("a node reports drift that it does not correct")
		reportApplied(ctx, "web-1", v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateNoop, Corrective: true, Changes: []v1alpha1.PropertyChange{{Property: "mode", Is: "0600", Should: "0644"}}})
		Eventually(ctx, func() []string { return eventNotes(ctx, "NodeCatalog") }).Should(ContainElement(`DriftDetected File/a: mode is "0600" and should be "0644"; author: unknown`))
		Eventually(ctx, func() []string { return eventNotes(ctx, "File") }).Should(
			ContainElement("DriftDetected drift reported, and not corrected because of noop, 1 time on 1 node: web-1 (Node web-1)"))

		By("somebody deletes a Catalog")
		Expect(k8s.DeleteAllOf(ctx, &v1alpha1.Catalog{})).To(Succeed())
		eventually("web-1", map[string]string{"File/a": `{"content":"two","path":"/a"}`})

		By("a resource is deleted")
		Expect(k8s.Delete(ctx, file("a", "/a"))).To(Succeed())
		eventually("web-1", map[string]string{})
	})

	It("reads only ConfigMaps that resources refer to, once per version", func(ctx SpecContext) {
		mgr, recorded := startManager(false)
		other := configMap("other", "x", "1")
		other.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "x is 1"}
		create(ctx, node("web-1", "web"), node("db-1", "db"), other, configMap("motd", "text", "one"),
			file("a", "/a", on("web"), fromConfigMap("motd", "text")), file("b", "/b", on("web"), fromConfigMap("motd", "text")))
		serves := func(name, content string) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				got, _ := entries(ctx, g, name)
				g.Expect(got).To(HaveKeyWithValue("File/b", `{"content":"`+content+`","path":"/b"}`))
			}).Should(Succeed())
		}
		serves("web-1", "one")
		relabel(ctx, "db-1", "web")
		serves("db-1", "one")
		Expect(k8s.Update(ctx, configMap("motd", "text", "two"))).To(Succeed())
		serves("db-1", "two")

		const read = "GET /api/v1/namespaces/default/configmaps/motd"
		Expect(recorded.matching("configmaps")).To(HaveExactElements(read, read))
		cached := &metav1.PartialObjectMetadata{}
		cached.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		Expect(mgr.GetClient().Get(ctx, client.ObjectKeyFromObject(other), cached)).To(Succeed())
		Expect(cached.Annotations).To(BeEmpty())
		Expect(cached.ManagedFields).To(BeEmpty())
	})

	It("ignores heartbeats of Nodes and unrelated ConfigMaps", func(ctx SpecContext) {
		_, recorded := startManager(false)
		create(ctx, node("web-1", "web"), configMap("other", "x", "1"), file("a", "/a"))
		Eventually(ctx, func() []string { return fileConditions(ctx, "a") }).Should(ContainElement("Ready=False Applying"))
		Expect(recorded.awaitQuiet(ctx, k8s)).To(Succeed())
		before := resourceVersions(ctx)
		start := len(recorded.matching(""))
		for range 3 {
			var n corev1.Node
			Expect(k8s.Get(ctx, client.ObjectKey{Name: "web-1"}, &n)).To(Succeed())
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: "True", LastHeartbeatTime: metav1.Now()}}
			Expect(k8s.Status().Update(ctx, &n)).To(Succeed())
		}
		Expect(k8s.Update(ctx, configMap("other", "x", "2"))).To(Succeed())
		delete(before, "Node/web-1")
		Consistently(ctx, func() map[string]string {
			now := resourceVersions(ctx)
			delete(now, "Node/web-1")
			return now
		}).WithTimeout(2 * time.Second).Should(Equal(before))
		Expect(recorded.matching("")[start:]).To(BeEmpty())
	})

	It("removes nothing from nodes while it cannot read a kind", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), file("a", "/a"), file("b", "/b"), user("ann"))
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "web-1")).To(HaveLen(3))
		before := resourceVersions(ctx)

		recorded := &requests{}
		recorded.refused.Store(new("/users"))
		startManagerRecording(recorded, false)
		Eventually(ctx, func() []string { return recorded.matching("/users") }).ShouldNot(BeEmpty())
		Eventually(ctx, func() []string { return recorded.matching("/files") }).ShouldNot(BeEmpty())
		Consistently(ctx, func() map[string]string { return resourceVersions(ctx) }).WithTimeout(2 * time.Second).Should(Equal(before))

		Expect(k8s.Delete(ctx, file("a", "/a"))).To(Succeed())
		recorded.refused.Store(nil)
		Eventually(ctx, func() map[string]string { return entriesOf(ctx, "web-1") }).Should(And(HaveLen(2), HaveKey("File/b"), HaveKey("User/ann")))
	})

	It("works as the elected leader", func(ctx SpecContext) {
		mgr, _ := startManager(true)
		Eventually(ctx, mgr.Elected()).Should(BeClosed())
		create(ctx, node("web-1", "web"), file("a", "/a"))
		Eventually(ctx, func() []string { return listNames(ctx, &v1alpha1.NodeCatalogList{}) }).Should(Equal([]string{"web-1"}))
	})
})

func user(name string) *v1alpha1.User {
	u := &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: name}}
	u.Spec.NodeSelector = &metav1.LabelSelector{}
	return u
}

func relabel(ctx context.Context, name, role string) {
	GinkgoHelper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"role":"`+role+`"}}}`))
	Expect(k8s.Patch(ctx, node(name, ""), patch)).To(Succeed())
}

func listNames(ctx context.Context, list client.ObjectList) []string {
	GinkgoHelper()
	var all []string
	Expect(k8s.List(ctx, list)).To(Succeed())
	Expect(eachItem(list, func(o metav1.Object) { all = append(all, o.GetName()) })).To(Succeed())
	return all
}

// eventNotes returns the events about a kind, as "Reason note", with the Node that they are related to in parentheses.
func eventNotes(ctx context.Context, kind string) []string {
	GinkgoHelper()
	var list eventsv1.EventList
	Expect(k8s.List(ctx, &list)).To(Succeed())
	var all []string
	for _, e := range list.Items {
		if e.Regarding.Kind == kind {
			line := e.Reason + " " + e.Note
			if e.Related != nil && e.Related.Kind == "Node" {
				line += " (Node " + e.Related.Name + ")"
			}
			all = append(all, line)
		}
	}
	return all
}
