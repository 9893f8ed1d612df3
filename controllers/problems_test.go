package controllers_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A change breaks File/bad, or something that it refers to.
type change func(ctx SpecContext)

// edit edits File/bad.
func edit(adjust ...func(*v1alpha1.File)) change {
	return func(ctx SpecContext) {
		GinkgoHelper()
		updateFile(ctx, "bad", func(f *v1alpha1.File) {
			for _, a := range adjust {
				a(f)
			}
		})
	}
}

// createOthers creates other objects than File/bad.
func createOthers(objects ...client.Object) change {
	return func(ctx SpecContext) { GinkgoHelper(); create(ctx, objects...) }
}

// sequence makes changes one after the other.
func sequence(changes ...change) change {
	return func(ctx SpecContext) {
		GinkgoHelper()
		for _, do := range changes {
			do(ctx)
		}
	}
}

// fromTemplate replaces a file's content by a template.
func fromTemplate(template string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.Content, f.Spec.ContentTemplate = nil, &template }
}

func when(expression string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.When = expression }
}

// unexposedSecret returns a Secret without the label that exposes it to nodes.
func unexposedSecret(name, key, value string) client.Object {
	s := secret(name, key, value)
	s.Labels = nil
	return s
}

var _ = Describe("A resource that cannot be applied any more", func() {
	DescribeTable("explains why, is withheld, and delays nothing else",
		func(ctx SpecContext, impossible change, reason string, messages ...string) {
			w, g := newFixture(), NewWithT(GinkgoT())
			create(ctx, node("web-1", "web"), node("db-1", "db"), file("bad", "/bad", on("web")), file("good", "/good"), file("far", "/far", on("db")))
			w.reconcile(ctx)
			publishKey(ctx, "web-1")
			reportApplied(ctx, "web-1")
			reportApplied(ctx, "db-1")
			w.reconcile(ctx)
			Expect(fileConditions(ctx, "bad")).To(ContainElement("Ready=True InSync"))

			impossible(ctx)
			w.reconcile(ctx)
			Expect(fileConditions(ctx, "bad")).To(ContainElements("Ready=False "+reason, "Reconciling=False Settled", "Stalled=True "+reason))
			for _, m := range messages {
				Expect(messageOf(ctx, "bad", "Stalled")).To(ContainSubstring(m))
			}
			Expect(nodeCounts(ctx, "bad")).To(Equal(v1alpha1.NodeCounts{Selected: 1, Skipped: 1}))
			Expect(statusOf(ctx, g, "bad").AppliedGeneration).To(Equal(int64(1)), "nobody has applied another")

			By("its node leaves it as it is and applies the others")
			Expect(nodeCatalog(ctx, g, "web-1").Spec.Withheld).To(ContainElement(And(HaveField("Ref", v1alpha1.ResourceRef("File/bad")), HaveField("Reason", reason), HaveField("Location", "/bad"))))
			Expect(entriesOf(ctx, "web-1")).To(And(HaveKey("File/good"), Not(HaveKey("File/bad"))))
			updateFile(ctx, "good", func(f *v1alpha1.File) { f.Spec.Content = new("better") })
			w.reconcile(ctx)
			Expect(entriesOf(ctx, "web-1")).To(HaveKeyWithValue("File/good", ContainSubstring("better")))
			reportApplied(ctx, "web-1", v1alpha1.ResourceReport{Ref: "File/bad", State: v1alpha1.StateWithheld, Message: "why"})
			reportApplied(ctx, "db-1")
			w.reconcile(ctx)
			Expect(fileConditions(ctx, "good")).To(ContainElement("Ready=True InSync"))
			Expect(fileConditions(ctx, "far")).To(ContainElement("Ready=True InSync"))
			Expect(nodeCatalog(ctx, g, "db-1").Spec.Withheld).To(BeEmpty())
		},
		Entry("two others have its path", createOthers(file("other", "/bad"), file("third", "/bad", on("web"))),
			"Conflict", `path "/bad" is also claimed by File/other, File/third on the same node`),
		Entry("it requires a missing resource", edit(requires("Package/none")),
			"MissingReference", "require names Package/none, which does not exist"),
		Entry("it requires a resource on other nodes", edit(requires("File/far")),
			"MissingReference", "require names File/far, which does not apply to the same node: see its nodeSelector and when"),
		Entry("it is part of a cycle", sequence(createOthers(file("two", "/2", on("web"), requires("File/bad")), file("three", "/3", on("web"), requires("File/two"))), edit(requires("File/three"))),
			"DependencyCycle", "File/bad -> File/two -> File/three -> File/bad is a cycle"),
		Entry("it requires a resource that cannot be applied", sequence(createOthers(file("x", "/x", on("web")), file("y", "/x", on("web"))), edit(requires("File/x"))),
			"DependsOnProblem", "waits for File/x, which is withheld: Conflict"),
		Entry("its template cannot be parsed", edit(fromTemplate("ok\n{{ if }}")),
			"InvalidTemplate", "cannot parse contentTemplate: line 2"),
		Entry("its template fails on a node", edit(fromTemplate("ok\n{{ .node.labels.rack }}")),
			"InvalidTemplate", "on node web-1: line 2", `no entry for key "rack"`),
		Entry("its when is not valid CEL", edit(when("true &&\nfact.x")),
			"InvalidWhen", "line 2, column 1: undeclared reference to 'fact'"),
		Entry("its when fails on a node", edit(when(`node.labels.rack == "7"`)),
			"InvalidWhen", "fails on node web-1: no such key: rack"),
		Entry("its ConfigMap is missing", edit(fromConfigMap("none", "x")),
			"MissingSource", `key "x" of ConfigMap default/none`),
		Entry("its ConfigMap has no such key", sequence(createOthers(configMap("motd", "text", "one")), edit(fromConfigMap("motd", "x"))),
			"MissingSource", `key "x" of ConfigMap default/motd`),
		Entry("its Secret is missing", edit(fromSecret("none", "x")),
			"UnexposedSecret", "Secret default/none, which does not exist or is not labelled"),
		Entry("its Secret is not labelled for nodes", sequence(createOthers(unexposedSecret("token", "text", "s3cret")), edit(fromSecret("token", "text"))),
			"UnexposedSecret", "Secret default/token, which does not exist or is not labelled fettle.dev/expose-to-nodes=true"),
		Entry("its Secret has no such key", sequence(createOthers(secret("token", "text", "s3cret")), edit(fromSecret("token", "x"))),
			"MissingSource", `key "x" of Secret default/token, which has no such key`),
		Entry("its Secret would go to nodes that can select themselves", sequence(createOthers(secret("token", "text", "s3cret")), edit(fromSecret("token", "text"),
			func(f *v1alpha1.File) { f.Spec.AcceptSelfLabelledNodes = false })),
			"UnprotectedTargeting", "acceptSelfLabelledNodes"),
		Entry("it is too large", sequence(createOthers(configMap("motd", "text", strings.Repeat("x", 600<<10))), edit(fromConfigMap("motd", "text"))),
			"TooLarge", "it takes 600 KiB, and a catalog has room for 512"),
		Entry("its rendering is too large", edit(fromTemplate(`{{ repeat 400 (repeat 1024 "x") }}`)),
			"TooLarge", "on node web-1: content is longer than 384 KiB"),
		Entry("others on the node exceed the size limit", sequence(
			createOthers(secret("big", "text", strings.Repeat("x", 300<<10)), file("aaa", "/aaa", on("web"), fromSecret("big", "text"))), edit(fromSecret("big", "text"))),
			"TooLarge", "its 401 KiB exceed the remaining 110 of 512 KiB for the own entries of node web-1; File/aaa takes the most, 401 KiB"),
		Entry("its type rejects it", edit(func(f *v1alpha1.File) { f.Spec.Audit = []string{"colour"} }),
			"InvalidSpec", "colour"),
	)

	It("is named by each conflicting resource until one is left", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), file("a", "/same"), file("b", "/same"), file("c", "/same"))
		w.reconcile(ctx)
		for name, others := range map[string]string{"a": "File/b, File/c", "b": "File/a, File/c", "c": "File/a, File/b"} {
			Expect(messageOf(ctx, name, "Conflict")).To(ContainSubstring("is also claimed by " + others + " on"))
		}
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(messageOf(ctx, "b", "Conflict")).To(ContainSubstring("is also claimed by File/c on"))
		Expect(k8s.Delete(ctx, file("c", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "b")).To(Equal([]string{"Ready=False Applying", "Reconciling=True Applying", "Stalled=False Settled"}))
	})
})
