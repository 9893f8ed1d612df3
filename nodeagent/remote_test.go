package nodeagent_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// lampProgram answers that every lamp is as it should be. Its standard output is all that it writes to.
const lampProgram = `#!/bin/sh
while IFS= read -r line; do
  case $line in
  *'"request":"hello"'*) echo '{"answer":"hello","protocol":"Fettle/1"}' ;;
  *'"request":"get"'*) echo '{"answer":"get","name":"lamp","state":{"name":"lamp"}}' ;;
  esac
done
`

func actsWhileItsLeaseLasts(t *testing.T, m *machine) {
	m.installDebian()
	lamps := &v1alpha1.ExternalType{ObjectMeta: metav1.ObjectMeta{Name: "lamps"}}
	lamps.Spec = v1alpha1.ExternalTypeSpec{
		Kind: "Lamp", Version: "1", Description: "A lamp.", Scope: v1alpha1.ScopeRemote,
		Attributes: []v1alpha1.ExternalAttribute{{
			Name: "name", Description: "Its name.", Behaviour: v1alpha1.BehaviourNamevar, Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string"}`)},
		}},
		Providers: []v1alpha1.ExternalProvider{{Name: "sh", Command: []string{"./lamp.sh"}}},
		Source:    v1alpha1.ExternalSource{Files: map[string]string{"lamp.sh": lampProgram}},
	}
	must(t, m.w.admin.Create(t.Context(), lamps))
	d, err := definition.New(lamps)
	must(t, err)
	entry := v1alpha1.CatalogEntry{Kind: "Lamp", Name: "lamp", Type: d.Ref(), Attributes: &runtime.RawExtension{Raw: []byte(`{}`)}}
	states := func(g Gomega) (all []string) {
		for _, r := range m.object().Status.Resources {
			all = append(all, string(r.Ref)+" "+string(r.State)+" "+r.Message)
		}
		return all
	}
	const waits = "Lamp/lamp Skipped the agent's Lease has expired, so another node may act for this resource: it waits until the API server answers"

	nc := m.spec(v1alpha1.NodeCatalogSpec{Entries: []v1alpha1.CatalogEntry{entry}})
	m.start() // before there is a Lease
	m.applied(nc)
	m.Expect(states(m)).To(Equal([]string{waits}))

	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: m.name},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(60))},
	}
	must(t, m.w.admin.Create(t.Context(), lease))
	before := m.clock.Now()
	acts := func(what string) {
		t.Helper()
		m.Eventually(func(g Gomega) {
			m.clock.Step(10 * time.Second)
			g.Expect(states(g)).To(BeEmpty())
			g.Expect(m.object().Status.LastRun.Started.Time).To(BeTemporally(">=", before))
		}).WithTimeout(limit).WithPolling(100*time.Millisecond).Should(Succeed(), what)
	}
	acts("the agent acts once it has a Lease, without another change")

	m.door.lock()
	m.clock.Step(time.Minute)
	m.Eventually(func() int { // the run at the interval
		m.clock.Step(interval)
		return strings.Count(m.logs.String(), "1 skipped") + strings.Count(m.logs.String(), "Lease has expired")
	}).WithTimeout(limit).WithPolling(20*time.Millisecond).Should(BeNumerically(">", 2), "it does not while it may be silent for the manager")
	before = m.clock.Now()
	m.door.unlock()
	acts("it goes on when the API server is back")
}
