package controllers_test

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// zonesOf returns the ttl of a zone on each node that has it, and the type of the entry, as `n1 {"name":"example","ttl":100} dnszones@...`.
func zonesOf(ctx context.Context, zone string, nodes ...string) (all []string) {
	GinkgoHelper()
	for _, name := range nodes {
		nc := nodeCatalog(ctx, NewWithT(GinkgoT()), name)
		entries := slices.Clone(nc.Spec.Entries)
		for _, ref := range nc.Spec.Catalogs {
			var c v1alpha1.Catalog
			Expect(k8s.Get(ctx, client.ObjectKey{Name: ref.Name}, &c)).To(Succeed())
			entries = append(entries, c.Entries...)
		}
		for _, e := range entries {
			if e.Name == zone {
				all = append(all, name+" "+string(e.Attributes.Raw)+" "+e.Type)
			}
		}
	}
	return all
}

// patchZone merges a patch into a zone.
func patchZone(ctx context.Context, name, patch string) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, zone(name, "{}"), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// newZones returns a fleet in sync of three nodes with a policy and a zone on every node, whose type may be adjusted.
func newZones(ctx context.Context, adjust ...func(*v1alpha1.ExternalTypeSpec)) *rolloutFleet {
	GinkgoHelper()
	f := &rolloutFleet{fixture: newFixture(withLease(longLease)), nodes: []string{"n1", "n2", "n3"}}
	createDefinition(ctx, zoneDefinition(adjust...))
	create(ctx, zoneType(adjust...))
	createNodesWithAgents(ctx, f.fixture, "dns", f.nodes...)
	create(ctx, zone("example", `{"nodeSelector": {}, "properties": {"ttl": 1}}`))
	f.settle(ctx)
	create(ctx, rolloutPolicy("default", ""))
	f.settle(ctx)
	return f
}

// setProgram has the type run another program, which is another version of the type.
func setProgram(ctx context.Context, text string) {
	GinkgoHelper()
	var t v1alpha1.ExternalType
	Expect(k8s.Get(ctx, client.ObjectKey{Name: "dnszones"}, &t)).To(Succeed())
	t.Spec.Source.Files["main.py"] = text
	Expect(k8s.Update(ctx, &t)).To(Succeed())
}

// programOf returns the program in the definition that a NodeCatalog names for its only external type, which must be the one of its zone. It
// is "" if no rollout has changed the NodeCatalog.
func programOf(ctx context.Context, node string) string {
	GinkgoHelper()
	nc := nodeCatalog(ctx, NewWithT(GinkgoT()), node)
	if nc.Spec.Rollout == nil {
		return ""
	}
	Expect(nc.Spec.Rollout.Types).To(HaveLen(1))
	is := nc.Spec.Rollout.Types[0]
	Expect(zonesOf(ctx, "example", node)).To(ConsistOf(HaveSuffix(" " + is.Type)))
	var c v1alpha1.Catalog
	Expect(k8s.Get(ctx, client.ObjectKey{Name: is.Catalog}, &c)).To(Succeed())
	spec, err := catalog.TypeOf(is.Catalog, &c, "dnszones")
	Expect(err).NotTo(HaveOccurred())
	digest, err := definition.Digest(*spec)
	Expect(err).NotTo(HaveOccurred())
	Expect(is.Type).To(Equal("dnszones@" + digest))
	return spec.Source.Files["main.py"]
}

const firstProgram, anotherProgram = "#!/usr/bin/python3\n", "#!/usr/bin/python3\n# another one\n"

var _ = Describe("A rollout of external types", func() {
	It("gives nodes the definition of their own version of a type, also nodes that join", func(ctx SpecContext) {
		f := newZones(ctx)
		setProgram(ctx, anotherProgram)
		programs := func(nodes ...string) (all []string) {
			for _, name := range nodes {
				all = append(all, programOf(ctx, name))
			}
			return all
		}
		f.until(ctx, func() bool { return slices.Contains(programs(f.nodes...), anotherProgram) })
		Expect(programs(f.nodes...)).To(ConsistOf("", "", anotherProgram))
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Paused = true })
		f.nodes = append(f.nodes, "n4")
		createNodesWithAgents(ctx, f.fixture, "dns", "n4")
		Expect(programOf(ctx, "n4")).To(Equal(firstProgram))

		for range 5 { // nothing collects what nodes need
			f.step(ctx, time.Hour)
		}
		f.fixture = startFixture(f.clock, f.events, withLease(longLease)) // another manager reads the revisions
		f.settle(ctx)
		f.nodes = append(f.nodes, "n5")
		createNodesWithAgents(ctx, f.fixture, "dns", "n5")
		Expect(programs(f.nodes...)).To(ConsistOf("", "", anotherProgram, firstProgram, firstProgram))
	})

	It("gives nodes the former definition of a type when they go back", func(ctx SpecContext) {
		f := newZones(ctx)
		former := policyStatus(ctx, "default").Stable
		setProgram(ctx, anotherProgram)
		f.step(ctx, 30*time.Second)
		f.until(ctx, func() bool { return policyReady(ctx, "default") == "True RolledOut" })
		for _, name := range f.nodes {
			Expect(programOf(ctx, name)).To(Equal(anotherProgram))
		}
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Revision = former })
		f.settle(ctx)
		for range 5 {
			f.step(ctx, time.Hour)
		}
		for _, name := range f.nodes {
			Expect(programOf(ctx, name)).To(Equal(firstProgram))
		}
	})

	It("changes what a resource of a Remote type describes when its acting node is admitted", func(ctx SpecContext) {
		f := newZones(ctx, withRemoteScope)
		before := zonesOf(ctx, "example", f.nodes...)
		Expect(before).To(HaveLen(1))
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Paused = true })
		patchZone(ctx, "example", `{"spec":{"properties":{"ttl":2}}}`)
		for range 5 {
			f.step(ctx, 30*time.Second)
			Expect(zonesOf(ctx, "example", f.nodes...)).To(Equal(before))
		}
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Paused = false })
		f.until(ctx, func() bool {
			Expect(zonesOf(ctx, "example", f.nodes...)).To(HaveLen(1))
			return policyReady(ctx, "default") == "True RolledOut"
		})
		Expect(zonesOf(ctx, "example", f.nodes...)[0]).To(And(ContainSubstring(`"ttl":2`), HavePrefix(strings.Fields(before[0])[0])))
	})

	It("has one acting node at a time when that moves during the rollout", func(ctx SpecContext) {
		f := newZones(ctx, withRemoteScope)
		acting := strings.Fields(zonesOf(ctx, "example", f.nodes...)[0])[0]
		patchZone(ctx, "example", `{"spec":{"properties":{"ttl":2}}}`)
		f.step(ctx, 10*time.Second)
		disable := func(s *v1alpha1.NodeCatalogStatus) {
			s.Conditions[0].Status, s.Conditions[0].Reason = "False", v1alpha1.ReasonDisabled
		}
		setStatus(ctx, acting, disable)
		for range 20 {
			f.reconcileAfter(ctx, 30*time.Second)
			for _, name := range f.nodes {
				if reportApplied(ctx, name); name == acting {
					setStatus(ctx, name, disable)
				}
			}
			Expect(len(zonesOf(ctx, "example", f.nodes...))).To(BeNumerically("<=", 1))
		}
		Expect(zonesOf(ctx, "example", f.nodes...)).To(HaveLen(1))
		Expect(zonesOf(ctx, "example", f.nodes...)[0]).NotTo(HavePrefix(acting))
	})

	It("brings another version of a type to one node first", func(ctx SpecContext) {
		f := newZones(ctx)
		before := zonesOf(ctx, "example", f.nodes...)
		Expect(before).To(HaveLen(3))
		setProgram(ctx, anotherProgram)
		changed := func() (n int) {
			for i, is := range zonesOf(ctx, "example", f.nodes...) {
				if is != before[i] {
					n++
				}
			}
			return n
		}
		var seen []int
		for range 40 {
			f.step(ctx, 30*time.Second)
			if n := changed(); len(seen) == 0 || seen[len(seen)-1] != n {
				seen = append(seen, n)
			}
		}
		Expect(seen).To(HaveExactElements(0, 1, 2, 3))
	})
})
