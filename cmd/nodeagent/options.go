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

	"github.com/kballard/go-shellquote"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent"
)

// options are the flags.
type options struct {
	node, kubeconfig string
	root             string
	hostPID          int
	stateDir         string
	bucketLimit      int64
	interval, splay  time.Duration
	spread           time.Duration
	qps              float64
	burst            int
	keyAge           time.Duration
	watch            bool
	limit            time.Duration
	before, after    []string
	level            slog.Level
	metrics, health  string
}

// parse reads the flags and tells usage about what is wrong with them.
func parse(args []string, env func(string) string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("nodeagent", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&o.node, "node-name", env("NODE_NAME"), "the Node that this host is; default $NODE_NAME")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "file that says how to reach the cluster; default the pod's service account")
	flags.StringVar(&o.root, "root", "", "directory that is the host's /; commands are chrooted into it (default /)")
	flags.IntVar(&o.hostPID, "host-pid", 0, "act on the host of this process, as 1 in a pod with hostPID; excludes --root")
	flags.StringVar(&o.stateDir, "state-dir", state.DefaultDir, "directory of the host for the agent's state")
	o.bucketLimit = bucket.DefaultLimit
	flags.Func("bucket-limit", "how much may be kept of the files that were replaced, as 500Mi: the oldest go before there would be more; 0 keeps all (default 1Gi)",
		func(text string) (err error) {
			o.bucketLimit, err = bucket.ParseLimit(text)
			return err
		})
	flags.DurationVar(&o.interval, "interval", nodeagent.DefaultInterval, "time between runs, give or take a tenth")
	flags.DurationVar(&o.splay, "splay", nodeagent.DefaultSplay, "the first run waits for a random time of up to this, unless there is something new")
	flags.DurationVar(&o.spread, "spread", nodeagent.DefaultSpread, "nodes begin a change within this, each at a place of its own, so that a fleet does not fetch at once what is new; 0s begins at once")
	flags.Float64Var(&o.qps, "kube-api-qps", nodeagent.DefaultQPS, "requests a second to the API server, of each kind of object, over a while")
	flags.IntVar(&o.burst, "kube-api-burst", nodeagent.DefaultBurst, "requests that may go beyond that at once")
	flags.DurationVar(&o.keyAge, "key-max-age", nodeagent.DefaultKeyAge, "replace the key that secrets are sealed to when it is older; the old one is kept as long as anything needs it. 0 keeps one for ever")
	flags.BoolVar(&o.watch, "watch", true, "correct drift as it happens, where a resource can be watched; otherwise at the interval alone")
	flags.DurationVar(&o.limit, "run-timeout", hostrun.DefaultLimit, "stop a run that takes longer: the resource in hand is finished, the rest skipped, and the run failed; 0 never stops one")
	flags.Func("prerun-command", "command to run on the host before each run that is not noop; if it fails there is no run", words(&o.before))
	flags.Func("postrun-command", "command to run on the host after each run that is not noop; if it fails the run failed", words(&o.after))
	flags.TextVar(&o.level, "log-level", slog.LevelInfo, "debug, info, warn or error")
	flags.StringVar(&o.metrics, "metrics-bind-address", "0", "address that serves /metrics over HTTP, as :8080; 0 serves none")
	flags.StringVar(&o.health, "health-probe-bind-address", "0", "address that serves /healthz and /readyz, as :8081; 0 serves none")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintln(usage, "nodeagent:", err)
		return o, err
	}
	return o, nil
}

// words splits a command as a shell would, without expanding anything.
func words(to *[]string) func(string) error {
	return func(command string) (err error) {
		*to, err = shellquote.Split(command)
		return err
	}
}

// check returns an error for invalid options, with the fix.
func (o options) check(rest []string) error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(len(rest) > 0, "argument %q is not a flag: remove it", rest)
	add(o.node == "", "--node-name is missing: give the name of the Node, or set NODE_NAME")
	add(o.hostPID < 0, "--host-pid %d is not a process", o.hostPID)
	add(o.hostPID > 0 && o.root != "", "--host-pid %d and --root %s exclude each other: give one", o.hostPID, o.root)
	add(o.root != "" && !filepath.IsAbs(o.root), "--root %s is not absolute", o.root)
	add(!filepath.IsAbs(o.stateDir), "--state-dir %s is not absolute", o.stateDir)
	add(o.interval < time.Second, "--interval %s is too short: give 1s or more", o.interval)
	add(o.splay < 0, "--splay %s is negative: give 0s or more", o.splay)
	add(o.keyAge != 0 && o.keyAge < time.Hour, "--key-max-age %s is too short: give 1h or more, or 0s for ever", o.keyAge)
	add(o.spread < 0 || o.spread > o.interval, "--spread %s is negative or longer than --interval %s: give 0s to that", o.spread, o.interval)
	add(o.qps <= 0, "--kube-api-qps %g is not a rate: give more than 0", o.qps)
	add(o.burst < 1, "--kube-api-burst %d lets nothing through: give 1 or more", o.burst)
	add(o.limit < 0, "--run-timeout %s is negative: give 0s for none", o.limit)
	return errors.Join(errs...)
}

// stateDirHere is the state directory as this process finds it.
func (o options) stateDirHere() (string, error) {
	root := cmp.Or(o.root, "/")
	if o.hostPID > 0 {
		root = fmt.Sprintf("/proc/%d/root", o.hostPID)
	}
	return state.DirOf(root, o.stateDir)
}
