// Package openreports writes a ClusterReport of openreports.io for each node, so that tools such as Policy Reporter show drift.
//
// A report belongs to the NodeCatalog, and is deleted with it. It contains which resources drifted, failed or differ, and none of their
// values, contents and messages.
package openreports

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// clusterReports are what is written.
var clusterReports = schema.GroupVersionResource{Group: "openreports.io", Version: "v1alpha1", Resource: "clusterreports"}

const (
	managedBy    = "app.kubernetes.io/managed-by" // the label of reports
	digestKey    = "fettle.dev/digest"            // the annotation of reports with a hash of their content
	fieldManager = "fettle-manager"

	period  = 30 * time.Second // between two passes, and so between two writes of one report
	refresh = 10 * time.Minute // after which reports that others deleted are written again
	retry   = 5 * time.Minute  // if the cluster has no such reports, or the manager may not write them

	writesPerSecond = 50
	writers         = 8
	pageSize        = 500
)

// Options are what a Publisher needs.
type Options struct {
	Config   *rest.Config
	Nodes    client.Reader // of NodeCatalogs, a cache
	Recorder events.EventRecorder
	Clock    clock.Clock
	Log      logr.Logger
}

// A Publisher writes reports. Create it with [New].
type Publisher struct {
	Options
	reports  dynamic.NamespaceableResourceInterface
	metadata metadata.Getter
	written  map[string]string // digests, by name of the report; nil if they are not known
	listed   time.Time         // when they were
	failing  bool
}

// New returns a Publisher.
func New(o Options) (*Publisher, error) {
	cfg := rest.CopyConfig(o.Config)
	cfg.QPS, cfg.Burst = writesPerSecond, writesPerSecond
	reports, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for reports: %w", err)
	}
	list, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for reports: %w", err)
	}
	return &Publisher{Options: o, reports: reports.Resource(clusterReports), metadata: list.Resource(clusterReports)}, nil
}

// NeedLeaderElection returns true: only the leader writes reports.
func (*Publisher) NeedLeaderElection() bool { return true }

// Start writes reports until ctx ends.
func (p *Publisher) Start(ctx context.Context) error {
	for {
		wait := p.Publish(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-p.Clock.After(wait):
		}
	}
}

// Publish writes the reports that have changed, and returns when to do so again. A failure is logged, with an event, until a success
// follows it.
func (p *Publisher) Publish(ctx context.Context) time.Duration {
	wait, err := p.publish(ctx)
	if ctx.Err() != nil {
		return wait
	}
	switch failing := err != nil; {
	case failing && !p.failing:
		p.Log.Error(err, "cannot write reports for nodes; the next success is logged")
		p.Recorder.Eventf(&v1alpha1.Fleet{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Fleet"},
			ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName},
		}, nil, corev1.EventTypeWarning, v1alpha1.EventReportsNotWritten, "Report", "%s", remedy(err))
	case !failing && p.failing:
		p.Log.Info("reports for nodes are written again")
	}
	p.failing = err != nil
	return wait
}

// errNoRight means that the manager may not write any report, as opposed to one that a policy of the cluster forbids.
var errNoRight = errors.New("the right is missing")

// remedy says what to do about an error.
func remedy(err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return "the cluster has no kind ClusterReport of openreports.io/v1alpha1: install its CustomResourceDefinition, or remove the manager's flag --open-reports"
	case errors.Is(err, errNoRight):
		return "the manager may not write ClusterReports: apply config/openreports, or remove the manager's flag --open-reports"
	}
	return "some ClusterReports cannot be written, which is retried: see the manager's log"
}

// publish returns when to publish again.
func (p *Publisher) publish(ctx context.Context) (time.Duration, error) {
	now := p.Clock.Now()
	if p.written == nil || now.Sub(p.listed) >= refresh {
		written, err := p.list(ctx)
		if err != nil {
			if apierrors.IsForbidden(err) {
				err = fmt.Errorf("%w: %w", errNoRight, err)
			}
			return retry, fmt.Errorf("cannot list ClusterReports: %w", err)
		}
		p.written, p.listed = written, now
	}
	var all v1alpha1.NodeCatalogList
	if err := p.Nodes.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return period, fmt.Errorf("cannot list NodeCatalogs: %w", err)
	}
	outdated, err := p.outdated(all.Items, now)
	if err == nil {
		err = p.write(ctx, outdated)
	}
	if apierrors.IsNotFound(err) { // the definition was deleted, and all reports with it
		p.written = nil
		return retry, err
	}
	return period, err
}

// list returns the digests of the reports that the cluster has.
func (p *Publisher) list(ctx context.Context) (map[string]string, error) {
	all, o := map[string]string{}, metav1.ListOptions{LabelSelector: managedBy + "=fettle", Limit: pageSize}
	for {
		page, err := p.metadata.List(ctx, o)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Items {
			all[r.Name] = string(ownerOf(r.OwnerReferences)) + r.Annotations[digestKey]
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return all, nil
		}
	}
}

// ownerOf returns the UID of the first owner. The report on a former node of the same name has another one.
func ownerOf(owners []metav1.OwnerReference) types.UID {
	if len(owners) == 0 {
		return ""
	}
	return owners[0].UID
}

// A document is a report to be written.
type document struct {
	name, known string // known is what list would return for it
	text        []byte
}

// outdated returns the reports that differ from what was written, and forgets reports of nodes that are gone.
func (p *Publisher) outdated(all []v1alpha1.NodeCatalog, now time.Time) (documents []document, err error) {
	current := make(map[string]string, len(all))
	for i := range all {
		nc := &all[i]
		if nc.DeletionTimestamp != nil {
			continue
		}
		d, err := encode(reportOf(nc, now))
		if err != nil {
			return nil, fmt.Errorf("cannot encode the ClusterReport of node %s: %w", nc.Name, err)
		}
		if current[d.name] = p.written[d.name]; current[d.name] != d.known {
			documents = append(documents, d)
		}
	}
	p.written = current
	return documents, nil
}

// encode returns a report with its digest.
func encode(r clusterReport) (document, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return document{}, err
	}
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	r.Annotations = map[string]string{digestKey: digest}
	text, err = json.Marshal(r)
	return document{r.Name, string(ownerOf(r.OwnerReferences)) + digest, text}, err
}

// maxFailures is how many writes may fail before the others wait for the next attempt, which also repeats what failed.
const maxFailures = 20

// write writes reports, as long as that is likely to succeed. One that is rejected does not keep others from being written.
func (p *Publisher) write(ctx context.Context, all []document) error {
	var mu sync.Mutex
	var failed []error
	resource.Each(len(all), writers, func(i int) {
		mu.Lock()
		stopped := len(failed) >= maxFailures || len(failed) > 0 && apierrors.IsNotFound(failed[0])
		mu.Unlock()
		if stopped {
			return
		}
		_, err := p.reports.Patch(ctx, all[i].name, types.ApplyPatchType, all[i].text, metav1.PatchOptions{FieldManager: fieldManager, Force: new(true)})
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			p.written[all[i].name] = all[i].known
		} else {
			failed = append(failed, fmt.Errorf("cannot write ClusterReport %s: %w", all[i].name, err))
		}
	})
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d failed, such as: %w", len(failed), len(all), failed[0])
}
