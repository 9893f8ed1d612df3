// Command nodeagent brings its host to the state that a NodeCatalog describes.
//
// In a cluster it is the privileged container of a DaemonSet with hostPID, and manages the host of process 1. With a
// kubeconfig it can also run as a service on the host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/host/own"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/internal/version"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/providers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "probe" {
		fail(ask(ctx, os.Args[2:], os.Stderr))
		return
	}
	unix.Umask(0o022) // files that tools create get the usual modes
	opts, err := parse(os.Args[1:], os.Getenv, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2) //nolint:gocritic // the process ends, and the signal handler with it
	}
	fail(run(ctx, opts, os.Stderr))
}

// fail ends the process if there is an error.
func fail(err error) {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "nodeagent:", text.Line(text.Error(err)))
	os.Exit(1)
}

// run runs the agent until ctx ends.
func run(ctx context.Context, opts options, logs io.Writer) error {
	log := logger(opts, logs)
	cfg, err := clusterConfig(opts)
	if err != nil {
		return err
	}
	if opts.hostPID > 0 {
		if err := linux.CheckProcess(opts.hostPID); err != nil {
			return err
		}
	}
	h, err := linux.Open(linux.Options{Root: opts.root, PID: opts.hostPID, Transient: true})
	if err != nil {
		return err
	}
	defer h.Close()
	here, err := linux.Open(linux.Options{})
	if err != nil {
		return err
	}
	defer here.Close()
	stateDir, err := opts.stateDirHere()
	if err != nil {
		return err
	}
	metrics := newMetrics()
	ran, err := nodeagent.Metrics(metrics)
	if err != nil {
		return err
	}
	agent, err := nodeagent.New(nodeagent.Config{
		Node: opts.node, Cluster: cfg, Host: h, Own: ownFiles(opts, h, here), Bucket: bucket.New(h, path.Join(opts.stateDir, "bucket"), opts.bucketLimit), Kinds: providers.Kinds(), StateDir: stateDir, HostStateDir: opts.stateDir,
		Interval: opts.interval, Splay: opts.splay, Spread: opts.spread, KeyAge: opts.keyAge, Watch: opts.watch, Limit: opts.limit, Before: opts.before, After: opts.after,
		Images: opts.images.Client(h), Log: log, Ran: ran,
	})
	if err != nil {
		return err
	}
	renew, err := renewal(opts, cfg, log)
	if err != nil {
		return err
	}
	log.Info("the agent starts", "version", version.String(), "node", opts.node)
	return serve(ctx, opts, metrics, &turn{dir: stateDir, run: agent.Run, ready: agent.Ready, log: log}, agent.Alive, renew)
}

// ownFiles are Fettle's own files on a host, and those of this process, which are on it under other paths if that is a pod.
func ownFiles(opts options, h, here host.Reader) *own.Files {
	mine := []string{"/var/run/secrets/kubernetes.io/serviceaccount"}
	if opts.kubeconfig != "" {
		mine = append(mine, opts.kubeconfig)
	}
	if opts.hostPID > 0 {
		mine = append(mine, path.Dir(opts.images.Config))
	}
	return own.New(own.Root{Host: h, Paths: own.Dirs(opts.stateDir), Bucket: path.Join(opts.stateDir, "bucket")}, own.Root{Host: here, Paths: mine})
}

// logger returns a JSON logger, which the libraries use, too.
func logger(opts options, to io.Writer) *slog.Logger {
	handler := text.LogHandler(to, opts.level)
	log := slog.New(handler)
	klog.SetSlogLogger(log)
	return log
}

// clusterConfig reads the kubeconfig or, without one, the pod's own configuration.
func clusterConfig(opts options) (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", opts.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("no cluster configuration: set --kubeconfig or run in a pod: %w", err)
	}
	cfg.UserAgent = "fettle-nodeagent/" + version.String()
	cfg.QPS, cfg.Burst = float32(opts.qps), opts.burst
	return cfg, nil
}
