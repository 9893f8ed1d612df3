package guard_test

import (
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

func TestPodCreatorInManagerNamespaceIsNotRootOnNodes(t *testing.T) {
	t.Parallel()

	cfg := shared()
	set, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	var deployment appsv1.Deployment
	read(t, "../../../config/manager/manager.yaml", &deployment)
	var daemonSet appsv1.DaemonSet
	read(t, "../../../config/nodeagent/nodeagent.yaml", &daemonSet)
	if deployment.Namespace != "fettle-system" || daemonSet.Namespace != "fettle-nodes" {
		t.Errorf("the manager is in %s, the agents are in %s", deployment.Namespace, daemonSet.Namespace)
	}
	for name, c := range map[string]struct {
		namespace string
		pod       corev1.PodSpec
		refused   string
	}{
		"the manager in its namespace": {deployment.Namespace, deployment.Spec.Template.Spec, ""},
		"an agent in its namespace":    {daemonSet.Namespace, daemonSet.Spec.Template.Spec, ""},
		"an agent in the manager's":    {deployment.Namespace, daemonSet.Spec.Template.Spec, `violates PodSecurity "restricted:latest": host namespaces (hostPID=true)`},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"}, Spec: c.pod}
		_, err := set.CoreV1().Pods(c.namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v, want %q", name, err, c.refused)
		}
	}
}

// read decodes the first document of a file.
func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	first, _, _ := strings.Cut(string(text), "\n---\n")
	must(t, yaml.UnmarshalStrict([]byte(first), into))
}
