// Command manager compiles catalogs for a cluster's nodes and aggregates their status. It cannot access a machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/controllers/caches"
	"github.com/fettle-dev/fettle/controllers/cloudevents"
	"github.com/fettle-dev/fettle/controllers/defaultpolicy"
	"github.com/fettle-dev/fettle/controllers/installation"
	"github.com/fettle-dev/fettle/controllers/policycheck"
	"github.com/fettle-dev/fettle/internal/durationflag"
	"github.com/fettle-dev/fettle/internal/fleet/deselection"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/traceexport"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/internal/version"
	"github.com/fettle-dev/fettle/providers"
)

// queriesPerSecond limits the rate of a change to a fleet: an API server handles some hundred writes per second besides
// other work. A change to 5,000 nodes takes half a minute.
const queriesPerSecond = 200

func main() {
	err := run(os.Args[1:], os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "manager: %s\n", text.Line(text.Error(err)))
		os.Exit(1)
	}
}

// settings are the values of the flags.
type settings struct {
	metrics, probes string
	reports         string
	elect           bool
	electNamespace  string
	lease           time.Duration
	qps             float64
	burst           int
	maxDeselection  int

	eventsURL, eventsSource string
	openReports             bool
	defaultPolicy           bool
	debug                   bool
}

func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	fs := flag.NewFlagSet("manager", flag.ContinueOnError)
	fs.SetOutput(out)
	config.RegisterFlags(fs)
	fs.StringVar(&s.metrics, "metrics-bind-address", ":8443", "`address` of the metrics endpoint, with TLS and authorization; 0 disables it")
	fs.StringVar(&s.probes, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; 0 disables them")
	fs.StringVar(&s.reports, "reports-bind-address", "0", "`address` of the API reports.fettle.dev, which the API server passes on, such as :9443; 0 disables it")
	fs.BoolVar(&s.elect, "leader-elect", false, "elect one of several managers as the leader")
	fs.StringVar(&s.electNamespace, "leader-elect-namespace", "", "`namespace` of the lease that elects the leader; by default that of the pod")
	fs.Var(durationflag.New(&s.lease, heartbeat.DefaultLeaseDuration), "lease-duration", "time without a heartbeat after which a node counts as unknown, 10s to 1h; agents renew their Leases after two thirds of it, and with more than 1m nodes soak in rollouts for 30s longer than it, even if a RolloutPolicy says less")
	fs.Float64Var(&s.qps, "kube-api-qps", queriesPerSecond, "sustained requests per second for each kind of object; at 200, a change of 5,000 nodes takes 25s")
	fs.IntVar(&s.burst, "kube-api-burst", 2*queriesPerSecond, "requests that may exceed -kube-api-qps in a burst")
	fs.IntVar(&s.maxDeselection, "max-deselection", deselection.DefaultMaxPercent, "`percentage` of nodes, 0 to 100, that may be deselected within ten minutes because their labels, annotations or facts changed; beyond it, and beyond one node, updates are held until confirmed. As many may fall silent at once before others stop taking over their resources of Remote types; 100 disables both limits")
	fs.StringVar(&s.eventsURL, "events-url", "", "`address` of a webhook that gets the manager's events as CloudEvents, too (default: none)")
	fs.StringVar(&s.eventsSource, "events-source", "/fettle", "`URI` that identifies this cluster in these events")
	fs.BoolVar(&s.openReports, "open-reports", false, "write a ClusterReport of openreports.io for each node")
	fs.BoolVar(&s.defaultPolicy, "default-rollout-policy", false, "create the RolloutPolicy default if it is missing, by which changes reach a few nodes first")
	fs.BoolVar(&s.debug, "debug", false, "log every reconciliation")
	if err := fs.Parse(args); err != nil {
		return s, err
	}
	if fs.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q: the manager accepts flags only, see -help", fs.Arg(0))
	}
	return s, s.check()
}

// check returns an error for a flag whose value cannot be used.
func (s settings) check() error {
	if s.qps <= 0 || s.burst < 1 {
		return fmt.Errorf("-kube-api-qps %g and -kube-api-burst %d allow no requests: use more than 0, and 1 or more", s.qps, s.burst)
	}
	if s.lease < 10*time.Second || s.lease > time.Hour || s.lease%time.Second != 0 {
		return fmt.Errorf("-lease-duration %s is invalid: use whole seconds from 10s to 1h", s.lease)
	}
	if s.eventsURL != "" {
		if err := cloudevents.Check(s.eventsURL, s.eventsSource); err != nil {
			return fmt.Errorf("-events-url or -events-source is invalid: %w", err)
		}
	}
	if s.maxDeselection < 0 || s.maxDeselection > 100 {
		return fmt.Errorf("-max-deselection %d is not a percentage: use 0 to 100", s.maxDeselection)
	}
	return nil
}

// gcPercent trades time for memory unless GOGC is set: a fleet has many objects, and
// reconciliations are rare.
const gcPercent = 50

func run(args []string, out io.Writer) error {
	s, err := parse(args, out)
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	setLoggers(s, out)
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find a cluster: %w", err)
	}
	cfg.QPS, cfg.Burst = float32(s.qps), s.burst
	cfg.UserAgent = "fettle-manager/" + version.String()
	ctrl.Log.Info("starting", "version", version.String())
	return serve(ctrl.SetupSignalHandler(), cfg, s)
}

// serve runs a manager until ctx ends or the manager is uninstalled, and answers probes meanwhile.
func serve(ctx context.Context, cfg *rest.Config, s settings) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	parts, err := installation.New(cfg, scheme, clock.RealClock{}, ctrl.Log.WithName("installation"))
	if err != nil {
		return fmt.Errorf("cannot set up the manager: %w", err)
	}
	stop, err := serveProbes(ctx, s.probes, parts.Ready)
	if err != nil {
		return err
	}
	defer stop()
	var managed *installation.Managed // by this manager as the leader
	err = parts.Wait(ctx)
	if err == nil {
		managed, err = manage(ctx, cfg, s, scheme, parts)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, installation.ErrUninstalling) {
		err = nil // neither is a failure
	}
	return errors.Join(err, parts.Release(context.WithoutCancel(ctx), managed))
}

// manage runs a manager, and returns what it managed; nil if it was never the leader.
func manage(ctx context.Context, cfg *rest.Config, s settings, scheme *runtime.Scheme, parts *installation.Installation) (*installation.Managed, error) {
	mgr, err := newManager(cfg, s, scheme)
	if err != nil {
		return nil, err
	}
	recorder, err := newRecorder(mgr, s, scheme)
	if err != nil {
		return nil, fmt.Errorf("cannot set up the webhook: %w", err)
	}
	spans, endTraces := startTraces(ctx)
	defer endTraces()
	reconciler := controllers.New(controllers.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: recorder, Clock: clock.RealClock{}, Kinds: providers.Kinds(),
		LeaseDuration: s.lease, LeastSoak: controllers.LeastSoak(s.lease), MaxDeselection: &s.maxDeselection, Protect: parts.Protect, Owner: parts.Owner,
		Metrics: controllers.NewMetrics(metrics.Registry), Traces: spans,
	})
	if err := add(mgr, cfg, s, reconciler, recorder); err != nil {
		return nil, err
	}
	if err := mgr.Add(parts); err != nil {
		return nil, err
	}
	err = mgr.Start(ctx)
	select {
	case <-mgr.Elected():
		return new(installation.Managed(reconciler.Managed())), err
	default:
		return nil, err
	}
}

// setLoggers sends all logs through one JSON handler, including those of libraries.
func setLoggers(s settings, out io.Writer) {
	level := slog.LevelInfo
	if s.debug {
		level = slog.LevelDebug
	}
	handler := text.LogHandler(out, level)
	slog.SetDefault(slog.New(handler))
	log := logr.FromSlogHandler(handler)
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	traceexport.SetLogger(log.WithName("traces"))
}

// newManager returns a manager that runs nothing yet.
func newManager(cfg *rest.Config, s settings, scheme *runtime.Scheme) (ctrl.Manager, error) {
	address, err := ownAddress()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         caches.Options(),
		HealthProbeBindAddress:        "0",                                     // see serveProbes
		Metrics:                       metricsserver.Options{BindAddress: "0"}, // see serveMetrics
		LeaderElection:                s.elect,
		LeaderElectionID:              leaseName,
		LeaderElectionLabels:          address,
		LeaderElectionNamespace:       s.electNamespace,
		LeaderElectionReleaseOnCancel: true, // main returns as soon as Start does
	})
	if err != nil {
		return nil, fmt.Errorf("cannot set up the manager: %w", err)
	}
	return mgr, nil
}

// newRecorder returns the recorder of events of a manager, which also sends them to the webhook if there is one.
func newRecorder(mgr ctrl.Manager, s settings, scheme *runtime.Scheme) (events.EventRecorder, error) {
	recorder := mgr.GetEventRecorder("fettle-manager")
	if s.eventsURL == "" {
		return recorder, nil
	}
	hook, err := cloudevents.New(cloudevents.Options{
		URL: s.eventsURL, Source: s.eventsSource, Scheme: scheme, Clock: clock.RealClock{}, Log: ctrl.Log.WithName("webhook"),
	}, metrics.Registry)
	if err != nil {
		return nil, err
	}
	return hook.Recorder(recorder), mgr.Add(hook)
}

// add adds the Reconciler to a manager, and everything else that it runs.
func add(mgr ctrl.Manager, cfg *rest.Config, s settings, reconciler *controllers.Reconciler, recorder events.EventRecorder) error {
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("cannot set up the controller: %w", err)
	}
	if err := errors.Join(serveMetrics(mgr, cfg, s.metrics), serveReports(mgr, cfg, s, reconciler)); err != nil {
		return fmt.Errorf("cannot set up the ports: %w", err)
	}
	if err := writeOpenReports(mgr, cfg, s, recorder); err != nil {
		return fmt.Errorf("cannot set up reports for nodes: %w", err)
	}
	if err := checkPolicies(mgr, recorder); err != nil {
		return fmt.Errorf("cannot set up the check of admission policies: %w", err)
	}
	if s.defaultPolicy {
		return createDefaultPolicy(mgr)
	}
	return nil
}

// createDefaultPolicy adds the creation of the default RolloutPolicy to a manager.
func createDefaultPolicy(mgr ctrl.Manager) error {
	creator, err := defaultpolicy.New(mgr.GetClient(), clock.RealClock{}, ctrl.Log.WithName("defaultpolicy"))
	if err != nil {
		return fmt.Errorf("cannot set up the default RolloutPolicy: %w", err)
	}
	return mgr.Add(creator)
}

// checkPolicies adds the check of admission policies to a manager.
func checkPolicies(mgr ctrl.Manager, recorder events.EventRecorder) error {
	policies, err := policycheck.New(mgr.GetAPIReader(), recorder, clock.RealClock{}, ctrl.Log.WithName("policycheck"), metrics.Registry)
	if err != nil {
		return err
	}
	return mgr.Add(policies)
}
