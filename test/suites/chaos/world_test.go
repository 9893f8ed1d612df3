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

// A world is a cluster with nodes. All of its state except the API server's memory survives interruptions.
type world struct {
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
	// unknown is the maximum number of unknown nodes in any resource's status. still is how long the machine stood still at most, in
	// nanoseconds: a request took that long although nothing was interrupted.
	unknown     atomic.Int32
	still       atomic.Int64
	interrupted atomic.Bool
}

const (
	groups = 5
	// protected is a label that kubelets may not set.
	protected = "node-restriction.kubernetes.io/tier"
	limit     = 3 * patient.Limit // for each wait
)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{settings: readSettings(t), requests: &journal{}, machines: map[string]*machine{}}
	w.lease = max(30*time.Second, w.outage)
	w.plane = controlplane.StartMortal(t, w.requests)
	controlplane.Install(t, w.plane.Config)
	w.admin = controlplane.Admin(t, w.plane.Config)
	var err error
	w.dir, err = os.MkdirTemp(controlplane.Memory(), "fettle-chaos-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(w.dir) }) // a leftover does no harm
	w.program, w.kubeconfig = build(t, w.dir), w.identify(t)
	w.populate(t)
	go w.watchForUnknown(t.Context())
	nodes.Start(t.Context(), t, nodes.Options{Cluster: w.plane.Config, Dir: w.dir, Names: w.names, Complete: w.complete(t)})
	return w
}

// interval is the time between runs of an agent, short enough for some runs during an outage.
func interval(outage time.Duration) time.Duration { return outage / 3 }

// complete gives an agent a host and its own connections, as in its own process.
func (w *world) complete(t *testing.T) func(string, *nodeagent.Config) {
	t.Helper()
	tls, err := rest.TLSConfigFor(w.plane.Config)
	must(t, err)
	return func(node string, c *nodeagent.Config) {
		c.Kinds, c.Interval = w.machines[node].kinds(), interval(w.outage)
		c.Cluster.TLSClientConfig = rest.TLSClientConfig{}
		c.Cluster.Transport = utilnet.SetTransportDefaults(&http.Transport{
			TLSClientConfig: tls.Clone(), DialContext: (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		})
	}
}

// populate creates nodes, and resources with every source of content.
func (w *world) populate(t *testing.T) {
	t.Helper()
	for i := range w.nodes {
		name := fmt.Sprintf("node-%04d", i)
		w.names, w.machines[name] = append(w.names, name), newMachine()
		labels := map[string]string{"group": fmt.Sprint(i % groups), protected: "a"}
		must(t, w.admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}))
	}
	key := func(name string) *v1alpha1.KeyRef {
		return &v1alpha1.KeyRef{Namespace: "default", Name: name, Key: "content"}
	}
	must(t, w.admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shared"}, Data: map[string]string{"content": "first"}}))
	must(t, w.admin.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "password", Labels: map[string]string{v1alpha1.LabelExposeToNodes: "true"}},
		StringData: map[string]string{"content": "first"},
	}))
	w.file(t, "configmap", nil, func(s *v1alpha1.FileSpec) { s.ContentFrom = &v1alpha1.ValueSource{ConfigMapKeyRef: key("shared")} })
	w.file(t, "secret", map[string]string{protected: "a"}, func(s *v1alpha1.FileSpec) { s.ContentFrom = &v1alpha1.ValueSource{SecretKeyRef: key("password")} })
	w.file(t, "template", nil, func(s *v1alpha1.FileSpec) { s.ContentTemplate = new(template("first")) })
	for i := range 10 {
		w.file(t, fmt.Sprintf("all-%d", i), nil, func(s *v1alpha1.FileSpec) { s.Content = new("first") })
	}
	for i := range 3 * groups {
		labels := map[string]string{"group": fmt.Sprint(i % groups)}
		w.file(t, fmt.Sprintf("group-%d", i), labels, func(s *v1alpha1.FileSpec) { s.Content = new("first") })
	}
}

// template returns a template with a different result for each node.
func template(text string) string { return "{{ .node.name }} runs {{ .facts.os.name }}: " + text }

func (w *world) file(t *testing.T, name string, labels map[string]string, say func(*v1alpha1.FileSpec)) {
	t.Helper()
	o := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: labels}
	o.Spec.Path, o.Spec.Mode = "/etc/"+name, new("0644")
	say(&o.Spec)
	must(t, w.admin.Create(t.Context(), o))
}

// watchForUnknown records the maximum number of unknown nodes, and how long the machine stood still.
func (w *world) watchForUnknown(ctx context.Context) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		began, interrupted := time.Now(), w.interrupted.Load()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var all v1alpha1.FileList
		if w.admin.List(ctx, &all) != nil {
			continue // the API server is away
		}
		if !interrupted && !w.interrupted.Load() {
			w.still.Store(max(w.still.Load(), int64(time.Since(began))))
		}
		for i := range all.Items {
			if n := all.Items[i].Status.Nodes; n != nil {
				w.unknown.Store(max(w.unknown.Load(), n.Unknown))
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
