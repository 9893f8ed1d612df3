package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// hosts simulate the hosts of a fleet, which have File/a with some content. Their agents apply their
// NodeCatalogs and report. Safe for concurrent use.
type hosts struct {
	client client.WithWatch
	mu     sync.Mutex
	has    map[string]string
	gate   chan struct{} // held up by anyone who sends: n3 applies nothing meanwhile
}

// follow has each node apply and report its NodeCatalog until the context ends.
func (h *hosts) follow(ctx context.Context, node string) {
	defer GinkgoRecover()
	w, err := h.client.Watch(ctx, &v1alpha1.NodeCatalogList{}, client.MatchingFields{"metadata.name": node})
	Expect(err).NotTo(HaveOccurred())
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.ResultChan():
			if nc, ok := e.Object.(*v1alpha1.NodeCatalog); ok && nc.Status.AppliedGeneration != nc.Generation {
				h.apply(ctx, nc)
			}
		}
	}
}

func (h *hosts) apply(ctx context.Context, nc *v1alpha1.NodeCatalog) {
	all, digest, err := catalog.Assemble(nc.Spec, func(name string) (*v1alpha1.Catalog, error) {
		var c v1alpha1.Catalog
		return &c, h.client.Get(ctx, client.ObjectKey{Name: name}, &c)
	})
	if nc.Name == "n3" {
		select {
		case h.gate <- struct{}{}:
			<-h.gate
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return
	}
	Expect(err).NotTo(HaveOccurred())
	for _, e := range all {
		var attributes struct{ Content string }
		if e.Ref() == "File/a" && json.Unmarshal(e.Attributes.Raw, &attributes) == nil {
			h.mu.Lock()
			h.has[nc.Name] = attributes.Content
			h.mu.Unlock()
		}
	}
	patch := fmt.Sprintf(`{"status": {"appliedGeneration": %d, "appliedDigest": %q, "agentVersion": "test"}}`, nc.Generation, digest)
	err = h.client.Status().Patch(ctx, nc.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	Expect(err).To(Or(Not(HaveOccurred()), MatchError(context.Canceled)))
}

// behind returns the nodes that have not applied a generation of File/a, which its content names.
func (h *hosts) behind(generation int64) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for node, content := range h.has {
		if has, err := strconv.ParseInt(content, 10, 64); err != nil || has < generation {
			all = append(all, node)
		}
	}
	return all
}

// A readiness records the last Ready generation of File/a, and the cases in which a node was behind.
type readiness struct {
	mu    sync.Mutex
	last  int64
	early []string
}

// watch checks every version of the status of File/a.
func (r *readiness) watch(ctx context.Context, h *hosts) {
	defer GinkgoRecover()
	w, err := h.client.Watch(ctx, &v1alpha1.FileList{}, client.MatchingFields{"metadata.name": "a"})
	Expect(err).NotTo(HaveOccurred())
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.ResultChan():
			if f, ok := e.Object.(*v1alpha1.File); ok {
				r.observe(f, h)
			}
		}
	}
}

func (r *readiness) observe(f *v1alpha1.File, h *hosts) {
	c := meta.FindStatusCondition(f.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Status != "True" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = c.ObservedGeneration
	if behind := h.behind(c.ObservedGeneration); len(behind) > 0 {
		r.early = append(r.early, fmt.Sprintf("generation %d is Ready, and %v have yet to apply it", c.ObservedGeneration, behind))
	}
}

func (r *readiness) result() (last int64, early []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.early
}

// kubectl runs a command as users do.
func kubectl(args ...string) string {
	GinkgoHelper()
	config := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(controlplane.WriteKubeconfig(config, restConfig, "")).To(Succeed())
	return controlplane.Kubectl(GinkgoT(), config, args...)
}

var _ = Describe("Ready after an edit", func() {
	It("is not reported before every node has applied the generation", func(ctx SpecContext) {
		startManager(false)
		watching, err := client.NewWithWatch(restConfig, client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		h, seen := &hosts{client: watching, has: map[string]string{"n1": "", "n2": "", "n3": ""}, gate: make(chan struct{}, 1)}, &readiness{}
		running, stop := context.WithCancel(ctx)
		var players sync.WaitGroup
		defer players.Wait()
		defer stop()
		for _, name := range []string{"n1", "n2", "n3"} {
			create(ctx, node(name, "web"))
			players.Go(func() { h.follow(running, name) })
		}
		players.Go(func() { seen.watch(running, h) })
		ready := func(generation int64) {
			GinkgoHelper()
			Eventually(ctx, func() int64 { last, _ := seen.result(); return last }).Should(Equal(generation))
		}
		edit := func(generation int64) {
			GinkgoHelper()
			updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new(strconv.FormatInt(generation, 10)) })
		}
		create(ctx, file("a", "/a", func(f *v1alpha1.File) { f.Spec.Content = new("1") }), file("b", "/b"))
		ready(1)

		By("kubectl waits for an edit that one node applies late")
		h.gate <- struct{}{}
		edit(2)
		waited := make(chan struct{})
		go func() {
			defer GinkgoRecover()
			defer close(waited)
			kubectl("wait", "--for=condition=Ready", "file.fettle.dev/a", "--timeout="+patient.Limit.String())
		}()
		Eventually(ctx, func(g Gomega) {
			s := statusOf(ctx, g, "a")
			g.Expect(s.ObservedGeneration).To(Equal(int64(2)))
			g.Expect(*s.Nodes).To(Equal(v1alpha1.NodeCounts{Selected: 3, InSync: 2, Pending: 1}))
		}).Should(Succeed())
		Expect(h.behind(2)).To(Equal([]string{"n3"}))
		Expect(waited).NotTo(BeClosed())
		<-h.gate
		Eventually(ctx, waited).Should(BeClosed())
		ready(2)

		By("edits that come faster than nodes apply them")
		for generation := range int64(6) {
			edit(3 + generation)
		}
		ready(8)
		_, early := seen.result()
		Expect(early).To(BeEmpty())
	})

	It("is not reported after a revert that a node has not applied", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), file("a", "/a"), file("b", "/b"))
		w.reconcile(ctx)
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True InSync"))
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("other") })
		w.reconcile(ctx)

		By("the node has applied it, and not reported yet")
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("hello\n") })
		for range 2 {
			w.reconcile(ctx)
			Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=False Applying"))
			Expect(statusOf(ctx, NewWithT(GinkgoT()), "a").ObservedGeneration).To(Equal(int64(3)))
			Expect(fileConditions(ctx, "b")).To(ContainElement("Ready=True InSync"))
		}
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True InSync"))
	})
})
