package guard_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// A namePrefix renames accounts, policies and queues. They must still apply.
func TestPoliciesApplyAfterKustomizeRenames(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	admin := controlplane.Admin(t, cfg)
	installWithPrefix(t, cfg, "acme-")
	for _, name := range []string{"node-a", "node-b"} {
		must(t, admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		must(t, admin.Create(t.Context(), &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	file := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: "motd"}}
	file.Spec.NodeSelector, file.Spec.Path = &metav1.LabelSelector{}, "/etc/motd"
	must(t, admin.Create(t.Context(), file))

	t.Run("agent", func(t *testing.T) {
		agent := actAs(t, cfg, admin, "fettle-nodes", "acme-fettle-nodeagent", "node-a").Resource(v1alpha1.GroupVersion.WithResource("nodecatalogs"))
		write := func(node string) error {
			_, err := agent.Patch(t.Context(), node, types.MergePatchType, []byte(`{"status":{"agentVersion":"v1"}}`), metav1.PatchOptions{}, "status")
			return err
		}
		until(t, "the agent's rights", func() error { return write("node-a") })
		until(t, "the agent's policy", func() error { return wantRefusal(write("node-b"), "acme-fettle-nodeagent") })
	})
	t.Run("manager", func(t *testing.T) {
		files := actAs(t, cfg, admin, "fettle-system", "acme-fettle-manager", "").Resource(v1alpha1.GroupVersion.WithResource("files"))
		write := func(metadata string) error {
			_, err := files.Patch(t.Context(), "motd", types.MergePatchType, []byte(`{"metadata":{`+metadata+`}}`), metav1.PatchOptions{})
			return err
		}
		until(t, "the manager's rights", func() error { return write(`"finalizers":["fettle.dev/cleanup"]`) })
		until(t, "the manager's policy", func() error { return wantRefusal(write(`"labels":{"a":"b"}`), "acme-fettle-manager") })
	})
	t.Run("queue", func(t *testing.T) {
		var schema flowcontrolv1.FlowSchema
		must(t, admin.Get(t.Context(), client.ObjectKey{Name: "acme-fettle-nodes"}, &schema))
		if is := schema.Spec.PriorityLevelConfiguration.Name; is != "acme-fettle-nodes" {
			t.Errorf("the FlowSchema refers to %s", is)
		}
	})
}

// Policies and programs name the namespaces, so an overlay can't change them by mistake.
func TestKustomizeRejectsOtherNamespace(t *testing.T) {
	t.Parallel()

	assets, err := controlplane.Assets()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), filepath.Join(assets, "kubectl"), "kustomize", overlay(t, t.TempDir(), "namespace: acme"))
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "namespace transformation produces ID conflict") {
		t.Errorf("%v: %.500s", err, out)
	}
}

// installWithPrefix applies config/default with a namePrefix.
func installWithPrefix(t *testing.T, cfg *rest.Config, prefix string) {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	must(t, controlplane.WriteKubeconfig(kubeconfig, cfg, ""))
	controlplane.Kubectl(t, kubeconfig, "apply", "--server-side", "--force-conflicts", "-k", overlay(t, dir, "namePrefix: "+prefix))
}

// overlay writes an overlay of config/default with an additional line, and returns its directory.
func overlay(t *testing.T, dir, line string) string {
	t.Helper()
	base, err := filepath.Abs("../../../config")
	must(t, err)
	must(t, os.CopyFS(filepath.Join(dir, "config"), os.DirFS(base))) // kustomize accepts only relative paths
	top := filepath.Join(dir, "overlay")
	must(t, os.Mkdir(top, 0o755))
	must(t, os.WriteFile(filepath.Join(top, "kustomization.yaml"), []byte(line+"\nresources: [../config/default]\n"), 0o600))
	return top
}

// actAs returns a client with a token of a service account, bound to a pod on the node if one is given.
func actAs(t *testing.T, cfg *rest.Config, admin client.Client, namespace, account, node string) dynamic.Interface {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if node != "" {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "agent-of-" + node},
			Spec:       corev1.PodSpec{NodeName: node, ServiceAccountName: account, Containers: []corev1.Container{{Name: "agent", Image: "none"}}},
		}
		must(t, admin.Create(t.Context(), pod))
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	}
	must(t, admin.SubResource("token").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}, request))
	as := rest.AnonymousClientConfig(cfg)
	as.BearerToken = request.Status.Token
	c, err := dynamic.NewForConfig(as)
	must(t, err)
	return c
}

// wantRefusal returns an error unless a policy denied a request.
func wantRefusal(err error, policy string) error {
	if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+policy+"'") {
		return nil
	}
	return errors.Join(errors.New("the policy did not deny the request"), err)
}
