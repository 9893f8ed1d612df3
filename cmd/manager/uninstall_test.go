package main_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/freeport"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A cluster has config/default, and managers that run under their own ServiceAccount.
type cluster struct {
	*testing.T
	cfg    *rest.Config
	admin  client.Client
	config string // kubeconfig of the administrator
	bin    string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	cfg, _ := controlplane.Start(t)
	c := &cluster{T: t, cfg: cfg, admin: controlplane.Admin(t, cfg), config: kubeconfig(t, cfg, ""), bin: build(t)}
	c.install()
	return c
}

func (c *cluster) install() {
	c.Helper()
	controlplane.Kubectl(c, c.config, "apply", "--server-side", "--force-conflicts", "-k", "../../config/default")
}

// A process is a running manager.
type process struct {
	*exec.Cmd
	probes string
	log    *syncBuffer
	ended  chan struct{} // closed when the process has ended
	err    error         // how it ended

	terminate sync.Once
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a manager with a token of its ServiceAccount, and further arguments.
func (c *cluster) start(name string, args ...string) *process {
	c.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "fettle-system", Name: name}}
	if err := c.admin.SubResource("token").Create(c.Context(), account, request); err != nil {
		c.Fatal(err)
	}
	own := rest.AnonymousClientConfig(c.cfg)
	own.BearerToken = request.Status.Token
	return startManagerWith(c.T, c.bin, kubeconfig(c.T, own, ""), nil, args...)
}

func startManager(t *testing.T, bin, config string) *process {
	t.Helper()
	return startManagerWith(t, bin, config, nil)
}

// startManagerWith is startManager with environment variables and further arguments.
func startManagerWith(t *testing.T, bin, config string, env []string, args ...string) *process {
	t.Helper()
	p := &process{probes: freeport.AddressFor(t), log: &syncBuffer{}, ended: make(chan struct{})}
	p.Cmd = exec.Command(bin, append([]string{
		"--kubeconfig", config, "--leader-elect", "--leader-elect-namespace=fettle-system",
		"--metrics-bind-address=0", "--health-probe-bind-address=" + p.probes,
	}, args...)...)
	p.Stderr, p.Env = p.log, append(os.Environ(), env...)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Log(p.log.String())
		}
	})
	return p
}

// leads reports whether a process is the leader.
func (p *process) leads() bool {
	return strings.Contains(p.log.String(), "Successfully acquired lease")
}

// manage creates Files with the policy Delete, and returns when they have a finalizer and nodes have their catalogs.
func (c *cluster) manage(names ...string) {
	c.Helper()
	for _, name := range names {
		f := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name}}
		f.Spec.NodeSelector, f.Spec.Path, f.Spec.Content, f.Spec.DeletionPolicy = &metav1.LabelSelector{}, "/"+name, new("x"), v1alpha1.DeletionDelete
		if err := c.admin.Create(c.Context(), f); err != nil {
			c.Fatal(err)
		}
	}
	eventually(c.T, "finalizers", func() bool {
		var files v1alpha1.FileList
		var nodes v1alpha1.NodeCatalogList
		if c.admin.List(c.Context(), &files) != nil || c.admin.List(c.Context(), &nodes) != nil {
			return false
		}
		for _, f := range files.Items {
			if len(f.Finalizers) == 0 {
				return false
			}
		}
		for _, n := range nodes.Items {
			if len(n.Spec.Catalogs) == 0 {
				return false
			}
		}
		return len(nodes.Items) > 0
	})
}

// watchSpecs returns the specs of NodeCatalogs that are written from now on.
func (c *cluster) watchSpecs() func() []string {
	c.Helper()
	watching, err := client.NewWithWatch(c.cfg, client.Options{Scheme: c.admin.Scheme()})
	if err != nil {
		c.Fatal(err)
	}
	before := map[string]int64{}
	var all v1alpha1.NodeCatalogList
	if err := c.admin.List(c.Context(), &all); err != nil {
		c.Fatal(err)
	}
	for _, n := range all.Items {
		before[n.Name] = n.Generation
	}
	w, err := watching.Watch(c.Context(), &v1alpha1.NodeCatalogList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: all.ResourceVersion}})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(w.Stop)
	var mu sync.Mutex
	var written []string
	go func() {
		for e := range w.ResultChan() {
			if n, ok := e.Object.(*v1alpha1.NodeCatalog); ok && n.DeletionTimestamp == nil && n.Generation != before[n.Name] {
				mu.Lock()
				written = append(written, fmt.Sprintf("%s %s: %+v", e.Type, n.Name, n.Spec))
				mu.Unlock()
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return written
	}
}

// deleteNamespaces does what the namespace controller does with terminating namespaces.
func (c *cluster) deleteNamespaces(ctx context.Context) {
	for ctx.Err() == nil {
		var all corev1.NamespaceList
		_ = c.admin.List(ctx, &all)
		for i := range all.Items {
			if ns := &all.Items[i]; ns.DeletionTimestamp != nil && c.empty(ctx, ns.Name) {
				ns.Spec.Finalizers = nil
				_ = c.admin.SubResource("finalize").Update(ctx, ns)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// empty deletes what a namespace contains, and reports whether nothing is left.
func (c *cluster) empty(ctx context.Context, namespace string) bool {
	for _, o := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &coordinationv1.Lease{}} {
		_ = c.admin.DeleteAllOf(ctx, o, client.InNamespace(namespace))
	}
	for _, list := range []client.ObjectList{&corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &coordinationv1.LeaseList{}} {
		if err := c.admin.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil || !isEmpty(list) {
			return false
		}
	}
	return true
}

func isEmpty(list client.ObjectList) bool {
	switch l := list.(type) {
	case *corev1.ServiceAccountList:
		return len(l.Items) == 0
	case *rbacv1.RoleList:
		return len(l.Items) == 0
	case *rbacv1.RoleBindingList:
		return len(l.Items) == 0
	case *coordinationv1.LeaseList:
		return len(l.Items) == 0
	}
	return false
}

// terminate stops managers as kubelets do.
func terminate(managers ...*process) {
	for _, p := range managers {
		p.terminate.Do(func() { _ = p.Process.Signal(syscall.SIGTERM) }) // a second signal ends it at once
	}
}

// Everything is deleted at once, while managers run and a resource has a finalizer. Each case uninstalls what the case
// before it left behind, so each proves a reinstallation, too.
func TestUninstallingWithoutAnOrderFinishes(t *testing.T) {
	t.Parallel()

	c := newCluster(t)
	go c.deleteNamespaces(t.Context())
	for _, n := range []string{"n1", "n2"} {
		if err := c.admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n}}); err != nil {
			t.Fatal(err)
		}
	}
	all := []string{"-k", "../../config/default"}
	prefixed := []string{"-k", overlay(t, "acme-", "default")}
	for _, tt := range []struct {
		name, account    string
		install, without []string
		stop             func(leader, standby *process)
		keepsDefinitions bool
	}{
		{name: "Pods are stopped", install: all, without: all, stop: func(leader, standby *process) { terminate(leader, standby) }},
		{name: "managers notice by themselves", install: all, without: all, stop: func(_, _ *process) {}},
		{name: "the leader is killed", install: all, without: all, stop: func(leader, standby *process) {
			_ = leader.Process.Kill()
			terminate(standby)
		}},
		{name: "names have a prefix", account: "acme-fettle-manager", install: prefixed, without: prefixed, stop: func(leader, standby *process) { terminate(leader, standby) }},
		{
			name: "definitions stay, as with Helm", install: all, keepsDefinitions: true,
			without: []string{"-k", overlay(t, "", "rbac", "manager")}, stop: func(leader, standby *process) { terminate(leader, standby) },
		},
		{
			name: "only the namespace is deleted", install: all, keepsDefinitions: true,
			without: []string{"namespace/fettle-system"}, stop: func(leader, standby *process) { terminate(leader, standby) },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c.T = t
			account := cmp.Or(tt.account, "fettle-manager")
			controlplane.Kubectl(t, c.config, append([]string{"apply", "--server-side", "--force-conflicts"}, tt.install...)...)
			leader := c.start(account)
			eventually(t, "a leader", leader.leads)
			standby := c.start(account)
			eventually(t, "a standby", standby.ready)
			c.manage("a", "b", "c")
			written := c.watchSpecs()

			begin := time.Now()
			deleted := c.delete(tt.without...)
			eventually(t, "the ServiceAccount to be deleted", func() bool { return c.deleting(account) })
			tt.stop(leader, standby)
			if err := <-deleted; err != nil {
				t.Fatalf("after %s: %v", time.Since(begin), err)
			}
			t.Logf("uninstalled in %s", time.Since(begin).Round(100*time.Millisecond))
			if w := written(); len(w) > 0 {
				t.Errorf("nodes got other catalogs: %q", w)
			}
			terminate(leader, standby)
			<-leader.ended
			<-standby.ended
			if standby.err != nil {
				t.Errorf("the standby exited with %v", standby.err)
			}
			c.expectEvent()
			c.expectNoFinalizers()
			if tt.keepsDefinitions {
				c.manageNothing()
			}
		})
	}
}

// overlay returns a kustomization of folders in config that adds a prefix to names.
func overlay(t *testing.T, prefix string, folders ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, folder := range folders {
		config, err := filepath.Abs("../../config/" + folder)
		if err == nil {
			folders[i], err = filepath.Rel(dir, config)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	kustomization := fmt.Sprintf("namePrefix: %q\nresources: [%s]\n", prefix, strings.Join(folders, ", "))
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A manager that is replaced, as in an update, is not uninstalled.
func TestStoppedManagerLeavesFinalizers(t *testing.T) {
	t.Parallel()

	c := newCluster(t)
	if err := c.admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	p := c.start("fettle-manager")
	c.manage("a")
	if got := c.protected(); got != 5 {
		t.Errorf("%d objects are protected, want 5", got)
	}
	terminate(p)
	<-p.ended
	var f v1alpha1.File
	if err := c.admin.Get(t.Context(), client.ObjectKey{Name: "a"}, &f); err != nil || !slices.Equal(f.Finalizers, []string{v1alpha1.FinalizerCleanup}) {
		t.Errorf("finalizers are %q, %v", f.Finalizers, err)
	}
	if got := c.protected(); got != 5 {
		t.Errorf("%d objects are protected after the manager, want 5", got)
	}

	// The last resource that needs a finalizer is gone.
	c.start("fettle-manager")
	c.manageNothing()
	eventually(t, "the protection to end", func() bool { return c.protected() == 0 })

	// A role that somebody replaced is protected again.
	c.manage("b")
	controlplane.Kubectl(t, c.config, "patch", "clusterrole", "fettle-manager-kinds", "--type=merge", `-p={"metadata":{"finalizers":null}}`)
	eventually(t, "the protection to be restored", func() bool { return c.protected() == 5 })
}

func (p *process) ready() bool {
	answer, err := http.Get("http://" + p.probes + "/readyz")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// delete runs kubectl delete, which waits until everything is gone.
func (c *cluster) delete(args ...string) <-chan error {
	c.Helper()
	cmd := c.kubectl(append([]string{"delete", "--ignore-not-found", "--timeout=" + patient.Limit.String()}, args...)...)
	done := make(chan error, 1)
	go func() {
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		done <- err
	}()
	return done
}

// deleting reports whether a ServiceAccount is being deleted, or is gone.
func (c *cluster) deleting(account string) bool {
	var a corev1.ServiceAccount
	err := c.admin.Get(c.Context(), client.ObjectKey{Namespace: "fettle-system", Name: account}, &a)
	return apierrors.IsNotFound(err) || err == nil && a.DeletionTimestamp != nil
}

// protected counts the objects that a manager protects.
func (c *cluster) protected() int {
	c.Helper()
	out := controlplane.Kubectl(c, c.config, "get", "serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings", "-A", "-o", "jsonpath={.items[*].metadata.finalizers}")
	return strings.Count(out, v1alpha1.FinalizerUninstall)
}

func (c *cluster) expectNoFinalizers() {
	c.Helper()
	if n := c.protected(); n > 0 {
		c.Errorf("%d objects are still protected", n)
	}
	var files v1alpha1.FileList
	if err := c.admin.List(c.Context(), &files); err != nil && !apierrors.IsNotFound(err) {
		c.Fatal(err)
	}
	for _, f := range files.Items {
		if len(f.Finalizers) > 0 {
			c.Errorf("File %s has the finalizers %q", f.Name, f.Finalizers)
		}
	}
}

// manageNothing deletes all Files.
func (c *cluster) manageNothing() {
	c.Helper()
	var files v1alpha1.FileList
	if err := c.admin.List(c.Context(), &files); err != nil {
		c.Fatal(err)
	}
	for i := range files.Items {
		f := &files.Items[i]
		f.Annotations = map[string]string{v1alpha1.AnnotationAbandonCleanup: "true"}
		if err := c.admin.Update(c.Context(), f); err != nil {
			c.Fatal(err)
		}
		if err := c.admin.Delete(c.Context(), f); err != nil {
			c.Fatal(err)
		}
	}
	eventually(c.T, "Files to be deleted", func() bool {
		err := c.admin.List(c.Context(), &files)
		return err == nil && len(files.Items) == 0
	})
}

func (c *cluster) kubectl(args ...string) *exec.Cmd {
	c.Helper()
	assets, err := controlplane.Assets()
	if err != nil {
		c.Fatal(err)
	}
	return exec.CommandContext(c.Context(), filepath.Join(assets, "kubectl"), append([]string{"--kubeconfig", c.config}, args...)...)
}

// expectEvent checks that an uninstallation said what it left.
func (c *cluster) expectEvent() {
	c.Helper()
	var all eventsv1.EventList
	if err := c.admin.List(c.Context(), &all, client.InNamespace("default")); err != nil {
		c.Fatal(err)
	}
	for _, e := range all.Items {
		if e.Reason == v1alpha1.EventUninstalled && e.Regarding.Name == "fettle-system" && strings.Contains(e.Note, "left as they are") {
			if err := c.admin.DeleteAllOf(c.Context(), &eventsv1.Event{}, client.InNamespace("default")); err != nil {
				c.Fatal(err)
			}
			return
		}
	}
	c.Errorf("no event %s among %+v", v1alpha1.EventUninstalled, all.Items)
}
