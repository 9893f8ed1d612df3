package openreports_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	upstream "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers/openreports"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A fixture is a cluster with a publisher that has the rights of a manager.
type fixture struct {
	*testing.T
	*openreports.Publisher
	options openreports.Options
	admin   client.Client
	config  *rest.Config // an administrator's
	root    string       // of this repository
	kube    string       // an administrator's kubeconfig
	clock   *clocktesting.FakeClock
	events  *events.FakeRecorder
	log     *strings.Builder
}

// start is the time of the first report.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newFixture returns a cluster without the definition of reports, in which the manager has no right to write them.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	w := &fixture{
		T: t, config: cfg, admin: controlplane.Admin(t, cfg), kube: filepath.Join(t.TempDir(), "kubeconfig"),
		clock: clocktesting.NewFakeClock(start), events: events.NewFakeRecorder(100), log: &strings.Builder{},
	}
	var err error
	if w.root, err = filepath.Abs("../.."); err == nil {
		err = controlplane.WriteKubeconfig(w.kube, cfg, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	manager := rest.CopyConfig(cfg)
	manager.Impersonate.UserName = "system:serviceaccount:fettle-system:fettle-manager"
	w.options = openreports.Options{
		Config: manager, Nodes: w.admin, Recorder: w.events, Clock: w.clock,
		Log: funcr.New(func(_, args string) { fmt.Fprintln(w.log, args) }, funcr.Options{}),
	}
	w.restart()
	return w
}

// restart replaces the publisher by a new one.
func (w *fixture) restart() {
	w.Helper()
	var err error
	if w.Publisher, err = openreports.New(w.options); err != nil {
		w.Fatal(err)
	}
}

// define installs the definition of reports.
func (w *fixture) define() {
	w.Helper()
	controlplane.DefineOpenReports(w.T, w.kube)
	w.eventually("the API of reports", func() bool { _, err := w.list(); return err == nil })
}

// permit gives the manager the rights of the component.
func (w *fixture) permit() {
	w.Helper()
	controlplane.Kubectl(w.T, w.kube, "apply", "-f", filepath.Join(w.root, "config/openreports/rbac.yaml"))
	w.eventually("the rights of the manager", func() bool {
		c, err := dynamic.NewForConfig(w.options.Config)
		if err == nil {
			_, err = c.Resource(upstream.SchemeGroupVersion.WithResource("clusterreports")).List(w.Context(), metav1.ListOptions{})
		}
		return err == nil || apierrors.IsNotFound(err)
	})
}

func (w *fixture) eventually(what string, done func() bool) {
	w.Helper()
	if err := wait.PollUntilContextTimeout(w.Context(), 50*time.Millisecond, patient.Limit, true, func(context.Context) (bool, error) { return done(), nil }); err != nil {
		w.Fatalf("timed out waiting for %s", what)
	}
}

// node creates a Node with a NodeCatalog that has a status.
func (w *fixture) node(name string, status v1alpha1.NodeCatalogStatus) *v1alpha1.NodeCatalog {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := w.admin.Create(w.Context(), node); err != nil {
		w.Fatal(err)
	}
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
	nc.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID}}
	if err := w.admin.Create(w.Context(), nc); err != nil {
		w.Fatal(err)
	}
	w.report(nc, status)
	return nc
}

// report sets the status of a NodeCatalog.
func (w *fixture) report(nc *v1alpha1.NodeCatalog, status v1alpha1.NodeCatalogStatus) {
	w.Helper()
	nc.Status = status
	if err := w.admin.Status().Update(w.Context(), nc); err != nil {
		w.Fatal(err)
	}
}

// list returns the reports. A field that the API does not have is an error.
func (w *fixture) list() (map[string]upstream.ClusterReport, error) {
	w.Helper()
	c, err := dynamic.NewForConfig(w.config)
	if err != nil {
		return nil, err
	}
	list, err := c.Resource(upstream.SchemeGroupVersion.WithResource("clusterreports")).List(w.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := map[string]upstream.ClusterReport{}
	for _, o := range list.Items {
		raw, err := o.MarshalJSON()
		if err != nil {
			return nil, err
		}
		var r upstream.ClusterReport
		if strict, err := kjson.UnmarshalStrict(raw, &r); err != nil || len(strict) > 0 {
			return nil, fmt.Errorf("%w %v", err, strict)
		}
		all[r.Name] = r
	}
	return all, nil
}

// reports returns the reports by name.
func (w *fixture) reports() map[string]upstream.ClusterReport {
	w.Helper()
	all, err := w.list()
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// versions returns the resource versions of reports by name.
func (w *fixture) versions() map[string]string {
	w.Helper()
	all := map[string]string{}
	for name, r := range w.reports() {
		all[name] = r.ResourceVersion
	}
	return all
}

// publish publishes some time later, and expects the next attempt after a time.
func (w *fixture) publish(after, next time.Duration) {
	w.Helper()
	w.clock.Step(after)
	if got := w.Publish(w.Context()); got != next {
		w.Errorf("the next attempt is in %s, want %s\n%s", got, next, w.log)
	}
}

// recorded returns the events since it was called before.
func (w *fixture) recorded() (all []string) {
	for {
		select {
		case e := <-w.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

func ago(d time.Duration) metav1.Time { return metav1.NewTime(start.Add(-d)) }
