package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/controllers/openreports"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
	"github.com/fettle-dev/fettle/internal/fleet/relay"
	"github.com/fettle-dev/fettle/internal/fleet/reportsapi"
)

// leaseName is the name of the lease that elects the leader.
const leaseName = "fettle-manager"

// leaderLabel is a label of that lease: the address of the leader, so that the others can pass requests on.
const leaderLabel = "fettle.dev/leader-address"

// ownAddress is the label with the address of this manager's pod, none outside of a pod.
func ownAddress() (map[string]string, error) {
	text := os.Getenv("POD_IP")
	if text == "" {
		return nil, nil
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return nil, fmt.Errorf("$POD_IP is not an address: %w", err)
	}
	return map[string]string{leaderLabel: relay.Label(address)}, nil
}

// serveReports adds the API of reports to a manager, unless its address is 0.
func serveReports(mgr ctrl.Manager, cfg *rest.Config, s settings, reconciler *controllers.Reconciler) error {
	if s.reports == "0" {
		return nil
	}
	direct, err := client.New(cfg, client.Options{Scheme: mgr.GetScheme(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	return mgr.Add(&reportsapi.Server{
		Address: s.reports, Config: cfg, Client: direct, Hub: &questions.Hub{}, Check: known(mgr.GetClient()), Base: baseOf(reconciler), Elected: mgr.Elected(),
		Leader: func(ctx context.Context) (netip.Addr, error) {
			return leaderOf(ctx, mgr.GetAPIReader(), namespaceOf(s))
		},
		Log: ctrl.Log.WithName("reports"),
	})
}

// writeOpenReports adds what writes ClusterReports to a manager, if that is wanted.
func writeOpenReports(mgr ctrl.Manager, cfg *rest.Config, s settings, recorder events.EventRecorder) error {
	if !s.openReports {
		return nil
	}
	p, err := openreports.New(openreports.Options{
		Config: cfg, Nodes: mgr.GetClient(), Recorder: recorder, Clock: clock.RealClock{}, Log: ctrl.Log.WithName("openreports"),
	})
	if err != nil {
		return err
	}
	return mgr.Add(p)
}

// baseOf returns what plans are compared with.
func baseOf(reconciler *controllers.Reconciler) reportsapi.BaseFunc {
	return func(ctx context.Context) (*planning.Base, error) {
		base, err := reconciler.PlanBase(ctx)
		if err != nil {
			return nil, apierrors.NewServiceUnavailable(err.Error())
		}
		return base, nil
	}
}

// known returns an error for nodes that can't answer.
func known(cached client.Reader) reportsapi.Checker {
	return func(ctx context.Context, node string) error {
		nc := &v1alpha1.NodeCatalog{}
		if err := cached.Get(ctx, client.ObjectKey{Name: node}, nc); err != nil {
			return err
		}
		if since, silent := nc.Annotations[v1alpha1.AnnotationSilentSince]; silent {
			return apierrors.NewTimeoutError(fmt.Sprintf("the agent of %s is silent since %s: it does not renew its Lease", node, since), 0)
		}
		return nil
	}
}

// leaderOf reads the address of the leader.
func leaderOf(ctx context.Context, from client.Reader, namespace string) (netip.Addr, error) {
	lease := &coordinationv1.Lease{}
	if err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: leaseName}, lease); err != nil {
		return netip.Addr{}, fmt.Errorf("cannot read the lease of the leader: %w", err)
	}
	return relay.ParseLabel(lease.Labels[leaderLabel])
}

// namespaceOf is the namespace of the lease.
func namespaceOf(s settings) string {
	if s.electNamespace != "" {
		return s.electNamespace
	}
	text, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace") // without it, there is no election
	return strings.TrimSpace(string(text))
}
