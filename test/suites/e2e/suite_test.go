//go:build e2e

// Package e2e_test runs Fettle on a real cluster, as its users install it: make e2e.
//
// Each of Ginkgo's processes has a cluster of three machines, on which the images of this checkout are installed with
// config/default. Its specs share the cluster, and each leaves it as it found it. After a failure, logs and objects are in the
// directory that FETTLE_E2E_ARTIFACTS names. FETTLE_E2E_CLUSTER is the first part of the clusters' names, so that two suites
// can run at the same time. FETTLE_E2E_COMMIT installs another commit instead of this checkout, to show what its users would
// see, and FETTLE_E2E_PREVIOUS is the commit to upgrade from.
package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/test/cluster"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

const (
	// node is the node that specs change, unless they need several.
	node = "node-1"
	// soon is how long an effect may take on a very busy machine.
	soon = patient.Limit
)

var (
	c         *cluster.Cluster // of this process
	checkout  string
	installed version // what the cluster has before and after each spec
)

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	var err error
	if checkout, err = filepath.Abs("../../.."); err != nil {
		t.Fatal(err)
	}
	RunSpecs(t, "e2e")
}

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) {
	if os.Getenv("FETTLE_E2E_COMMIT") == "" {
		buildImages(ctx)
	}
}, func(ctx SpecContext) {
	name := fmt.Sprintf("%s-%d", cmp.Or(os.Getenv("FETTLE_E2E_CLUSTER"), "fettle-e2e"), GinkgoParallelProcess())
	var err error
	c, err = cluster.Start(ctx, cluster.Options{
		Name: name, Nodes: []string{"node-1", "node-2", "node-3"}, Checkout: checkout, Packages: []string{"nginx-light"}, Progress: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(c.Stop()).To(Succeed()) })
	if commit := os.Getenv("FETTLE_E2E_COMMIT"); commit != "" {
		installed = at(ctx, commit)
	} else {
		installed = checkedOut()
	}
	installed.load(ctx)
	installed.install(ctx)
}, NodeTimeout(90*time.Minute))

// run runs a command in the checkout and returns its standard output.
func run(ctx context.Context, command ...string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = checkout
	var messages strings.Builder // such as what go downloads
	cmd.Stderr = &messages
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), "%s\n%s%s", strings.Join(command, " "), out, &messages)
	return string(out)
}

// kubectl runs kubectl as administrator and returns its standard output.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, err := c.Kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// on runs a script on a node and returns its standard output.
func on(ctx context.Context, name, script string) string {
	GinkgoHelper()
	out, err := machine(name).Shell(ctx, script)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// machine returns a node of the cluster.
func machine(name string) *cluster.Node {
	GinkgoHelper()
	for _, n := range c.Nodes() {
		if n.Name == name {
			return n
		}
	}
	Fail("there is no node " + name)
	return nil
}
