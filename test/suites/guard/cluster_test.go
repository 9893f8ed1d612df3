package guard_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

const (
	namespace = "fettle-nodes"
	account   = "fettle-nodeagent"
)

// A cluster has three nodes with a NodeCatalog and a Lease each, and one object of every other kind.
type cluster struct {
	cfg     *rest.Config
	admin   client.Client
	set     kubernetes.Interface
	agents  map[string]dynamic.Interface // by token name
	objects []object
	before  map[string]string // versions
}

// An object is a target of attempts.
type object struct {
	kind, namespace, name string
	resource              schema.GroupVersionResource
	status                bool // is a subresource
	whole                 client.Object
}

func (o object) String() string {
	return o.kind + " " + strings.TrimPrefix(o.namespace+"/"+o.name, "/")
}

var (
	suite controlplane.Suite
	// shared is a cluster with Fettle, for tests that leave its permissions, policies and audiences alone, and use objects of their own.
	shared = sync.OnceValue(func() *rest.Config {
		cfg, _ := controlplane.Start(&suite)
		controlplane.Install(&suite, cfg)
		return cfg
	})
)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

func newCluster(t *testing.T, cfg *rest.Config) *cluster {
	t.Helper()
	set, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	controlplane.Install(t, cfg)
	c := &cluster{cfg: cfg, admin: controlplane.Admin(t, cfg), set: set, agents: map[string]dynamic.Interface{}}
	for _, token := range tokens {
		agent := rest.AnonymousClientConfig(cfg)
		agent.BearerToken = c.token(t, token)
		agent.QPS = -1
		c.agents[token], err = dynamic.NewForConfig(agent)
		must(t, err)
	}
	c.populate(t)
	c.awaitPolicy(t)
	c.before = c.versions(t)
	return c
}

// token requests the named token.
func (c *cluster) token(t *testing.T, name string) string {
	t.Helper()
	var bound client.Object
	switch name {
	case "bound to nothing":
	case "pod on no node":
		bound = c.pod(t, "nowhere", "")
	case "node-bound":
		bound = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		must(t, c.admin.Create(t.Context(), bound))
	default:
		must(t, c.admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		bound = c.pod(t, "agent-of-"+name, name)
	}
	got, err := controlplane.AgentToken(t.Context(), c.admin, bound)
	must(t, err)
	return got
}

func (c *cluster) pod(t *testing.T, name, node string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{NodeName: node, ServiceAccountName: account, Containers: []corev1.Container{{Name: "agent", Image: "none"}}},
	}
	must(t, c.admin.Create(t.Context(), pod))
	return pod
}

// populate creates the objects.
func (c *cluster) populate(t *testing.T) {
	t.Helper()
	for _, node := range []string{"node-a", "node-b", "node-bound"} {
		c.add(t, "nodecatalogs", true, &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: node}})
		c.add(t, "leases", false, lease(namespace, node))
	}
	c.add(t, "leases", false, lease("kube-system", "node-a"))
	c.add(t, "fleets", true, &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName}})
	entries := []v1alpha1.CatalogEntry{{Kind: "File", Name: "motd", Attributes: &runtime.RawExtension{Raw: []byte(`{"path":"/etc/motd"}`)}}}
	c.add(t, "catalogs", false, &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: catalog.Name(entries)}, Count: 1, Entries: entries})
	file := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: "motd"}}
	file.Spec.NodeSelector, file.Spec.Path = &metav1.LabelSelector{}, "/etc/motd"
	c.add(t, "files", true, file)
}

func lease(namespace, name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(60))},
	}
}

func (c *cluster) add(t *testing.T, plural string, status bool, o client.Object) {
	t.Helper()
	must(t, c.admin.Create(t.Context(), o))
	kind, err := c.admin.GroupVersionKindFor(o)
	must(t, err)
	c.objects = append(c.objects, object{
		kind: kind.Kind, namespace: o.GetNamespace(), name: o.GetName(), resource: kind.GroupVersion().WithResource(plural), status: status, whole: o,
	})
}

// awaitPolicy waits until the API server has loaded the policy.
func (c *cluster) awaitPolicy(t *testing.T) {
	t.Helper()
	probe := c.agents["node-a"].Resource(v1alpha1.GroupVersion.WithResource("nodecatalogs"))
	until(t, "the policy to be in force", func() error {
		_, err := probe.Patch(t.Context(), "node-b", types.MergePatchType, []byte(`{"status":{"agentVersion":"probe"}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		if err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			return nil
		}
		return cmp.Or(err, errors.New("the request was allowed"))
	})
}

// awaitRights waits until agents have all permissions.
func (c *cluster) awaitRights(t *testing.T) {
	t.Helper()
	until(t, "the rights to be known", func() error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + namespace + ":" + account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Group: "fettle.dev", Resource: "catalogs"},
		}}
		if err := c.admin.Create(t.Context(), review); err != nil || review.Status.Allowed {
			return err
		}
		return errors.New("the agent lacks the permission")
	})
}

// versions returns the resource versions of objects that no agent may write.
func (c *cluster) versions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range c.objects {
		if err := c.admin.Get(t.Context(), client.ObjectKeyFromObject(o.whole), o.whole); err != nil {
			all[o.String()] = err.Error()
			continue
		}
		if o.kind != "NodeCatalog" && o.namespace != namespace {
			all[o.String()] = o.whole.GetResourceVersion()
		}
		all["generation of "+o.String()] = fmt.Sprint(o.whole.GetGeneration())
		all["finalizers of "+o.String()] = fmt.Sprint(o.whole.GetFinalizers())
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func until(t *testing.T, what string, done func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patient.Limit, true, func(context.Context) (bool, error) {
		last = done()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("timed out waiting for %s: %v", what, last)
	}
}

func status(err error) int32 {
	var s apierrors.APIStatus
	if errors.As(err, &s) {
		return s.Status().Code
	}
	return 0
}
