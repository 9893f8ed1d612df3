// Package policycheck tells whether the admission policies that limit Fettle's own accounts are in force.
//
// A cluster works the same without them, so nobody would notice that they are missing. Their names don't matter, as
// kustomize may change them: a policy is recognized by its spec.
package policycheck

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/policy"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,verbs=list

// interval is the time between two checks.
const interval = 10 * time.Minute

// A Check compares a cluster's admission policies with those that Fettle ships. A difference is logged, sent as an event
// and exported as a metric; it stops nothing.
type Check struct {
	reader   client.Reader
	recorder events.EventRecorder
	clock    clock.WithTicker
	log      logr.Logger
	inForce  *prometheus.GaugeVec
	shipped  []admissionregistrationv1.ValidatingAdmissionPolicy
	problems map[string]string // of the last check, by policy
	failure  string            // of the last check, "" if the policies could be read
}

// New returns a check that reads the policies with reader, which should not be a cache: it lists them every ten minutes.
func New(reader client.Reader, recorder events.EventRecorder, clk clock.WithTicker, log logr.Logger, metrics prometheus.Registerer) (*Check, error) {
	shipped, err := policy.All()
	if err != nil {
		return nil, err
	}
	c := &Check{reader: reader, recorder: recorder, clock: clk, log: log, shipped: shipped, problems: map[string]string{}}
	c.inForce = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fettle_admission_policy_in_force", Help: "Whether the cluster denies and audits what the admission policy that Fettle ships forbids (1) or not (0).",
	}, []string{"policy"})
	return c, metrics.Register(c.inForce)
}

// Start checks at once and then every ten minutes, until ctx ends. It implements [manager.Runnable].
//
// [manager.Runnable]: https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/manager#Runnable
func (c *Check) Start(ctx context.Context) error {
	tick := c.clock.NewTicker(interval)
	defer tick.Stop()
	for {
		c.check(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
		}
	}
}

// check reports what has changed since the last check.
func (c *Check) check(ctx context.Context) {
	var policies admissionregistrationv1.ValidatingAdmissionPolicyList
	var bindings admissionregistrationv1.ValidatingAdmissionPolicyBindingList
	for _, list := range []client.ObjectList{&policies, &bindings} {
		if err := c.reader.List(ctx, list); err != nil {
			c.fail(ctx, err)
			return
		}
	}
	c.failure = ""
	for i := range c.shipped {
		c.report(&c.shipped[i], problem(&c.shipped[i], policies.Items, bindings.Items))
	}
}

// fail reports that nothing is known of the policies, as on a cluster that has no such API.
func (c *Check) fail(ctx context.Context, err error) {
	c.inForce.Reset()
	if ctx.Err() == nil && err.Error() != c.failure {
		c.log.Error(err, "cannot tell whether admission policies are in force")
		c.failure = err.Error()
	}
}

func (c *Check) report(p *admissionregistrationv1.ValidatingAdmissionPolicy, problem string) {
	before := c.problems[p.Name]
	c.problems[p.Name] = problem
	value := 0.0
	switch {
	case problem == "":
		value = 1
		if before != "" {
			c.log.Info("an admission policy is in force again", "policy", p.Name)
		}
	case problem != before:
		c.log.Error(nil, "an admission policy is not in force", "policy", p.Name, "problem", problem)
		c.recorder.Eventf(p, nil, corev1.EventTypeWarning, v1alpha1.EventPolicyNotInForce, "Check", "%s", problem)
	}
	c.inForce.WithLabelValues(p.Name).Set(value)
}

// problem says why no policy denies and audits what the shipped one does, "" if one does.
func problem(shipped *admissionregistrationv1.ValidatingAdmissionPolicy, policies []admissionregistrationv1.ValidatingAdmissionPolicy, bindings []admissionregistrationv1.ValidatingAdmissionPolicyBinding) string {
	reason := fmt.Sprintf("the ValidatingAdmissionPolicy %s of config/policy is missing or was changed: apply the one of this version", shipped.Name)
	for i := range policies {
		if !equality.Semantic.DeepEqual(shipped.Spec, policies[i].Spec) {
			continue
		}
		missing := missingActions(policies[i].Name, bindings)
		if len(missing) == 0 {
			return ""
		}
		reason = fmt.Sprintf("no ValidatingAdmissionPolicyBinding of %s has the validationActions %s without matchResources: apply the one of config/policy",
			policies[i].Name, strings.Join(missing, " and "))
	}
	return reason
}

// missingActions returns which of Deny and Audit no binding of a policy requests.
func missingActions(name string, bindings []admissionregistrationv1.ValidatingAdmissionPolicyBinding) []string {
	var missing []string
	for _, action := range []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny, admissionregistrationv1.Audit} {
		if !slices.ContainsFunc(bindings, func(b admissionregistrationv1.ValidatingAdmissionPolicyBinding) bool {
			return b.Spec.PolicyName == name && b.Spec.MatchResources == nil && slices.Contains(b.Spec.ValidationActions, action)
		}) {
			missing = append(missing, string(action))
		}
	}
	return missing
}
