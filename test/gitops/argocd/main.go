// Command argocd applies a directory of a git repository to a cluster as Argo CD's application controller does: with its sync
// engine, its Lua machine, and the health checks in a ConfigMap argocd-cm. It prints the result as JSON.
//
// It stands for the application controller, which also needs Redis, the repository server and half an hour of building.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	appv1 "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// tracking is Argo CD's annotation on what an Application manages.
const tracking = "argocd.argoproj.io/tracking-id"

// A result describes a sync.
type result struct {
	// Error is why the sync did not succeed, or "".
	Error string `json:"error,omitempty"`
	// Resources has the outcome for each applied or pruned object, by Kind/name.
	Resources map[string]string `json:"resources"`
	// Health is the worst health of the objects, as in the status of an Application.
	Health health.HealthStatusCode `json:"health"`
	// Healths has the health and its message of each object, by Kind/name.
	Healths map[string]string `json:"healths"`
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the cluster")
	settings := flag.String("settings", "", "file with the ConfigMap argocd-cm")
	repository := flag.String("repository", "", "git repository")
	path := flag.String("path", ".", "directory in the repository")
	timeout := flag.Duration("timeout", time.Minute, "limit for the sync")
	flag.Parse()
	out, err := run(*kubeconfig, *settings, *repository, *path, *timeout)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "argocd:", err)
		os.Exit(1)
	}
}

func run(kubeconfig, settings, repository, path string, timeout time.Duration) (*result, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 50, 100
	overrides, err := healthOverrides(settings)
	if err != nil {
		return nil, err
	}
	targets, revision, err := manifests(repository, path)
	if err != nil {
		return nil, err
	}
	live := cache.NewClusterCache(cfg, cache.SetPopulateResourceInfoHandler(func(o *unstructured.Unstructured, _ bool) (any, bool) {
		ours := o.GetAnnotations()[tracking] == path
		return ours, ours
	}))
	managed := func(r *cache.Resource) bool { ours, _ := r.Info.(bool); return ours }
	if err := live.EnsureSynced(); err != nil {
		return nil, err
	}
	defer live.Invalidate()
	out := &result{Resources: map[string]string{}, Healths: map[string]string{}, Health: health.HealthStatusHealthy}
	o := operation{cfg: cfg, live: live, managed: managed, targets: targets, revision: revision, overrides: overrides, started: metav1.Now(), phase: common.OperationRunning}
	for deadline := time.Now().Add(timeout); !o.phase.Completed(); time.Sleep(refresh) {
		if time.Now().After(deadline) {
			o.message = "timeout: " + o.message
			break
		}
		if err := o.step(); err != nil {
			return nil, err
		}
	}
	if !o.phase.Successful() {
		out.Error = fmt.Sprintf("%s: %s", o.phase, o.message)
	}
	for _, r := range o.results {
		out.Resources[r.ResourceKey.Kind+"/"+r.ResourceKey.Name] = strings.TrimSpace(fmt.Sprintf("%s %s", r.Status, r.HookPhase))
	}
	return out, out.assess(live.FindResources("", managed), overrides)
}

// An operation is a sync in progress. The application controller, too, continues it with each refresh of an Application.
type operation struct {
	cfg       *rest.Config
	live      cache.ClusterCache
	managed   func(*cache.Resource) bool
	targets   []*unstructured.Unstructured
	revision  string
	overrides health.HealthOverride
	started   metav1.Time

	phase   common.OperationPhase
	message string
	results []common.ResourceSyncResult
}

// refresh is the time between two steps.
const refresh = 500 * time.Millisecond

// step compares and applies what can be applied now.
func (o *operation) step() error {
	live, err := o.live.GetManagedLiveObjs(o.targets, o.managed)
	if err != nil {
		return err
	}
	step, cleanup, err := sync.NewSyncContext(o.revision, sync.Reconcile(o.targets, live, "default", o.live), o.cfg, o.cfg,
		&kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}, "default",
		// Deletion in the foreground, the default, takes a garbage collector, which the test's API server lacks.
		sync.WithPrune(true), sync.WithPrunePropagationPolicy(new(metav1.DeletePropagationBackground)), sync.WithHealthOverride(o.overrides), sync.WithInitialState(o.phase, o.message, o.results, o.started))
	if err != nil {
		return err
	}
	defer cleanup()
	step.Sync()
	o.phase, o.message, o.results = step.GetState()
	return nil
}

// assess fills in the health of what is there.
func (r *result) assess(all map[kube.ResourceKey]*cache.Resource, overrides health.HealthOverride) error {
	for key, o := range all {
		if o.Resource == nil {
			continue
		}
		is, err := health.GetResourceHealth(o.Resource, overrides)
		if err != nil {
			return err
		}
		if is == nil {
			continue
		}
		r.Healths[key.Kind+"/"+key.Name] = fmt.Sprintf("%s: %s", is.Status, is.Message)
		if health.IsWorse(r.Health, is.Status) {
			r.Health = is.Status
		}
	}
	return nil
}

// healthOverrides reads the health checks in a ConfigMap argocd-cm.
func healthOverrides(file string) (lua.ResourceHealthOverrides, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var settings corev1.ConfigMap
	if err := yaml.UnmarshalStrict(text, &settings); err != nil {
		return nil, err
	}
	overrides := lua.ResourceHealthOverrides{}
	for key, script := range settings.Data {
		kind, ok := strings.CutPrefix(key, "resource.customizations.health.")
		group, kind, separated := strings.Cut(kind, "_")
		if !ok || !separated {
			return nil, fmt.Errorf("%s: %q is not a health check", file, key)
		}
		overrides[group+"/"+kind] = appv1.ResourceOverride{HealthLua: script}
	}
	return overrides, nil
}

// manifests reads the objects in a directory of a checkout.
func manifests(repository, path string) (targets []*unstructured.Unstructured, revision string, err error) {
	out, err := exec.Command("git", "-C", repository, "rev-parse", "HEAD").Output()
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the revision: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(repository, path, "*.yaml"))
	if err == nil && len(files) == 0 {
		err = errors.New("there are no manifests")
	}
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		objects, splitErr := kube.SplitYAML(text)
		err = errors.Join(err, readErr, splitErr)
		targets = append(targets, objects...)
	}
	for _, o := range targets {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[tracking] = path
		o.SetAnnotations(annotations)
	}
	return targets, strings.TrimSpace(string(out)), err
}
