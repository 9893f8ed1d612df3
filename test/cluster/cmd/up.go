package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/test/cluster"
)

// up starts a cluster and ends it with the context.
func up(c *cobra.Command) error {
	nodes, err := c.Flags().GetInt("nodes")
	if err != nil {
		return err
	}
	packages, err := c.Flags().GetStringSlice("packages")
	if err != nil {
		return err
	}
	checkout, err := os.Getwd()
	if err != nil {
		return err
	}
	names := make([]string, nodes)
	for i := range names {
		names[i] = "node-" + strconv.Itoa(i+1)
	}
	started, err := cluster.Start(c.Context(), cluster.Options{Name: name(), Nodes: names, Checkout: checkout, Packages: packages, Progress: c.ErrOrStderr()})
	if err != nil {
		return err
	}
	if err := describe(started).save(); err != nil {
		return errors.Join(err, started.Stop())
	}
	<-c.Context().Done()
	return errors.Join(os.Remove(path()), started.Stop())
}

// start runs up in the background until the cluster is ready.
func start(c *cobra.Command) error {
	if _, err := os.Stat(path()); err == nil {
		return errors.New("a cluster is running already: end it with make cluster-down")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(path() + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	up := exec.Command(self, append([]string{"up"}, os.Args[2:]...)...)
	up.Stdout, up.Stderr = log, log
	up.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := up.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- up.Wait() }()
	for {
		select {
		case err := <-ended:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the cluster did not start: %w: %s", err, text)
		case <-c.Context().Done():
			return errors.Join(c.Context().Err(), up.Process.Signal(syscall.SIGTERM))
		case <-time.After(pollInterval):
		}
		if r, err := find(); err == nil {
			_, err := fmt.Fprintf(c.OutOrStdout(), "export KUBECONFIG=%s PATH=%s:$PATH\n", r.Kubeconfig, filepath.Dir(r.Kubectl))
			return err
		}
	}
}

const pollInterval = 100 * time.Millisecond

// stop ends the running cluster and waits until it is gone.
func stop(ctx context.Context) error {
	r, err := find()
	if err != nil {
		return err
	}
	if err := syscall.Kill(r.Supervisor, syscall.SIGTERM); err != nil {
		return os.Remove(path()) // it was killed
	}
	for syscall.Kill(r.Supervisor, 0) == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
	return nil
}
