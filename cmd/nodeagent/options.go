package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/durationflag"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/nodeagent/probe"
)

// options are the flags.
type options struct {
	node, kubeconfig string
	renew            bool
	root             string
	hostPID          int
	stateDir         string
	bucketLimit      int64
	images           image.Setup
	interval, splay  time.Duration
	spread           time.Duration
	qps              float64
	burst            int
	keyAge           time.Duration
	watch            bool
	limit            time.Duration
	before, after    []string
	level            slog.Level
	metrics, probes  string
}

// parse parses the flags and prints errors to usage.
func parse(args []string, env func(string) string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("nodeagent", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&o.node, "node-name", env("NODE_NAME"), "name of this host's Node (default $NODE_NAME)")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file for the cluster (default: the service account of the pod)")
	flags.BoolVar(&o.renew, "renew-token", false, "renew the token in the tokenFile of --kubeconfig, which is bound to this host's Node, before it expires")
	flags.StringVar(&o.root, "root", "", "directory that is the root of the host; commands run chrooted in it (default /)")
	flags.IntVar(&o.hostPID, "host-pid", 0, "manage the host of this process, such as 1 in a pod with hostPID; mutually exclusive with --root")
	flags.StringVar(&o.stateDir, "state-dir", state.DefaultDir, "directory on the host for the agent's state")
	o.bucketLimit = bucket.DefaultLimit
	flags.Func("bucket-limit", "maximum size of the bucket for replaced files, such as 500Mi; the oldest are deleted first; 0 means no limit (default 1Gi)",
		func(text string) (err error) {
			o.bucketLimit, err = bucket.ParseLimit(text)
			return err
		})
	flags.StringVar(&o.images.Config, "registry-config", image.DefaultConfig, "config.json of docker with the credentials of registries for images of external types; after it, that of the host's kubelet counts")
	flags.StringVar(&o.images.Keys, "type-keys", "", "file or directory of public keys in PEM, of which one must have signed each image of an external type (default: signatures are not checked)")
	flags.Var(durationflag.New(&o.interval, nodeagent.DefaultInterval), "interval", "time between runs, plus or minus 10%")
	flags.Var(durationflag.New(&o.splay, nodeagent.DefaultSplay), "splay", "maximum random delay of the first run, unless there is a change")
	flags.Var(durationflag.New(&o.spread, nodeagent.DefaultSpread), "spread", "window in which nodes start a change, each at its own offset, so that a fleet does not fetch new catalogs all at once; 0s starts at once")
	flags.Float64Var(&o.qps, "kube-api-qps", nodeagent.DefaultQPS, "sustained requests per second to the API server, for each kind of object")
	flags.IntVar(&o.burst, "kube-api-burst", nodeagent.DefaultBurst, "burst of requests above that rate")
	flags.Var(durationflag.New(&o.keyAge, nodeagent.DefaultKeyAge), "key-max-age", "replace the key for sealed secrets when it is older than this; the old key stays as long as anything needs it; 0 never replaces it")
	flags.BoolVar(&o.watch, "watch", true, "correct drift as it happens where resources can be watched; otherwise only at the interval")
	flags.Var(durationflag.New(&o.limit, hostrun.DefaultLimit), "run-timeout", "stop a run that takes longer: it finishes the current resource, skips the rest, and fails; 0 means no limit")
	flags.Func("prerun-command", "command to run on the host before each run without noop; if it fails, there is no run", command(&o.before))
	flags.Func("postrun-command", "command to run on the host after each run without noop; if it fails, the run fails", command(&o.after))
	flags.TextVar(&o.level, "log-level", slog.LevelInfo, "debug, info, warn or error")
	flags.StringVar(&o.metrics, "metrics-bind-address", "0", "address for /metrics over HTTP, such as :8080; 0 disables it")
	flags.StringVar(&o.probes, "probe-socket", "", "path of the Unix socket for `nodeagent probe`, such as "+probe.DefaultSocket+" (default: none)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintln(usage, "nodeagent:", err)
		return o, err
	}
	return o, nil
}

// command reads a command of the host.
func command(to *[]string) func(string) error {
	return func(line string) (err error) {
		*to, err = hostrun.Command(line)
		return err
	}
}

// check validates ranges and combinations of flags.
func (o options) check(rest []string) error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(len(rest) > 0, "argument %q is not a flag: remove it", rest)
	add(o.node == "", "--node-name is missing: set it, or NODE_NAME, to the name of the Node")
	add(o.renew && o.kubeconfig == "", "--renew-token requires --kubeconfig: in a pod, the kubelet renews the token")
	add(o.hostPID < 0, "--host-pid %d is not a process", o.hostPID)
	add(o.hostPID > 0 && o.root != "", "--host-pid %d and --root %s are mutually exclusive: use one", o.hostPID, o.root)
	add(o.root != "" && !filepath.IsAbs(o.root), "--root %s is not absolute", o.root)
	add(!filepath.IsAbs(o.stateDir), "--state-dir %s is not absolute", o.stateDir)
	add(o.interval < time.Second, "--interval %s is too short: use 1s or more", o.interval)
	add(o.splay < 0, "--splay %s is negative: use 0s or more", o.splay)
	add(o.keyAge != 0 && o.keyAge < time.Hour, "--key-max-age %s is too short: use 1h or more, or 0s never to replace it", o.keyAge)
	add(o.spread < 0 || o.spread > o.interval, "--spread %s is not between 0s and --interval %s", o.spread, o.interval)
	add(o.qps <= 0, "--kube-api-qps %g is not a rate: use more than 0", o.qps)
	add(o.burst < 1, "--kube-api-burst %d allows no requests: use 1 or more", o.burst)
	add(o.limit < 0, "--run-timeout %s is negative: use 0s for no limit", o.limit)
	return errors.Join(errs...)
}

// stateDirHere is the path of the state directory for this process.
func (o options) stateDirHere() (string, error) {
	root := cmp.Or(o.root, "/")
	if o.hostPID > 0 {
		root = fmt.Sprintf("/proc/%d/root", o.hostPID)
	}
	return state.DirOf(root, o.stateDir)
}
