package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

func TestControllers(t *testing.T) {
	t.Parallel()

	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patient.Limit)
	EnforceDefaultTimeoutsWhenUsingContexts() // a spec whose hope is in vain ends
	RunSpecs(t, "controllers")
}

var (
	restConfig *rest.Config
	scheme     *runtime.Scheme
	k8s        client.Client // without a cache
)

var _ = BeforeSuite(func() {
	ctrl.SetLogger(GinkgoLogr)
	restConfig, _ = controlplane.Start(GinkgoT())
	k8s = controlplane.Admin(GinkgoT(), restConfig)
	scheme = k8s.Scheme()
	controlplane.Install(GinkgoT(), restConfig)
})

// deferCleanUp empties the cluster after the spec.
func deferCleanUp() {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) {
		for _, kind := range v1alpha1.Resources() {
			Expect(k8s.DeleteAllOf(ctx, kind)).To(Succeed())
		}
		removeFinalizers(ctx)
		Expect(k8s.DeleteAllOf(ctx, &corev1.Node{})).To(Succeed())
		Expect(k8s.DeleteAllOf(ctx, &v1alpha1.NodeCatalog{})).To(Succeed())
		Expect(k8s.DeleteAllOf(ctx, &v1alpha1.Catalog{})).To(Succeed())
		Expect(k8s.DeleteAllOf(ctx, &v1alpha1.Fleet{})).To(Succeed())
		Expect(k8s.DeleteAllOf(ctx, &v1alpha1.RolloutPolicy{})).To(Succeed())
		Expect(k8s.DeleteAllOf(ctx, &v1alpha1.CatalogRevision{})).To(Succeed())
		Expect(k8s.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace("default"))).To(Succeed())
		Expect(k8s.DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace(v1alpha1.AgentNamespace))).To(Succeed())
		Expect(k8s.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace("default"))).To(Succeed())
	})
}

// removeFinalizers removes the finalizers of Files.
func removeFinalizers(ctx context.Context) {
	GinkgoHelper()
	var list v1alpha1.FileList
	Expect(k8s.List(ctx, &list)).To(Succeed())
	for i := range list.Items {
		Expect(client.IgnoreNotFound(k8s.Patch(ctx, &list.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
	}
}

// anyRequest is a request to reconcile, whose content is ignored.
var anyRequest = ctrl.Request{}

// A fixture is a reconciler whose reconciliations and clock the spec drives, with clients that the spec may exchange.
type fixture struct {
	reconciler *controllers.Reconciler
	client     struct{ client.Client }
	live       struct{ client.Reader }
	clock      *clocktesting.FakePassiveClock
	events     *events.FakeRecorder
	metrics    *prometheus.Registry
}

func newFixture(adjust ...func(*controllers.Options)) *fixture {
	GinkgoHelper()
	deferCleanUp()
	return startFixture(clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), events.NewFakeRecorder(10_000), adjust...)
}

// startFixture returns a manager that has just started.
func startFixture(clock *clocktesting.FakePassiveClock, recorder *events.FakeRecorder, adjust ...func(*controllers.Options)) *fixture {
	w := &fixture{clock: clock, events: recorder, metrics: prometheus.NewRegistry()}
	w.client.Client, w.live.Reader = k8s, k8s
	o := controllers.Options{
		Client: &w.client, Live: &w.live, Recorder: w.events, Clock: w.clock, Kinds: providers.Kinds(), Metrics: controllers.NewMetrics(w.metrics),
	}
	for _, a := range adjust {
		a(&o)
	}
	w.reconciler = controllers.New(o)
	return w
}

func withLease(duration time.Duration) func(*controllers.Options) {
	return func(o *controllers.Options) { o.LeaseDuration = duration }
}

// reconcile reconciles ten seconds later, and returns when the next reconciliation is due.
func (w *fixture) reconcile(ctx context.Context) time.Duration {
	GinkgoHelper()
	return w.reconcileAfter(ctx, 10*time.Second)
}

// reconcileAfter reconciles after some time, in which something has changed that is compiled.
func (w *fixture) reconcileAfter(ctx context.Context, d time.Duration) time.Duration {
	GinkgoHelper()
	w.reconciler.Invalidate()
	return w.reconcileUnchangedAfter(ctx, d)
}

// reconcileUnchangedAfter reconciles after some time, in which nothing has changed that is compiled.
func (w *fixture) reconcileUnchangedAfter(ctx context.Context, d time.Duration) time.Duration {
	GinkgoHelper()
	w.clock.SetTime(w.clock.Now().Add(d))
	w.reconciler.CheckHeartbeats(ctx)
	result, err := w.reconciler.Reconcile(ctx, anyRequest)
	Expect(err).NotTo(HaveOccurred())
	return result.RequeueAfter
}

// staleCache is a client with some stale caches.
type staleCache struct {
	client.Client
	frozen  []client.ObjectList
	read    func() // what happens as soon as NodeCatalogs were read once; nil for nothing
	patches int    // of NodeCatalogs
}

// freeze makes the caches of some lists stale, by default those of NodeCatalogs.
func (b *staleCache) freeze(ctx context.Context, lists ...client.ObjectList) {
	GinkgoHelper()
	if len(lists) == 0 {
		lists = []client.ObjectList{&v1alpha1.NodeCatalogList{}}
	}
	for _, list := range lists {
		Expect(b.Client.List(ctx, list)).To(Succeed())
	}
	b.frozen = lists
}

// List reads from the cache.
func (b *staleCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	for _, f := range b.frozen {
		if kindOf(f) == kindOf(list) {
			reflect.ValueOf(list).Elem().Set(reflect.ValueOf(f.DeepCopyObject()).Elem())
			return nil
		}
	}
	err := b.Client.List(ctx, list, opts...)
	if _, ok := list.(*v1alpha1.NodeCatalogList); ok && b.read != nil {
		read := b.read
		b.read = nil
		read()
	}
	return err
}

// kindOf identifies lists, including those of metadata.
func kindOf(list client.ObjectList) string {
	return fmt.Sprintf("%T of %s", list, strings.TrimSuffix(list.GetObjectKind().GroupVersionKind().Kind, "List"))
}

// Patch counts patches of NodeCatalogs.
func (b *staleCache) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if _, ok := o.(*v1alpha1.NodeCatalog); ok {
		b.patches++
	}
	return b.Client.Patch(ctx, o, p, opts...)
}

func (w *fixture) drainEvents() []string {
	var all []string
	for {
		select {
		case e := <-w.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(k8s.Create(ctx, o)).To(Succeed())
	}
}

func node(name, role string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"role": role}}}
}

func file(name, path string, adjust ...func(*v1alpha1.File)) *v1alpha1.File {
	f := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name}}
	f.Spec.NodeSelector = &metav1.LabelSelector{}
	f.Spec.Path = path
	f.Spec.Content = new("hello\n")
	for _, a := range adjust {
		a(f)
	}
	return f
}

func on(role string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels = map[string]string{"role": role} }
}

func requires(ref v1alpha1.ResourceRef) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.Require = []v1alpha1.ResourceRef{ref} }
}

func fromConfigMap(name, key string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) {
		f.Spec.Content = nil
		f.Spec.ContentFrom = &v1alpha1.ValueSource{ConfigMapKeyRef: &v1alpha1.KeyRef{Namespace: "default", Name: name, Key: key}}
	}
}

func configMap(name, key, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{key: value}}
}

func nodeCatalog(ctx context.Context, g Gomega, name string) *v1alpha1.NodeCatalog {
	var nc v1alpha1.NodeCatalog
	g.Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, &nc)).To(Succeed())
	return &nc
}

// entries returns what a node's agent would apply, as JSON by reference, and its digest.
func entries(ctx context.Context, g Gomega, name string) (map[string]string, string) {
	nc := nodeCatalog(ctx, g, name)
	all, digest, err := catalog.Assemble(nc.Spec, func(name string) (*v1alpha1.Catalog, error) {
		var c v1alpha1.Catalog
		return &c, k8s.Get(ctx, client.ObjectKey{Name: name}, &c)
	})
	g.Expect(err).NotTo(HaveOccurred())
	m := map[string]string{}
	for _, e := range all {
		m[string(e.Ref())] = string(e.Attributes.Raw)
	}
	return m, digest
}

// entriesOf is entries without the digest.
func entriesOf(ctx context.Context, name string) map[string]string {
	GinkgoHelper()
	m, _ := entries(ctx, NewWithT(GinkgoT()), name)
	return m
}

// reportApplied reports, as an agent would, that a node applied its NodeCatalog.
func reportApplied(ctx context.Context, name string, reports ...v1alpha1.ResourceReport) {
	GinkgoHelper()
	reportAppliedAs(ctx, name, nodeCatalog(ctx, NewWithT(GinkgoT()), name), reports...)
}

// reportAppliedAs reports that a node applied an earlier NodeCatalog.
func reportAppliedAs(ctx context.Context, name string, told *v1alpha1.NodeCatalog, reports ...v1alpha1.ResourceReport) {
	GinkgoHelper()
	setStatus(ctx, name, func(s *v1alpha1.NodeCatalogStatus) {
		s.AppliedGeneration, s.AppliedDigest, s.AgentVersion, s.Resources = told.Generation, catalog.Digest(told.Spec), "test", reports
		ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied}
		if slices.ContainsFunc(reports, func(r v1alpha1.ResourceReport) bool { return r.State == v1alpha1.StateFailed }) {
			ready.Status, ready.Reason = metav1.ConditionFalse, v1alpha1.ReasonResourcesFailed
		}
		meta.SetStatusCondition(&s.Conditions, ready)
	})
}

func reportFacts(ctx context.Context, name string, facts map[string]any) {
	GinkgoHelper()
	raw, err := json.Marshal(facts)
	Expect(err).NotTo(HaveOccurred())
	setStatus(ctx, name, func(s *v1alpha1.NodeCatalogStatus) { s.Facts = &runtime.RawExtension{Raw: raw} })
}

func setStatus(ctx context.Context, name string, set func(*v1alpha1.NodeCatalogStatus)) {
	GinkgoHelper()
	nc := nodeCatalog(ctx, NewWithT(GinkgoT()), name)
	set(&nc.Status)
	Expect(k8s.Status().Update(ctx, nc)).To(Succeed())
}

func statusOf(ctx context.Context, g Gomega, name string) v1alpha1.ResourceStatus {
	var f v1alpha1.File
	g.Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, &f)).To(Succeed())
	return f.Status
}

// fileConditions returns a File's conditions as "Type=Status Reason".
func fileConditions(ctx context.Context, name string) []string {
	GinkgoHelper()
	var all []string
	for _, c := range statusOf(ctx, NewWithT(GinkgoT()), name).Conditions {
		all = append(all, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	return all
}

func messageOf(ctx context.Context, name, condition string) string {
	GinkgoHelper()
	for _, c := range statusOf(ctx, NewWithT(GinkgoT()), name).Conditions {
		if c.Type == condition {
			return c.Message
		}
	}
	return ""
}

func nodeCounts(ctx context.Context, name string) v1alpha1.NodeCounts {
	GinkgoHelper()
	n := statusOf(ctx, NewWithT(GinkgoT()), name).Nodes
	Expect(n).NotTo(BeNil())
	return *n
}
