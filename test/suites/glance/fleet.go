// Package glance asks a fleet the questions that kubectl fettle answers.
//
// The fleet has three machines with the real agent, and as many simulated nodes as wanted: real agents in this process, each with a directory as
// its host. The control plane, the manager and kubectl fettle are the real programs. make bench-glance writes the transcript into the documentation
// and measures it; the test has fewer nodes.
package glance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/freeport"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// Programs are paths of the programs that users run.
type Programs struct{ Manager, Agent, Plugin string }

// A Fleet is a cluster with Fettle and its nodes. It ends with the test.
type Fleet struct {
	controlplane.T
	programs  Programs
	dir       string
	cfg       *rest.Config
	admin     client.Client
	overviews *overview.Client
	manager   *controlplane.Process
	machines  []*machine
	simulated []*simulated
	resources []v1alpha1.Resource
	user      string // the kubeconfig of a user
}

// patience is how long anything may take with a few nodes. perNode is added for each node.
const (
	patience = patient.Limit
	perNode  = 200 * time.Millisecond
)

// Pauses between looks at the state.
const (
	shortPause = 200 * time.Millisecond
	longPause  = 10 * time.Second
)

// Start starts a fleet with a number of simulated nodes, at least [MinSimulated], and waits until every node has applied its resources.
func Start(ctx context.Context, t controlplane.T, programs Programs, nodes int) *Fleet {
	t.Helper()
	cfg := controlplane.StartAggregated(t)
	cfg.QPS = -1
	controlplane.Install(t, cfg)
	f := &Fleet{T: t, programs: programs, cfg: cfg, admin: controlplane.Admin(t, cfg)}
	var err error
	f.overviews, err = overview.Connect(cfg)
	f.must(err)
	f.dir, err = os.MkdirTemp(controlplane.Memory(), "fettle-glance-")
	f.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(f.dir) }) // in memory, or nobody misses it
	f.must(f.admit(ctx))
	f.startManager(ctx)
	f.must(f.populate(ctx, nodes))
	f.must(f.bootMachines(ctx))
	f.startSimulated(ctx)
	f.await(ctx, "every node has applied its resources", f.applied())
	return f
}

func (f *Fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("%v", err)
	}
}

// admit makes a user who may see everything, plan everything, and change nothing.
func (f *Fleet) admit(ctx context.Context) error {
	for _, role := range []string{"fettle-planner", "fettle-reports-reader"} {
		err := f.admin.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "ann-" + role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "ann"}},
		})
		if err != nil {
			return err
		}
	}
	plugins := filepath.Join(f.dir, "plugins")
	plugin, err := filepath.Abs(f.programs.Plugin)
	if err == nil {
		err = os.Mkdir(plugins, 0o755)
	}
	if err == nil {
		err = os.Symlink(plugin, filepath.Join(plugins, "kubectl-fettle"))
	}
	f.user = filepath.Join(f.dir, "ann.kubeconfig")
	return errors.Join(err, controlplane.WriteKubeconfig(f.user, f.cfg, "ann"))
}

// startManager starts the manager with the rights of its account, and waits until it serves the API of reports.
func (f *Fleet) startManager(ctx context.Context) {
	f.Helper()
	address, err := freeport.Address()
	f.must(err)
	controlplane.InstallReports(f, f.cfg, address)
	kubeconfig := filepath.Join(f.dir, "manager.kubeconfig")
	f.must(controlplane.WriteKubeconfig(kubeconfig, f.cfg, "system:serviceaccount:fettle-system:fettle-manager"))
	f.manager = f.start("manager", f.programs.Manager, "-kubeconfig", kubeconfig, "-reports-bind-address", address,
		"-metrics-bind-address", "0", "-health-probe-bind-address", "0")
	set, err := kubernetes.NewForConfig(f.cfg)
	f.must(err)
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := set.RESTClient().Get().AbsPath("/apis/reports.fettle.dev/v1alpha1").DoRaw(ctx)
		return err == nil, nil
	})
	if err != nil {
		f.Fatalf("the API of reports is not served: %v\n%s", err, f.log("manager"))
	}
}

// start starts a program that ends with the test.
func (f *Fleet) start(name, program string, args ...string) *controlplane.Process {
	f.Helper()
	log, err := os.Create(f.logFile(name))
	f.must(err)
	p := &controlplane.Process{Path: program, Args: args, Out: log, Err: log}
	f.must(p.Start())
	f.Cleanup(func() {
		p.Stop()
		_ = log.Close() // it has been written
	})
	return p
}

func (f *Fleet) logFile(name string) string { return filepath.Join(f.dir, name+".log") }

// log returns the end of what a program logged.
func (f *Fleet) log(name string) string {
	text, err := os.ReadFile(f.logFile(name))
	if err != nil {
		return err.Error()
	}
	const end = 4000
	return string(text[max(0, len(text)-end):])
}

// ManagerPID is the process of the manager.
func (f *Fleet) ManagerPID() int { return f.manager.PID() }

// Nodes is the number of nodes.
func (f *Fleet) Nodes() int { return len(f.machines) + len(f.simulated) }

// Command is a command line that the user types in a directory with the manifests of changes.
func (f *Fleet) Command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = f.dir
	assets, err := controlplane.Assets()
	f.must(err)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+f.user, "PATH="+filepath.Join(f.dir, "plugins")+":"+assets+":"+os.Getenv("PATH"))
	return cmd
}

// limit is how long anything may take that concerns all nodes.
func (f *Fleet) limit() time.Duration { return patience + time.Duration(f.Nodes())*perNode }

// await waits until the state of the fleet is as expected.
func (f *Fleet) await(ctx context.Context, what string, want state) {
	f.Helper()
	ctx, cancel := context.WithTimeout(ctx, f.limit())
	defer cancel()
	for {
		began := time.Now()
		is, err := f.state(ctx)
		if err == nil && is.diff(want) == "" {
			return
		}
		select {
		case <-ctx.Done():
			f.Fatalf("waiting until %s: %v (-want +got):\n%s\nThe manager logged\n%s", what, err, is.diff(want), f.log("manager"))
		case <-time.After(min(max(shortPause, 5*time.Since(began)), longPause)): // most of the time is that of the fleet
		}
	}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }
