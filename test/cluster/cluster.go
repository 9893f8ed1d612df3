// Package cluster starts a real Kubernetes cluster on one machine: a control plane, and systemd machines with containerd,
// kubelet and kube-proxy, which run pods.
//
// Everything is built from Go modules and Debian packages, and needs no container registry and no container engine. The
// cluster has a network namespace of its own, without a route to any other network. RBAC, Node authorization and
// NodeRestriction are on. The cluster ends with the process that started it, however that ends. If that was killed, the
// next cluster of the same name removes what is left.
package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/test/cluster/netns"
	"github.com/fettle-dev/fettle/test/cluster/pki"
	"github.com/fettle-dev/fettle/test/cluster/programs"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// startLimit is about ten times the usual time on two busy cores, after everything was built.
const startLimit = 5 * time.Minute

// runtimeDir has a directory and a lock for each cluster.
const runtimeDir = "/run/fettle-clusters"

// Options of a cluster.
type Options struct {
	// Name is the name of the network namespace, which no other running cluster may have.
	Name string
	// Nodes are the names of the nodes.
	Nodes []string
	// Checkout is the directory of the module.
	Checkout string
	// Packages of Debian are offered to the machines, which have no other source of packages.
	Packages []string
	// APIServerFlags are additional flags of kube-apiserver.
	APIServerFlags []string
	// Progress gets a line for each step.
	Progress io.Writer
}

// A Cluster runs until Stop, or until this process ends.
type Cluster struct {
	// Dir has kubeconfig and log/.
	Dir          string
	ControlPlane ControlPlane

	options   Options
	lock      *os.File // held while the cluster exists
	netns     netns.Namespace
	authority *pki.Authority
	programs  programs.Programs
	layers    []string
	forward   net.Listener
	nodes     []*Node
}

// Start starts a cluster and waits until its nodes are ready and its DNS works.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{options: options, netns: netns.Namespace{Name: options.Name}, Dir: filepath.Join(runtimeDir, options.Name)}
	if err := c.claimName(ctx); err != nil {
		return nil, fmt.Errorf("cannot start a cluster: %w", err)
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start a cluster: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if err = checkRoom(); err != nil {
		return err
	}
	if c.programs, err = programs.Build(ctx, c.options.Checkout, c.options.Progress); err != nil {
		return err
	}
	if c.layers, err = c.buildLayers(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"network", c.startNetwork},
		{"control plane", c.startControlPlane},
		{"nodes", c.startNodes},
		{"DNS", c.startDNS},
	} {
		begun := time.Now()
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(c.options.Progress, "%s: %.1f s\n", step.name, time.Since(begun).Seconds())
	}
	return nil
}

// claimName makes sure that no other cluster has the name, and removes what one left that was killed.
func (c *Cluster) claimName(ctx context.Context) (err error) {
	if err = os.MkdirAll(runtimeDir, 0o700); err != nil {
		return err
	}
	if c.lock, err = os.OpenFile(c.Dir+".lock", os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err = unix.Flock(int(c.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("the cluster %s is running: %w", c.options.Name, err), c.lock.Close())
	}
	if err = c.netns.Kill(ctx); err == nil {
		err = c.remove()
	}
	if err != nil {
		return errors.Join(err, c.lock.Close())
	}
	return nil
}

// remove removes the files and the network namespace.
func (c *Cluster) remove() error {
	return errors.Join(os.RemoveAll(c.Dir), c.netns.Delete(context.Background()))
}

// buildLayers returns the layers of machines, the topmost first.
func (c *Cluster) buildLayers(ctx context.Context) ([]string, error) {
	tools, err := debian.Layer{Install: []string{"nftables", "kmod"}, Offer: c.options.Packages}.Build(ctx, c.options.Progress)
	return []string{c.programs.Layer(), tools}, err
}

func (c *Cluster) startNetwork(ctx context.Context) (err error) {
	if err = os.MkdirAll(c.file("log"), 0o700); err != nil {
		return err
	}
	if err = c.netns.Create(ctx); err != nil {
		return err
	}
	if err = c.netns.Bridge(ctx, bridge, gateway+"/24"); err != nil {
		return err
	}
	for i := range c.options.Nodes {
		if err = c.netns.Run(ctx, "ip", "route", "add", podsOf(i), "via", addressOf(i)); err != nil {
			return err
		}
	}
	if c.authority, err = pki.New(c.options.Name); err != nil {
		return err
	}
	if err = c.newControlPlane(); err != nil {
		return err
	}
	if c.forward, err = c.netns.Forward(server); err != nil {
		return err
	}
	return c.writeKubeconfig()
}

// writeKubeconfig writes the kubeconfig for use outside the cluster's network.
func (c *Cluster) writeKubeconfig() error {
	certificate, err := os.ReadFile(c.file("admin.crt"))
	if err != nil {
		return err
	}
	key, err := os.ReadFile(c.file("admin.key"))
	if err != nil {
		return err
	}
	kubeconfig, err := c.kubeconfig("https://"+c.forward.Addr().String(), certificate, key)
	if err != nil {
		return err
	}
	return os.WriteFile(c.Kubeconfig(), kubeconfig, 0o600)
}

// Kubeconfig is the path of an administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.file("kubeconfig") }

// Server is the URL of the API server for nodes.
func (c *Cluster) Server() string { return "https://" + server }

// Gateway is the address of the control plane's machine for nodes.
func (c *Cluster) Gateway() string { return gateway }

// Listen listens on a port of the control plane's machine, which nodes reach. It returns the address.
func (c *Cluster) Listen(port int) (net.Listener, string, error) {
	address := net.JoinHostPort(gateway, strconv.Itoa(port))
	l, err := c.netns.Listen(address)
	return l, address, err
}

// Programs are the directories with kubectl and the other programs.
func (c *Cluster) Programs() programs.Programs { return c.programs }

func (c *Cluster) file(name string) string { return filepath.Join(c.Dir, name) }

// Stop ends the cluster and removes what it made. It may be called once.
func (c *Cluster) Stop() error {
	var machines errgroup.Group
	for _, n := range c.nodes {
		machines.Go(n.stop)
	}
	err := machines.Wait()
	if c.ControlPlane.Etcd != nil {
		c.ControlPlane.stop()
	}
	if c.forward != nil {
		err = errors.Join(err, c.forward.Close())
	}
	return errors.Join(err, c.remove(), c.lock.Close())
}

// output runs a command and returns its standard output. The error contains its standard error.
func output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}
