package controllers_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/seal"
)

// fromSecret sets a file's content from a Secret, on nodes that can select themselves.
func fromSecret(name, key string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) {
		f.Spec.Content, f.Spec.AcceptSelfLabelledNodes = nil, true
		f.Spec.ContentFrom = &v1alpha1.ValueSource{SecretKeyRef: &v1alpha1.KeyRef{Namespace: "default", Name: name, Key: key}}
	}
}

// secret returns a Secret that is exposed to nodes.
func secret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{v1alpha1.LabelExposeToNodes: "true"}},
		Data:       map[string][]byte{key: []byte(value)},
	}
}

// publishKey publishes a new key of a node, as its agent would.
func publishKey(ctx context.Context, name string) *seal.PrivateKey {
	GinkgoHelper()
	key, err := seal.GenerateKey()
	Expect(err).NotTo(HaveOccurred())
	setStatus(ctx, name, func(s *v1alpha1.NodeCatalogStatus) { s.PublicKey = key.PublicKey().String() })
	return key
}

// sealedFor returns the values that are sealed for a node, by resource.
func sealedFor(ctx context.Context, g Gomega, name string) map[string]v1alpha1.SealedValue {
	all := map[string]v1alpha1.SealedValue{}
	for _, e := range nodeCatalog(ctx, g, name).Spec.Entries {
		for _, s := range e.Sealed {
			all[string(e.Ref())] = s
		}
	}
	return all
}

func unsealedOn(ctx context.Context, g Gomega, node string, key *seal.PrivateKey, ref string) string {
	s := sealedFor(ctx, g, node)[ref]
	value, err := key.Open(seal.Purpose{Node: node, Ref: ref, Attribute: s.Attribute}, s.Value)
	g.Expect(err).NotTo(HaveOccurred())
	return string(value)
}

var _ = Describe("A Secret", func() {
	It("is sealed to each node's published key, once", func(ctx SpecContext) {
		w, g := newFixture(), NewWithT(GinkgoT())
		create(ctx, node("web-1", "web"), node("web-2", "web"), secret("token", "text", "hunter2"), file("a", "/a", fromSecret("token", "text")))
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(Equal([]string{"Ready=False WaitingForKey", "Reconciling=True WaitingForKey", "Stalled=False Settled"}))
		one, two := publishKey(ctx, "web-1"), publishKey(ctx, "web-2")
		w.reconcile(ctx)
		Expect(unsealedOn(ctx, g, "web-1", one, "File/a")).To(Equal("hunter2"))
		Expect(unsealedOn(ctx, g, "web-2", two, "File/a")).To(Equal("hunter2"))

		w.reconcile(ctx)
		before := resourceVersions(ctx)
		w.reconcile(ctx)
		Expect(resourceVersions(ctx)).To(Equal(before), "nothing is sealed anew")
		restarted := newFixture()
		restarted.clock.SetTime(w.clock.Now())
		restarted.reconcile(ctx)
		Expect(resourceVersions(ctx)).To(Equal(before), "nor by a manager that has just started")
	})

	It("is sealed again only if its value or the node's key changes", func(ctx SpecContext) {
		w, g := newFixture(), NewWithT(GinkgoT())
		token, other := secret("token", "text", "one"), secret("other", "text", "other")
		create(ctx, node("web-1", "web"), node("db-1", "db"), token, other,
			file("a", "/a", on("web"), fromSecret("token", "text")), file("b", "/b", fromSecret("other", "text")))
		w.reconcile(ctx)
		web, db := publishKey(ctx, "web-1"), publishKey(ctx, "db-1")
		w.reconcile(ctx)
		before, beforeDB := sealedFor(ctx, g, "web-1"), nodeCatalog(ctx, g, "db-1").Generation

		By("a label, an annotation and another key of the Secret")
		token.Labels["more"], token.Annotations, token.Data["else"] = "x", map[string]string{"a": "b"}, []byte("x")
		Expect(k8s.Update(ctx, token)).To(Succeed())
		w.reconcile(ctx)
		Expect(sealedFor(ctx, g, "web-1")).To(Equal(before))

		By("its value")
		token.Data["text"] = []byte("two")
		Expect(k8s.Update(ctx, token)).To(Succeed())
		w.reconcile(ctx)
		Expect(unsealedOn(ctx, g, "web-1", web, "File/a")).To(Equal("two"))
		Expect(sealedFor(ctx, g, "web-1")["File/b"]).To(Equal(before["File/b"]))
		Expect(nodeCatalog(ctx, g, "db-1").Generation).To(Equal(beforeDB))
		Expect(unsealedOn(ctx, g, "db-1", db, "File/b")).To(Equal("other"))

		By("the key of one node")
		web = publishKey(ctx, "web-1")
		w.reconcile(ctx)
		Expect(unsealedOn(ctx, g, "web-1", web, "File/a")).To(Equal("two"))
		Expect(unsealedOn(ctx, g, "web-1", web, "File/b")).To(Equal("other"))
		Expect(nodeCatalog(ctx, g, "db-1").Generation).To(Equal(beforeDB))
	})

	It("without the label is not given to nodes", func(ctx SpecContext) {
		w, g := newFixture(), NewWithT(GinkgoT())
		token := secret("token", "text", "hunter2")
		token.Labels = nil
		create(ctx, node("web-1", "web"), token, file("a", "/a", fromSecret("token", "text")), file("good", "/b"))
		w.reconcile(ctx)
		publishKey(ctx, "web-1")
		for range 2 {
			w.reconcile(ctx)
			Expect(fileConditions(ctx, "a")).To(ContainElements("Ready=False UnexposedSecret", "Stalled=True UnexposedSecret"))
			Expect(entriesOf(ctx, "web-1")).To(HaveLen(1))

			token.Labels = map[string]string{v1alpha1.LabelExposeToNodes: "true"}
			Expect(k8s.Update(ctx, token)).To(Succeed())
			w.reconcile(ctx)
			Expect(sealedFor(ctx, g, "web-1")).To(HaveLen(1))
			Expect(entriesOf(ctx, "web-1")).To(HaveLen(2))

			token.Labels = map[string]string{v1alpha1.LabelExposeToNodes: "false"}
			Expect(k8s.Update(ctx, token)).To(Succeed())
		}
	})

	It("does not appear in statuses and events if its type rejects it", func(ctx SpecContext) {
		w := newFixture()
		user := &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: "ann"}}
		user.Spec.NodeSelector = &metav1.LabelSelector{}
		user.Spec.PasswordFrom = &v1alpha1.SecretSource{SecretKeyRef: v1alpha1.KeyRef{Namespace: "default", Name: "ann", Key: "hash"}}
		create(ctx, node("web-1", "web"), secret("ann", "hash", "$6$s3cret:\n"), user)
		w.reconcile(ctx)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(user), user)).To(Succeed())
		text, err := json.Marshal(user.Status)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).To(And(ContainSubstring("password is not a hash as in"), Not(ContainSubstring("s3cret"))))
		Expect(w.drainEvents()).To(And(HaveLen(1), Not(ContainElement(ContainSubstring("s3cret")))))
	})

	It("is watched by a running manager, which reads no other", func(ctx SpecContext) {
		mgr, recorded := startManager(false)
		token, private := secret("token", "text", "one"), secret("private", "text", "s3cret")
		private.Labels = nil
		create(ctx, node("web-1", "web"), token, private, file("a", "/a", fromSecret("token", "text")), file("b", "/b", fromSecret("private", "text")))
		Eventually(ctx, func() []string { return fileConditions(ctx, "a") }).Should(ContainElement("Ready=False WaitingForKey"))
		key := publishKey(ctx, "web-1")
		opens := func(want string) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				g.Expect(unsealedOn(ctx, g, "web-1", key, "File/a")).To(Equal(want))
			}).Should(Succeed())
		}
		opens("one")
		token.Data["text"] = []byte("two")
		Expect(k8s.Update(ctx, token)).To(Succeed())
		opens("two")
		key = publishKey(ctx, "web-1")
		opens("two")
		Expect(fileConditions(ctx, "b")).To(ContainElement("Stalled=True UnexposedSecret"))
		var known corev1.SecretList
		Expect(mgr.GetClient().List(ctx, &known)).To(Succeed())
		Expect(known.Items).To(HaveExactElements(HaveField("Name", "token")))
		Expect(recorded.matching("/secrets")).To(HaveEach("GET /api/v1/secrets"))

		token.Labels = nil
		Expect(k8s.Update(ctx, token)).To(Succeed())
		Eventually(ctx, func() []string { return fileConditions(ctx, "a") }).Should(ContainElement("Stalled=True UnexposedSecret"))
		Expect(sealedFor(ctx, NewWithT(GinkgoT()), "web-1")).To(BeEmpty())
	})
})
