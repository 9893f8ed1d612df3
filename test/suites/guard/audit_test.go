package guard_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// The API server's audit log contains denied requests with the policy and the reason.
func TestRefusalIsAudited(t *testing.T) {
	t.Parallel()

	var log auditLog
	plane := controlplane.StartMortal(t, &log)
	controlplane.Install(t, plane.Config)
	admin := controlplane.Admin(t, plane.Config)
	for _, name := range []string{"node-a", "node-b"} {
		must(t, admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		must(t, admin.Create(t.Context(), &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	file := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: "motd"}}
	file.Spec.NodeSelector, file.Spec.Path = &metav1.LabelSelector{}, "/etc/motd"
	must(t, admin.Create(t.Context(), file))
	agent := actAs(t, plane.Config, admin, "fettle-nodes", "fettle-nodeagent", "node-a").Resource(v1alpha1.GroupVersion.WithResource("nodecatalogs"))
	manager := actAs(t, plane.Config, admin, "fettle-system", "fettle-manager", "").Resource(v1alpha1.GroupVersion.WithResource("files"))

	writes := 0 // each has another content, since the policy permits a write that changes nothing
	for name, tt := range map[string]struct {
		write func() error
		want  failure
	}{
		"an agent of another node": {
			func() error {
				_, err := agent.Patch(t.Context(), "node-b", types.MergePatchType, []byte(`{"status":{"agentVersion":"v1"}}`), metav1.PatchOptions{}, "status")
				return wantRefusal(err, "fettle-nodeagent")
			},
			failure{
				Policy: "fettle-nodeagent", Binding: "fettle-nodeagent", ExpressionIndex: 1, ValidationActions: []string{"Deny", "Audit"},
				Message: "the agent of node node-a may update the status of NodeCatalog node-a, renew Lease fettle-nodes/node-a and renew its own token, and nothing else: not UPDATE nodecatalogs.fettle.dev/status node-b",
			},
		},
		"the manager": {
			func() error {
				writes++
				_, err := manager.Patch(t.Context(), "motd", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"content":"mine %d"}}`, writes), metav1.PatchOptions{})
				return wantRefusal(err, "fettle-manager")
			},
			failure{
				Policy: "fettle-manager", Binding: "fettle-manager", ValidationActions: []string{"Deny", "Audit"},
				Message: "the manager may change the finalizer fettle.dev/cleanup of files.fettle.dev motd, and nothing else",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			until(t, "the policy to be in force", tt.write)
			var is []failure
			until(t, "the audit log", func() error {
				if is = log.failures(t, tt.want.Policy); len(is) > 0 {
					return nil
				}
				return errors.New("it has no such annotation")
			})
			if diff := cmp.Diff([]failure{tt.want}, is); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A failure is a validation failure in an audit event's annotation.
type failure struct {
	Policy, Binding, Message string
	ExpressionIndex          int
	ValidationActions        []string
}

// An auditLog collects an API server's audit events, JSON lines. It is safe for concurrent use.
type auditLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *auditLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// failures returns the failures of a policy in the first request that has any.
func (l *auditLog) failures(t *testing.T, policy string) []failure {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		var event struct{ Annotations map[string]string }
		if json.Unmarshal([]byte(line), &event) != nil {
			continue // the line is not complete yet
		}
		annotation, found := event.Annotations["validation.policy.admission.k8s.io/validation_failure"]
		if !found {
			continue
		}
		var all []failure
		must(t, json.Unmarshal([]byte(annotation), &all))
		if all[0].Policy == policy {
			return all
		}
	}
	return nil
}
