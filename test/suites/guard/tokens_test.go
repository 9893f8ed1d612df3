package guard_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The API server extends a token of 3607 s, the default that kubelets request, to a year.
func TestTokensExpireAfterAnHour(t *testing.T) {
	t.Parallel()

	cfg := shared()
	set, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	var deployment appsv1.Deployment
	read(t, "../../../config/manager/manager.yaml", &deployment)
	var daemonSet appsv1.DaemonSet
	read(t, "../../../config/nodeagent/nodeagent.yaml", &daemonSet)

	const byDefault = 3607
	for name, tt := range map[string]struct {
		namespace string
		pod       corev1.PodSpec
	}{
		"manager": {deployment.Namespace, deployment.Spec.Template.Spec},
		"agent":   {daemonSet.Namespace, daemonSet.Spec.Template.Spec},
	} {
		t.Run(name, func(t *testing.T) {
			pod, err := set.CoreV1().Pods(tt.namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: tt.pod}, metav1.CreateOptions{})
			must(t, err)
			if is := lifetime(t, cfg, pod, byDefault); is < 300*24*time.Hour {
				t.Fatalf("a default token expires after %s: this test proves nothing", is)
			}
			if pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken {
				t.Error("the default token is mounted")
			}
			tokens := mounted(pod.Spec)
			if len(tokens) != 1 {
				t.Fatalf("%d tokens are mounted where clients look for one, want 1", len(tokens))
			}
			if is := lifetime(t, cfg, pod, *tokens[0].ExpirationSeconds); is > time.Hour {
				t.Errorf("the token expires after %s", is)
			}
		})
	}
}

// mounted returns the tokens in the first container at the path where clients look for one.
func mounted(pod corev1.PodSpec) []*corev1.ServiceAccountTokenProjection {
	var all []*corev1.ServiceAccountTokenProjection
	for _, v := range pod.Volumes {
		if v.Projected == nil || !slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == v.Name && m.MountPath == "/var/run/secrets/kubernetes.io/serviceaccount"
		}) {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil && s.ServiceAccountToken.Path == "token" {
				all = append(all, s.ServiceAccountToken)
			}
		}
	}
	return all
}

// lifetime returns how long a token that a kubelet requests with this expiry is valid.
func lifetime(t *testing.T, cfg *rest.Config, pod *corev1.Pod, seconds int64) time.Duration {
	t.Helper()
	set, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	request, err = set.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	must(t, err)
	var claims struct{ Iat, Exp int64 } // the status has the requested time
	_, body, _ := strings.Cut(request.Status.Token, ".")
	body, _, _ = strings.Cut(body, ".")
	text, err := base64.RawURLEncoding.DecodeString(body)
	must(t, err)
	must(t, json.Unmarshal(text, &claims))
	return time.Duration(claims.Exp-claims.Iat) * time.Second
}
