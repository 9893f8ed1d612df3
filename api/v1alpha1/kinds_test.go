package v1alpha1_test

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

var _ = Describe("The kinds", func() {
	It("have short names, and the category fettle", func() {
		d, err := discovery.NewDiscoveryClientForConfig(restConfig)
		Expect(err).NotTo(HaveOccurred())
		list, err := d.ServerResourcesForGroupVersion("fettle.dev/v1alpha1")
		Expect(err).NotTo(HaveOccurred())

		short := map[string][]string{}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			short[r.Kind] = r.ShortNames
			Expect(r.Categories).To(Equal([]string{"fettle"}), r.Kind)
			Expect(r.Namespaced).To(BeFalse(), r.Kind)
		}
		for kind, want := range map[string][]string{
			"File": {"ffile"}, "Package": {"fpkg"}, "User": {"fuser"}, "Group": {"fgroup"}, "SystemService": {"fsvc"},
			"NodeCatalog": {"nc"}, "Catalog": {"fcat"},
		} {
			Expect(short).To(HaveKeyWithValue(kind, want))
		}
	})
})

// printed returns the rows that kubectl get -o wide prints for an object, headers first.
func printed(ctx SpecContext, resource, name string) [][]any {
	GinkgoHelper()
	k, err := kubernetes.NewForConfig(restConfig)
	Expect(err).NotTo(HaveOccurred())
	raw, err := k.RESTClient().Get().AbsPath("/apis/fettle.dev/v1alpha1", resource, name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
	Expect(err).NotTo(HaveOccurred())
	var table metav1.Table
	Expect(json.Unmarshal(raw, &table)).To(Succeed())

	var heads []any
	for _, c := range table.ColumnDefinitions {
		head := c.Name
		if c.Priority > 0 {
			head += " (wide)"
		}
		heads = append(heads, head)
	}
	Expect(table.Rows).To(HaveLen(1))
	cells := table.Rows[0].Cells
	if age := slices.Index(heads, any("Age")); age >= 0 {
		Expect(cells[age]).To(MatchRegexp(`^[0-9]+s$`))
		cells[age] = "0s" // how long the test took so far means nothing
	}
	return [][]any{heads, cells}
}

var _ = Describe("The output of kubectl get", func() {
	DescribeTable("counts the nodes of a resource by state",
		func(ctx SpecContext, resources, manifest, namevar string, cells []any) {
			o := object(manifest)
			removed(o)
			Expect(k8s.Create(ctx, o)).To(Succeed())
			o.Object["status"] = map[string]any{
				"observedGeneration": 1,
				"nodes":              map[string]any{"selected": 33, "inSync": 1, "pending": 2, "failed": 4, "skipped": 5, "noop": 6, "disabled": 7, "unknown": 8, "outOfSync": 9},
				"drift":              map[string]any{"nodes": 1, "count": 3, "uncorrected": 0, "lastSeen": time.Now().Add(-3 * time.Hour).UTC().Format(time.RFC3339)},
				"conditions": []any{map[string]any{
					"type": "Ready", "status": "False", "reason": "Failed", "message": "2 of 5 nodes in sync", "lastTransitionTime": time.Now().Format(time.RFC3339),
				}},
			}
			Expect(k8s.Status().Update(ctx, o)).To(Succeed())

			Expect(printed(ctx, resources, "web")).To(Equal([][]any{
				{"Name", "Ensure", "Nodes", "InSync", "Pending", "Failed", "Skipped", "Noop", "Disabled", "Unknown", "Ready", "Reason", "Last drift", "Age", namevar + " (wide)", "OutOfSync (wide)", "Message (wide)"}, cells,
			}))
		},
		Entry("a File", "files", "{apiVersion: fettle.dev/v1alpha1, kind: File, metadata: {name: web}, spec: {nodeSelector: {}, path: /etc/web, ensure: file}}",
			"Path", row("file", "/etc/web")),
		Entry("a Package", "packages", "{apiVersion: fettle.dev/v1alpha1, kind: Package, metadata: {name: web}, spec: {nodeSelector: {}, name: nginx, ensure: latest}}",
			"Package", row("latest", "nginx")),
		Entry("a User", "users", "{apiVersion: fettle.dev/v1alpha1, kind: User, metadata: {name: web}, spec: {nodeSelector: {}, name: ann, ensure: present}}",
			"User", row("present", "ann")),
		Entry("a Group that is named as its object", "groups", "{apiVersion: fettle.dev/v1alpha1, kind: Group, metadata: {name: web}, spec: {nodeSelector: {}}}",
			"Group", row(nil, nil)),
		Entry("a SystemService", "systemservices", "{apiVersion: fettle.dev/v1alpha1, kind: SystemService, metadata: {name: web}, spec: {nodeSelector: {}, name: nginx, ensure: running}}",
			"Service", row("running", "nginx")),
	)

	It("shows the result of the last run of a NodeCatalog", func(ctx SpecContext) {
		nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{
			Name: "web-1", Annotations: map[string]string{v1alpha1.AnnotationSilentSince: time.Now().Add(-4 * time.Hour).UTC().Format(time.RFC3339)},
		}}
		nc.Spec.Held = &v1alpha1.Held{Since: metav1.NewTime(time.Now().Add(-5 * time.Hour)), Resources: []v1alpha1.ResourceRef{"File/motd"}}
		removed(nc)
		Expect(k8s.Create(ctx, nc)).To(Succeed())
		nc.Status = v1alpha1.NodeCatalogStatus{
			AgentVersion: "v1.2.3",
			LastRun:      &v1alpha1.LastRun{Started: metav1.Now(), Duration: "0.021s", Trigger: v1alpha1.TriggerStart},
			Counts:       &v1alpha1.RunCounts{Total: 10, InSync: 3, Changed: 2, OutOfSync: 4, Failed: 1, Withheld: 5, Noop: 1},
			Drift:        []v1alpha1.DriftRecord{{Ref: "File/motd", FirstSeen: metav1.Now(), LastSeen: metav1.NewTime(time.Now().Add(-3 * time.Hour)), Count: 1}},
			Conditions: []metav1.Condition{{
				Type: "Ready", Status: metav1.ConditionFalse, Reason: "Failed", Message: "File/motd failed", LastTransitionTime: metav1.Now(),
			}},
		}
		Expect(k8s.Status().Update(ctx, nc)).To(Succeed())

		rows := printed(ctx, "nodecatalogs", "web-1")
		Expect(rows).To(Equal([][]any{
			{"Name", "Node", "InSync", "Changed", "OutOfSync", "Failed", "Withheld", "Noop", "Last run", "Last drift", "Agent", "Ready", "Reason", "Held", "Silent", "Message (wide)"},
			{"web-1", "web-1", 3.0, 2.0, 4.0, 1.0, 5.0, 1.0, rows[1][8], "3h", "v1.2.3", "False", "Failed", "5h", "4h", "File/motd failed"},
		}))
		Expect(rows[1][8]).To(MatchRegexp(`^\d+s$`))
	})

	It("shows the fleet in one row", func(ctx SpecContext) {
		f := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}
		removed(f)
		Expect(k8s.Create(ctx, f)).To(Succeed())
		f.Status = v1alpha1.FleetStatus{
			Updated:   new(metav1.NewTime(time.Now().Add(-15 * time.Minute))),
			Nodes:     v1alpha1.FleetNodes{Total: 36, InSync: 1, Pending: 2, OutOfSync: 3, Failed: 4, Disabled: 5, Silent: 6, Held: 7, Withheld: 8, Waiting: 9},
			Resources: v1alpha1.FleetResources{Total: 9, Ready: 6, Reconciling: 1, Stalled: 2},
			Drift:     v1alpha1.FleetDrift{Resources: 1, Nodes: 8, Count: 10, Uncorrected: 11},
			History:   []v1alpha1.FleetHour{{Hour: metav1.NewTime(time.Now().Truncate(time.Hour)), InSync: 28}},
		}
		Expect(k8s.Status().Update(ctx, f)).To(Succeed())
		Expect(printed(ctx, "fleets", "fleet")).To(Equal([][]any{
			{"Name", "Nodes", "InSync", "Pending", "Held", "OutOfSync", "Failed", "Withheld", "Disabled", "Silent", "Waiting", "Drifted", "Uncorrected", "Resources", "Ready", "Reconciling", "Stalled", "NotReady", "Updated"},
			{"fleet", 36.0, 1.0, 2.0, 7.0, 3.0, 4.0, 8.0, 5.0, 6.0, 9.0, 8.0, 11.0, 9.0, 6.0, 1.0, 2.0, 0.0, "15m"},
		}))
	})

	It("knows one Fleet", func(ctx SpecContext) {
		Expect(k8s.Create(ctx, &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: "other"}})).To(MatchError(ContainSubstring("the only Fleet is named fleet, and the manager creates it")))
	})
})

// row returns the row of a resource whose status the specification has set.
func row(ensure, namevar any) []any {
	return []any{"web", ensure, 33.0, 1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0, "False", "Failed", "3h", "0s", namevar, 9.0, "2 of 5 nodes in sync"}
}

var _ = Describe("The status of a NodeCatalog", func() {
	It("names generated objects by their names on the host", func(ctx SpecContext) {
		nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{
			Name: "web-1", Annotations: map[string]string{v1alpha1.AnnotationSilentSince: time.Now().Add(-4 * time.Hour).UTC().Format(time.RFC3339)},
		}}
		removed(nc)
		Expect(k8s.Create(ctx, nc)).To(Succeed())
		nc.Status.Resources = []v1alpha1.ResourceReport{
			{Ref: "File/motd", State: v1alpha1.StateFailed},
			{Ref: "File//srv/WWW/a b_c.html", State: v1alpha1.StateFailed},
			{Ref: v1alpha1.ReportedRef("File//" + strings.Repeat("d/", 2047)), State: v1alpha1.StateFailed},
		}
		Expect(k8s.Status().Update(ctx, nc)).To(Succeed())
	})
})

var _ = Describe("The status of a resource", func() {
	It("is a subresource: status and spec cannot be written together", func(ctx SpecContext) {
		f := &v1alpha1.File{
			ObjectMeta: metav1.ObjectMeta{Name: "motd"},
			Spec:       v1alpha1.FileSpec{Targeting: v1alpha1.Targeting{NodeSelector: &metav1.LabelSelector{}}, FileAttributes: v1alpha1.FileAttributes{Path: "/etc/motd"}},
			Status:     v1alpha1.ResourceStatus{ObservedGeneration: 7},
		}
		removed(f)
		Expect(k8s.Create(ctx, f)).To(Succeed())
		Expect(f.Status).To(Equal(v1alpha1.ResourceStatus{ObservedGeneration: -1}))

		f.Spec.Path = "/etc/other"
		f.Status.ObservedGeneration = 1
		Expect(k8s.Status().Update(ctx, f)).To(Succeed())
		Expect(f.Spec.Path).To(Equal("/etc/motd"))
		Expect(f.Status.ObservedGeneration).To(Equal(int64(1)))
		Expect(f.Generation).To(Equal(int64(1)))
	})
})

var _ = Describe("A Catalog", func() {
	name := "sha256-" + strings.Repeat("0123456789abcdef", 4)

	It("is immutable except for its labels", func(ctx SpecContext) {
		c := &v1alpha1.Catalog{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Count:      1,
			Entries:    []v1alpha1.CatalogEntry{{Kind: "File", Name: "motd"}},
		}
		removed(c)
		Expect(k8s.Create(ctx, c)).To(Succeed())
		c.Labels = map[string]string{"a": "b"}
		Expect(k8s.Update(ctx, c)).To(Succeed())

		const immutable = "entries are immutable: create another Catalog, named after the hash of its entries"
		for _, entries := range [][]v1alpha1.CatalogEntry{{}, {{Kind: "File", Name: "other"}}, {{Kind: "File", Name: "motd"}, {Kind: "File", Name: "other"}}} {
			changed := c.DeepCopy()
			changed.Entries = entries
			Expect(k8s.Update(ctx, changed)).To(MatchError(ContainSubstring(immutable)))
			Expect(k8s.Patch(ctx, changed, client.MergeFrom(c))).To(MatchError(ContainSubstring(immutable)))
		}
	})

	It("preserves attributes that the API server does not know", func(ctx SpecContext) {
		o := object("{apiVersion: fettle.dev/v1alpha1, kind: Catalog, metadata: {name: " + name + "}, entries: [{kind: Sysctl, name: a, attributes: {deep: {er: [1]}}}]}")
		removed(o)
		Expect(k8s.Create(ctx, o)).To(Succeed())
		var kept v1alpha1.Catalog
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), &kept)).To(Succeed())
		Expect(kept.Entries[0].Attributes.Raw).To(MatchJSON(`{"deep": {"er": [1]}}`))
	})
})

var _ = Describe("An object without a status", func() {
	for _, file := range files(samples) {
		It("is not Current for kstatus: "+strings.TrimPrefix(file, samples+"/"), func(ctx SpecContext) {
			for _, o := range objects(file) {
				if o.GroupVersionKind().Group != v1alpha1.GroupVersion.Group {
					continue
				}
				removed(o)
				Expect(apply(ctx, o)).To(Succeed())
				Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
				is, err := status.Compute(o)
				Expect(err).NotTo(HaveOccurred())
				Expect(is.Status).To(Equal(status.InProgressStatus), is.Message)
			}
		})
	}

	It("is not Current if it is a NodeCatalog", func(ctx SpecContext) {
		o := object("{apiVersion: fettle.dev/v1alpha1, kind: NodeCatalog, metadata: {name: web-1}}")
		removed(o)
		Expect(k8s.Create(ctx, o)).To(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		is, err := status.Compute(o)
		Expect(err).NotTo(HaveOccurred())
		Expect(is.Status).To(Equal(status.InProgressStatus), is.Message)
	})
})
