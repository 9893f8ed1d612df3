//go:build rare

package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/test/fixtures/budget"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/nodes"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// settings are environment variables. The defaults give a short test.
type settings struct {
	nodes  int           // FETTLE_CHAOS_NODES
	kills  int           // FETTLE_CHAOS_KILLS: of a manager during a change
	turns  int           // FETTLE_CHAOS_TURNS: of a leader, and of the API server
	outage time.Duration // FETTLE_CHAOS_OUTAGE: of etcd
	random *rand.Rand
}

func readSettings(t *testing.T) settings {
	t.Helper()
	number := func(name string, otherwise int) int {
		if os.Getenv(name) == "" {
			return otherwise
		}
		n, err := strconv.Atoi(os.Getenv(name))
		must(t, err)
		return n
	}
	return settings{
		nodes:  number("FETTLE_CHAOS_NODES", 20),
		kills:  number("FETTLE_CHAOS_KILLS", budget.Events(t, 3, 10)),
		turns:  number("FETTLE_CHAOS_TURNS", budget.Events(t, 1, 2)),
		outage: time.Duration(number("FETTLE_CHAOS_OUTAGE", 12)) * time.Second,
		random: budget.Random(t),
	}
}

// A fixture is a cluster with nodes. All of its state except the API server's memory survives interruptions.
type fixture struct {
	settings
	plane      *controlplane.Mortal
	requests   *journal
	admin      client.Client
	dir        string
	program    string
	kubeconfig string
	lease      time.Duration // of each node; some expire during an outage, as they are renewed after two thirds
	names      []string
	machines   map[string]*machine
	// unknown is the maximum number of unknown nodes in any resource's status. longestStall is how long the machine stood still at most,
	// in nanoseconds: a request took that long although nothing was interrupted.
	unknown      atomic.Int32
	longestStall atomic.Int64
	interrupted  atomic.Bool
}

const (
	groups = 5
	// protected is a label that kubelets may not set.
	protected = "node-restriction.kubernetes.io/tier"
	limit     = 3 * patient.Limit // for each wait
)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{settings: readSettings(t), requests: &journal{}, machines: map[string]*machine{}}
	f.lease = max(30*time.Second, f.outage)
	f.plane = controlplane.StartMortal(t, f.requests)
	controlplane.Install(t, f.plane.Config)
	f.admin = controlplane.Admin(t, f.plane.Config)
	var err error
	f.dir, err = os.MkdirTemp(controlplane.Memory(), "fettle-chaos-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(f.dir) }) // a leftover does no harm
	f.program, f.kubeconfig = buildManager(t, f.dir), f.writeManagerKubeconfig(t)
	f.populate(t)
	go f.watchForUnknown(t.Context())
	nodes.Start(t.Context(), t, nodes.Options{Cluster: f.plane.Config, Dir: f.dir, Names: f.names, Complete: f.configureAgents(t)})
	return f
}

// interval is the time between runs of an agent, short enough for some runs during an outage.
func interval(outage time.Duration) time.Duration { return outage / 3 }

// configureAgents returns a function that gives each agent a host and its own connections, as in its own process.
func (f *fixture) configureAgents(t *testing.T) func(string, *nodeagent.Config) {
	t.Helper()
	tls, err := rest.TLSConfigFor(f.plane.Config)
	must(t, err)
	return func(node string, c *nodeagent.Config) {
		c.Kinds, c.Interval = f.machines[node].kinds(), interval(f.outage)
		c.Cluster.TLSClientConfig = rest.TLSClientConfig{}
		c.Cluster.Transport = utilnet.SetTransportDefaults(&http.Transport{
			TLSClientConfig: tls.Clone(), DialContext: (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		})
	}
}

// populate creates nodes, and resources with every source of content.
func (f *fixture) populate(t *testing.T) {
	t.Helper()
	for i := range f.nodes {
		name, group := fmt.Sprintf("node-%04d", i), fmt.Sprint(i%groups)
		f.names, f.machines[name] = append(f.names, name), newMachine(group)
		labels := map[string]string{"group": group, protected: "a"}
		must(t, f.admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}))
	}
	key := func(name string) *v1alpha1.KeyRef {
		return &v1alpha1.KeyRef{Namespace: "default", Name: name, Key: "content"}
	}
	must(t, f.admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shared"}, Data: map[string]string{"content": "first"}}))
	must(t, f.admin.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "password", Labels: map[string]string{v1alpha1.LabelExposeToNodes: "true"}},
		StringData: map[string]string{"content": "first"},
	}))
	f.createFile(t, "configmap", nil, func(s *v1alpha1.FileSpec) { s.ContentFrom = &v1alpha1.ValueSource{ConfigMapKeyRef: key("shared")} })
	f.createFile(t, "secret", map[string]string{protected: "a"}, func(s *v1alpha1.FileSpec) { s.ContentFrom = &v1alpha1.ValueSource{SecretKeyRef: key("password")} })
	f.createFile(t, "template", nil, func(s *v1alpha1.FileSpec) { s.ContentTemplate = new(template("first")) })
	for i := range 10 {
		f.createFile(t, fmt.Sprintf("all-%d", i), nil, func(s *v1alpha1.FileSpec) { s.Content = new("first") })
	}
	for i := range 3 * groups {
		labels := map[string]string{"group": fmt.Sprint(i % groups)}
		f.createFile(t, fmt.Sprintf("group-%d", i), labels, func(s *v1alpha1.FileSpec) { s.Content = new("first") })
	}
}

// template returns a template with a different result for each node.
func template(text string) string { return "{{ .node.name }} runs {{ .facts.os.name }}: " + text }

func (f *fixture) createFile(t *testing.T, name string, labels map[string]string, adjust func(*v1alpha1.FileSpec)) {
	t.Helper()
	o := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: labels}
	o.Spec.Path, o.Spec.Mode = "/etc/"+name, new("0644")
	adjust(&o.Spec)
	must(t, f.admin.Create(t.Context(), o))
}

// watchForUnknown records the maximum number of unknown nodes, and how long the machine stood still.
func (f *fixture) watchForUnknown(ctx context.Context) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		began, interrupted := time.Now(), f.interrupted.Load()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var all v1alpha1.FileList
		if f.admin.List(ctx, &all) != nil {
			continue // the API server is away
		}
		if !interrupted && !f.interrupted.Load() {
			f.longestStall.Store(max(f.longestStall.Load(), int64(time.Since(began))))
		}
		for i := range all.Items {
			if n := all.Items[i].Status.Nodes; n != nil {
				f.unknown.Store(max(f.unknown.Load(), n.Unknown))
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
