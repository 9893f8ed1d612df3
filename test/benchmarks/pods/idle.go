package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/test/cluster"
)

// A pod is what a pod used while nothing changed.
type pod struct {
	what           string // such as "agent"
	idle, peak     int64  // bytes charged to its container's control group; peak since its start
	anonymous      int64  // of idle, memory that is not a cache of files
	cpu            time.Duration
	requests       int // to the API server
	writes, leases int // of these; leases are not among writes

	name string
	user requester
	node *cluster.Node
	id   string // of the container
}

// measureIdle measures the pods in a period without changes. It begins once the caches of the last change are written.
func (l *lab) measureIdle(ctx context.Context, o options, r *result) error {
	pods, err := l.pods(ctx)
	if err != nil {
		return err
	}
	l.stage.Pause(ctx, 30*time.Second)
	began := time.Now()
	before := make([]time.Duration, len(pods))
	for i, p := range pods {
		if before[i], err = p.cpuTime(ctx); err != nil {
			return err
		}
	}
	l.stage.Pause(ctx, o.idle)
	for i := range pods {
		if err := pods[i].measure(ctx, before[i]); err != nil {
			return err
		}
	}
	r.idle = time.Since(began)
	r.pods = pods
	return l.countRequests(began, r.pods)
}

// pods finds the leading manager, the other one, and the agent of each node.
func (l *lab) pods(ctx context.Context) ([]pod, error) {
	leader, err := l.Kubectl(ctx, "-n", "fettle-system", "get", "leases", "-o", "jsonpath={.items[*].spec.holderIdentity}")
	if err != nil {
		return nil, err
	}
	out, err := l.Kubectl(ctx, "get", "pods", "-A", "-l", "app.kubernetes.io/name=fettle", "-o",
		`jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name} {.spec.nodeName} {.status.containerStatuses[0].containerID}{"\n"}{end}`)
	if err != nil {
		return nil, err
	}
	var all []pod
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, fmt.Errorf("a pod does not run: %s", line)
		}
		p := pod{what: "agent on " + f[2], name: f[1], id: strings.TrimPrefix(f[3], "containerd://"), user: requester{account: "system:serviceaccount:fettle-nodes:fettle-nodeagent", node: f[2]}}
		if f[0] == "fettle-system" {
			p.what, p.user = "manager, standby", requester{account: "system:serviceaccount:fettle-system:fettle-manager", pod: f[1]}
			if strings.Contains(leader, f[1]) {
				p.what = "manager, leader"
			}
		}
		for _, n := range l.Nodes() {
			if n.Name == f[2] {
				p.node = n
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// measure reads the control group of the container.
func (p *pod) measure(ctx context.Context, cpuBefore time.Duration) error {
	cpu, err := p.cpuTime(ctx)
	if err != nil {
		return err
	}
	p.cpu = cpu - cpuBefore
	if p.idle, err = p.number(ctx, "memory.current", "memory.usage_in_bytes"); err != nil {
		return err
	}
	if p.peak, err = p.number(ctx, "memory.peak", "memory.max_usage_in_bytes"); err != nil {
		return err
	}
	p.anonymous, err = p.number(ctx, "memory.stat anon", "memory.stat total_rss")
	return err
}

func (p *pod) cpuTime(ctx context.Context) (time.Duration, error) {
	if ns, err := p.number(ctx, "cpuacct.usage"); err == nil { // cgroup v1
		return time.Duration(ns), nil
	}
	us, err := p.number(ctx, "cpu.stat usage_usec")
	return time.Duration(us) * time.Microsecond, err
}

// number reads the first of some numbers that the container's control group has: a file with one number, or a file and a key.
// Versions 1 and 2 of control groups have different ones.
func (p *pod) number(ctx context.Context, names ...string) (int64, error) {
	for _, name := range names {
		file, key, _ := strings.Cut(name, " ")
		out, err := p.node.Shell(ctx, "find /sys/fs/cgroup -path '*"+p.id+"*/"+file+"' -exec cat {} +")
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(out) {
			f := strings.Fields(line)
			if key == "" && len(f) == 1 || len(f) == 2 && f[0] == key {
				return strconv.ParseInt(f[len(f)-1], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("the control group of %s has no %q", p.name, names)
}
