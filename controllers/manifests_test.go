package controllers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/crd"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// buildManifests builds a folder of config/ with kustomize.
func buildManifests(ctx SpecContext, folder string) []*unstructured.Unstructured {
	GinkgoHelper()
	assets, err := controlplane.Assets()
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(ctx, filepath.Join(assets, "kubectl"), "kustomize", filepath.Join("../config", folder))
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), problem.String())
	return decode(out)
}

// decode returns the objects of a YAML stream.
func decode(text []byte) []*unstructured.Unstructured {
	GinkgoHelper()
	var all []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(o); errors.Is(err, io.EOF) {
			return all
		} else {
			Expect(err).NotTo(HaveOccurred())
		}
		all = append(all, o)
	}
}

// rights returns what roles allow an account, one line per resource: verbs, group and resource.
func rights(manifests []*unstructured.Unstructured, account string) []string {
	GinkgoHelper()
	roles := map[string]rbacv1.ClusterRole{}
	var bindings []rbacv1.RoleBinding
	for _, o := range manifests {
		from := runtime.DefaultUnstructuredConverter.FromUnstructured
		switch o.GetKind() {
		case "Role", "ClusterRole":
			var role rbacv1.ClusterRole
			Expect(from(o.Object, &role)).To(Succeed())
			roles[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = role
		case "RoleBinding", "ClusterRoleBinding":
			var binding rbacv1.RoleBinding
			Expect(from(o.Object, &binding)).To(Succeed())
			bindings = append(bindings, binding)
		}
	}
	var all []string
	for _, b := range bindings {
		if !slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Kind == "ServiceAccount" && s.Name == account }) {
			continue
		}
		namespace := b.Namespace
		if b.RoleRef.Kind == "ClusterRole" {
			namespace = ""
		}
		role, found := roles[b.RoleRef.Kind+" "+namespace+"/"+b.RoleRef.Name]
		Expect(found).To(BeTrue(), b.Name)
		all = append(all, rulesOf(role, b.Namespace)...)
	}
	return all
}

// rulesOf returns the rules of a role that is bound in a namespace; "" is the whole cluster.
func rulesOf(role rbacv1.ClusterRole, namespace string) []string {
	GinkgoHelper()
	Expect(role.AggregationRule).To(BeNil(), role.Name)
	var all []string
	for _, rule := range role.Rules {
		Expect(rule.NonResourceURLs).To(BeEmpty(), role.Name)
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				right := strings.Join(sorted(rule.Verbs), " ") + " " + group + "/" + resource
				if namespace != "" {
					right += " in " + namespace
				}
				if len(rule.ResourceNames) == 0 {
					all = append(all, right)
				}
				for _, name := range rule.ResourceNames {
					all = append(all, right+" named "+name)
				}
			}
		}
	}
	return all
}

func sorted(verbs []string) []string { return slices.Sorted(slices.Values(verbs)) }

// impersonating returns the configuration of a client that impersonates one of our service accounts.
func impersonating(account string) *rest.Config { return impersonatingIn(restConfig, account) }

// impersonatingIn is impersonating for another cluster.
func impersonatingIn(admin *rest.Config, account string) *rest.Config {
	namespace := map[string]string{"fettle-manager": "fettle-system", "fettle-nodeagent": "fettle-nodes"}[account]
	cfg := rest.CopyConfig(admin)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + account,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	return cfg
}

func kindsRole() client.Object {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "fettle-manager-kinds"}}
}

var _ = Describe("The manifests", func() {
	It("are accepted by an API server with strict field validation", func(ctx SpecContext) {
		all := buildManifests(ctx, "default")
		strict := client.WithFieldValidation(k8s, metav1.FieldValidationStrict)
		kinds := map[string]int{}
		for _, o := range all {
			kinds[o.GetKind()]++
			Expect(strict.Patch(ctx, o, client.Apply, client.DryRunAll, client.ForceOwnership, client.FieldOwner("test"))).To(Succeed(), o.GetName()) //nolint:staticcheck // an unstructured object is what is at hand
		}
		Expect(kinds).To(And(HaveKeyWithValue("Deployment", 1), HaveKeyWithValue("DaemonSet", 1), HaveKeyWithValue("ServiceAccount", 2)))
	})

	DescribeTable("allow what manager and agent need",
		func(ctx SpecContext, account, verb, resource string, allowed bool) {
			namespace, resource, found := strings.Cut(resource, " ")
			if !found {
				namespace, resource = "kube-system", namespace
			}
			resource, subresource, _ := strings.Cut(resource, "/")
			group, resource, found := strings.Cut(resource, ":")
			if !found {
				group, resource = "fettle.dev", group
			}
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Group: group, Verb: verb, Resource: resource, Subresource: subresource, Namespace: namespace},
			}}
			client, err := client.New(impersonating(account), client.Options{Scheme: scheme})
			Expect(err).NotTo(HaveOccurred())
			Expect(client.Create(ctx, review)).To(Succeed())
			Expect(review.Status.Allowed).To(Equal(allowed))
		},
		func(account, verb, resource string, allowed bool) string {
			return fmt.Sprintf("%s may %s %s: %t", account, verb, resource, allowed)
		},
		Entry(nil, "fettle-nodeagent", "watch", "nodecatalogs", true),
		Entry(nil, "fettle-nodeagent", "patch", "nodecatalogs/status", true),
		Entry(nil, "fettle-nodeagent", "get", "nodecatalogs", false),
		Entry(nil, "fettle-nodeagent", "update", "nodecatalogs/status", false),
		Entry(nil, "fettle-nodeagent", "patch", "nodecatalogs", false),
		Entry(nil, "fettle-nodeagent", "delete", "nodecatalogs", false),
		Entry(nil, "fettle-nodeagent", "get", "catalogs", true),
		Entry(nil, "fettle-nodeagent", "list", "catalogs", false),
		Entry(nil, "fettle-nodeagent", "create", "catalogs", false),
		Entry(nil, "fettle-nodeagent", "get", "files", false),
		Entry(nil, "fettle-nodeagent", "patch", "files/status", false),
		Entry(nil, "fettle-nodeagent", "get", ":secrets", false),
		Entry(nil, "fettle-nodeagent", "patch", "fettle-nodes coordination.k8s.io:leases", true),
		Entry(nil, "fettle-nodeagent", "get", "fettle-nodes coordination.k8s.io:leases", false),
		Entry(nil, "fettle-nodeagent", "create", "fettle-nodes coordination.k8s.io:leases", false),
		Entry(nil, "fettle-nodeagent", "patch", "kube-node-lease coordination.k8s.io:leases", false),
		Entry(nil, "fettle-nodeagent", "create", "fettle-nodes :pods", false),
		Entry(nil, "fettle-manager", "patch", "nodecatalogs", true),
		Entry(nil, "fettle-manager", "patch", "nodecatalogs/status", false),
		Entry(nil, "fettle-manager", "patch", "catalogs", false),
		Entry(nil, "fettle-manager", "watch", "files", true),
		Entry(nil, "fettle-manager", "patch", "files/status", true),
		Entry(nil, "fettle-manager", "patch", "files", true), // of which a policy leaves one finalizer
		Entry(nil, "fettle-manager", "update", "files", false),
		Entry(nil, "fettle-manager", "delete", "files", false),
		Entry(nil, "fettle-manager", "watch", ":configmaps", true),
		Entry(nil, "fettle-manager", "update", ":configmaps", false),
		Entry(nil, "fettle-manager", "patch", ":nodes", false),
		Entry(nil, "fettle-manager", "get", ":secrets", false),
		Entry(nil, "fettle-manager", "create", "fettle-nodes coordination.k8s.io:leases", true),
		Entry(nil, "fettle-manager", "delete", "fettle-nodes coordination.k8s.io:leases", false),
		Entry(nil, "fettle-manager", "patch", "kube-node-lease coordination.k8s.io:leases", false),
		Entry(nil, "fettle-manager", "watch", ":secrets", true),
		Entry(nil, "fettle-manager", "patch", ":secrets", false),
		Entry(nil, "fettle-manager", "list", "admissionregistration.k8s.io:validatingadmissionpolicybindings", true),
		Entry(nil, "fettle-manager", "patch", "admissionregistration.k8s.io:validatingadmissionpolicies", false),
		Entry(nil, "fettle-manager", "watch", "apiextensions.k8s.io:customresourcedefinitions", true),
		Entry(nil, "fettle-manager", "patch", "apiextensions.k8s.io:customresourcedefinitions", false),
		Entry(nil, "fettle-manager", "create", "apiextensions.k8s.io:customresourcedefinitions", false),
		Entry(nil, "fettle-manager", "create", "events.k8s.io:events", false), // but in the namespace default
		Entry(nil, "fettle-manager", "watch", "externaltypes", true),
		Entry(nil, "fettle-manager", "patch", "externaltypes", false),
		Entry(nil, "fettle-manager", "patch", "externaltypes/status", true),
		Entry(nil, "fettle-manager", "watch", "types.fettle.dev:dnszones", true),
		Entry(nil, "fettle-manager", "patch", "types.fettle.dev:dnszones", true), // of which a policy leaves one finalizer
		Entry(nil, "fettle-manager", "patch", "types.fettle.dev:dnszones/status", true),
		Entry(nil, "fettle-manager", "delete", "types.fettle.dev:dnszones", false),
		Entry(nil, "fettle-nodeagent", "get", "externaltypes", true),
		Entry(nil, "fettle-nodeagent", "list", "externaltypes", false),
		Entry(nil, "fettle-nodeagent", "patch", "externaltypes", false),
		Entry(nil, "fettle-nodeagent", "get", "types.fettle.dev:dnszones", false),
	)

	It("grant manager and agent exactly these rights", func(ctx SpecContext) {
		all := buildManifests(ctx, "default")
		Expect(rights(all, "fettle-nodeagent")).To(ConsistOf(
			"list watch fettle.dev/nodecatalogs", "patch fettle.dev/nodecatalogs/status", "get fettle.dev/catalogs", "get fettle.dev/externaltypes",
			"patch coordination.k8s.io/leases in fettle-nodes",
			"create /serviceaccounts/token in fettle-nodes named fettle-nodeagent",
		))
		kinds := regexp.MustCompile(` fettle\.dev/(\w+s)(/status)?$`)
		isKind := func(right string) bool {
			m := kinds.FindStringSubmatch(right)
			return m != nil && !slices.Contains([]string{"catalogs", "catalogrevisions", "nodecatalogs", "externaltypes", "fleets", "rolloutpolicies"}, m[1])
		}
		manager := rights(all, "fettle-manager")
		Expect(slices.DeleteFunc(slices.Clone(manager), isKind)).To(ConsistOf(
			"create list patch watch fettle.dev/nodecatalogs", "create delete get list watch fettle.dev/catalogs",
			"create delete list watch fettle.dev/catalogrevisions", "create list watch fettle.dev/rolloutpolicies", "update fettle.dev/rolloutpolicies/status",
			"create list watch fettle.dev/fleets", "patch fettle.dev/fleets/status",
			"list watch fettle.dev/externaltypes", "patch fettle.dev/externaltypes/status",
			"list patch watch types.fettle.dev/*", "get list watch apiextensions.k8s.io/customresourcedefinitions",
			"list watch /nodes", "get list watch /configmaps", "list watch /secrets",
			"list admissionregistration.k8s.io/validatingadmissionpolicies", "list admissionregistration.k8s.io/validatingadmissionpolicybindings",
			"create authentication.k8s.io/tokenreviews", "create authorization.k8s.io/subjectaccessreviews",
			"create patch events.k8s.io/events in default",
			"create patch events.k8s.io/events in fettle-system", "create patch /events in fettle-system",
			"create coordination.k8s.io/leases in fettle-system", "get patch update coordination.k8s.io/leases in fettle-system named fettle-manager",
			"create list patch watch coordination.k8s.io/leases in fettle-nodes",
			// To protect itself from being deleted before it has released its finalizers:
			"get patch /serviceaccounts named fettle-manager",
			"get patch rbac.authorization.k8s.io/clusterroles named fettle-manager-kinds", "get patch rbac.authorization.k8s.io/clusterrolebindings named fettle-manager-kinds",
			"get patch rbac.authorization.k8s.io/roles named fettle-manager", "get patch rbac.authorization.k8s.io/rolebindings named fettle-manager",
		))
		for _, right := range slices.DeleteFunc(manager, func(r string) bool { return !isKind(r) }) {
			Expect(right).To(MatchRegexp(`^(list patch watch fettle\.dev/\w+|patch fettle\.dev/\w+/status)$`))
		}
	})

	It("grant exactly these further rights with config/reports and config/openreports", func(ctx SpecContext) {
		all := buildManifests(ctx, "reports")
		ofKubernetes := func(o *unstructured.Unstructured) bool { return o.GetKind() == "RoleBinding" }
		for _, o := range all {
			if ofKubernetes(o) {
				role, _, err := unstructured.NestedString(o.Object, "roleRef", "name")
				Expect(err).NotTo(HaveOccurred())
				Expect(o.GetNamespace() + "/" + role).To(Equal("kube-system/extension-apiserver-authentication-reader"))
			}
		}
		all = slices.DeleteFunc(all, ofKubernetes)
		Expect(rights(all, "fettle-manager")).To(ConsistOf(
			"get patch apiregistration.k8s.io/apiservices named v1alpha1.reports.fettle.dev", "create authorization.k8s.io/subjectaccessreviews",
		))
		Expect(rights(all, "fettle-nodeagent")).To(ConsistOf(
			"list watch reports.fettle.dev/nodequestions", "create reports.fettle.dev/nodequestions/attach", "create reports.fettle.dev/nodeanswers",
		))
		raw, err := os.ReadFile("../config/openreports/rbac.yaml")
		Expect(err).NotTo(HaveOccurred())
		all = decode(raw)
		Expect(rights(all, "fettle-manager")).To(ConsistOf("create list patch openreports.io/clusterreports"))
		Expect(rights(all, "fettle-nodeagent")).To(BeEmpty())
	})

	DescribeTable("let the manager change one finalizer of resources only",
		func(ctx SpecContext, change func(*v1alpha1.File), allowed bool) {
			deferCleanUp()
			f := file("a", "/a")
			f.Finalizers = []string{"example.com/mine"}
			create(ctx, f)
			manager, err := client.New(impersonating("fettle-manager"), client.Options{Scheme: scheme})
			Expect(err).NotTo(HaveOccurred())
			before := f.DeepCopy()
			change(f)
			try := func() error { return manager.Patch(ctx, f.DeepCopy(), client.MergeFrom(before)) }
			if allowed {
				Expect(try()).To(Succeed())
				return
			}
			Eventually(ctx, try).Should(MatchError(ContainSubstring( // a policy takes a moment to be in force
				"the manager may change the finalizer fettle.dev/cleanup of files.fettle.dev a, and nothing else")))
		},
		Entry("its own", func(f *v1alpha1.File) { f.Finalizers = append(f.Finalizers, v1alpha1.FinalizerCleanup) }, true),
		Entry("not the finalizer of another owner", func(f *v1alpha1.File) { f.Finalizers = []string{v1alpha1.FinalizerCleanup} }, false),
		Entry("not the spec", func(f *v1alpha1.File) { f.Spec.Content = new("mine") }, false),
		Entry("not a label", func(f *v1alpha1.File) { f.Labels = map[string]string{"a": "b"} }, false),
		Entry("not an annotation", func(f *v1alpha1.File) { f.Annotations = map[string]string{v1alpha1.AnnotationAbandonCleanup: "true"} }, false),
	)

	DescribeTable("let the manager change one finalizer of its own permissions only",
		func(ctx SpecContext, o client.Object, patch string, allowed bool) {
			manager, err := client.New(impersonating("fettle-manager"), client.Options{Scheme: scheme})
			Expect(err).NotTo(HaveOccurred())
			try := func() error {
				return manager.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
			}
			if allowed {
				Expect(try()).To(Succeed())
				return
			}
			Eventually(ctx, try).Should(MatchError(ContainSubstring("the manager may change the finalizer fettle.dev/uninstall of ")))
		},
		Entry("of its role", kindsRole(), `{"metadata":{"finalizers":["fettle.dev/uninstall"]}}`, true),
		Entry("not another finalizer", kindsRole(), `{"metadata":{"finalizers":["example.com/mine"]}}`, false),
		Entry("not the rules of its role", kindsRole(), `{"rules":[]}`, false),
		Entry("not the subjects of its binding", &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "fettle-manager-kinds"}},
			`{"subjects":[{"kind":"ServiceAccount","name":"default","namespace":"default"}]}`, false),
		Entry("not the secrets of its ServiceAccount", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "fettle-system", Name: "fettle-manager"}},
			`{"imagePullSecrets":[{"name":"mine"}]}`, false),
	)

	It("let the manager write the status of every kind", func() {
		all, err := crd.All()
		Expect(err).NotTo(HaveOccurred())
		var want []string
		for _, c := range all {
			if slices.ContainsFunc(v1alpha1.Resources(), func(r v1alpha1.Resource) bool { return r.KindName() == c.Spec.Names.Kind }) {
				want = append(want, c.Spec.Names.Plural+"/status")
			}
		}
		raw, err := os.ReadFile("../config/rbac/manager_kinds.yaml")
		Expect(err).NotTo(HaveOccurred())
		var role rbacv1.ClusterRole
		Expect(yaml.Unmarshal(raw, &role)).To(Succeed())
		Expect(role.Rules[1].Resources).To(ConsistOf(want))
		Expect(want).To(HaveLen(len(v1alpha1.Resources())))
	})

	It("aggregate no role to edit or admin, and let only the manager list Secrets", func(ctx SpecContext) {
		optional, err := os.ReadFile("../config/openreports/rbac.yaml")
		Expect(err).NotTo(HaveOccurred())
		for _, o := range slices.Concat(buildManifests(ctx, "rbac"), buildManifests(ctx, "reports"), decode(optional)) {
			if !strings.Contains(o.GetKind(), "Role") && !strings.Contains(o.GetKind(), "Account") {
				continue
			}
			Expect(o.GetLabels()).To(BeEmpty(), o.GetName())
			rules, _, err := unstructured.NestedSlice(o.Object, "rules")
			Expect(err).NotTo(HaveOccurred())
			for _, rule := range rules {
				groups, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "apiGroups")
				resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
				if slices.Contains(resources, "secrets") {
					verbs, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "verbs")
					Expect(o.GetName()).To(Equal("fettle-manager"))
					Expect(verbs).To(ConsistOf("list", "watch"))
					continue
				}
				if slices.Contains(groups, "") {
					Expect(resources).To(BeElementOf([]string{"events"}, []string{"configmaps"}, []string{"nodes"}, []string{"serviceaccounts"}, []string{"serviceaccounts/token"}), o.GetName())
				}
			}
		}
	})
})
