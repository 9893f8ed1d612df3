package installation

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Managed counts what a manager managed while it was the leader.
type Managed struct{ Resources, Nodes int }

// The times within which a manager that is being uninstalled must be done. The token of a
// ServiceAccount is valid for a minute after its deletion, and the Pod's
// terminationGracePeriodSeconds is a minute, too.
const (
	leaderTime   = 15 * time.Second // what a standby leaves to the leader
	releaseLimit = 40 * time.Second
	releaseRetry = time.Second
	pageSize     = 500
	writers      = 16 // concurrent requests
)

// Release must be called by a manager that has stopped. If it is being uninstalled, Release removes the
// finalizers of all resources, reports that nodes are left as they are, and stops protecting the
// ServiceAccount and the permissions. Otherwise it does nothing. managed is nil if the manager was never the leader.
func (i *Installation) Release(ctx context.Context, managed *Managed) error {
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	note := releaseNote(managed)
	switch err := i.stateOfParts(ctx); {
	case apierrors.IsUnauthorized(err): // nothing was protected, and the ServiceAccount is gone
		i.log.Info(note)
		return nil
	case !errors.Is(err, ErrUninstalling):
		return i.releaseUnneeded(ctx)
	case managed == nil && !i.waitForLeader(ctx):
		return nil
	}
	released, err := i.releaseAll(ctx)
	if err != nil {
		i.log.Error(err, "finalizers are left: see docs/deletion.md for how to remove them")
	}
	counts := ptr.Deref(managed, Managed{})
	i.log.Info(note, "finalizers", released, "resources", counts.Resources, "nodes", counts.Nodes)
	return errors.Join(err, i.record(ctx, note), i.unprotect(ctx))
}

// releaseNote says what happens to the hosts.
func releaseNote(managed *Managed) string {
	note := "Fettle is uninstalled. The hosts are left as they are, whatever the deletion policies say."
	if managed != nil {
		note += fmt.Sprintf(" %d resources were managed on %d nodes, which keep the objects and the agent's state in /var/lib/fettle.", managed.Resources, managed.Nodes)
	}
	return note
}

// releaseUnneeded stops protecting the permissions of a manager whose definitions were deleted. No
// resource is left, and there may be no manager when the rest is deleted.
func (i *Installation) releaseUnneeded(ctx context.Context) error {
	var missing *missingError
	if i.isProtected() && errors.As(i.checkDefinitions(ctx), &missing) && missing.all {
		return i.unprotect(ctx)
	}
	return nil
}

// waitForLeader gives the leader time to release everything, and reports whether the leader has not done so by then.
func (i *Installation) waitForLeader(ctx context.Context) bool {
	deadline := i.clock.Now().Add(leaderTime)
	for errors.Is(i.stateOfParts(ctx), ErrUninstalling) {
		if !i.clock.Now().Before(deadline) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-i.clock.After(releaseRetry):
		}
	}
	return false
}

// stateOfParts is checkParts with a limit of its own.
func (i *Installation) stateOfParts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return i.checkParts(ctx)
}

// releaseAll removes the finalizer from all resources, and looks again until none has it: another
// manager may have added one in the meantime. It returns how many it removed.
func (i *Installation) releaseAll(ctx context.Context) (removed int, err error) {
	for {
		n, err := i.releaseOnce(ctx)
		removed += n
		if n == 0 && err == nil {
			return removed, nil
		}
		if n > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return removed, err
		case <-i.clock.After(releaseRetry):
		}
	}
}

func (i *Installation) releaseOnce(ctx context.Context) (removed int, err error) {
	var kinds []string
	for _, o := range v1alpha1.Resources() {
		kinds = append(kinds, o.KindName())
	}
	external, err := i.externalKinds(ctx)
	failed := []error{err}
	for _, kind := range append(kinds, external...) {
		n, err := i.releaseKind(ctx, kind)
		removed += n
		failed = append(failed, err)
	}
	return removed, errors.Join(failed...)
}

func (i *Installation) releaseKind(ctx context.Context, kind string) (removed int, err error) {
	var failed []error
	for page := ""; ; {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersionOf(kind).WithKind(kind + "List"))
		err := i.client.List(ctx, list, client.Limit(pageSize), client.Continue(page))
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) { // its definition is gone
			return removed, errors.Join(failed...)
		}
		if err != nil {
			return removed, errors.Join(append(failed, fmt.Errorf("cannot list %s: %w", kind, err))...)
		}
		errs := make([]error, len(list.Items))
		did := make([]bool, len(list.Items))
		resource.Each(len(list.Items), writers, func(n int) { did[n], errs[n] = i.releaseOne(ctx, kind, &list.Items[n]) })
		for n := range did {
			if did[n] {
				removed++
			}
		}
		failed = append(failed, errs...)
		if page = list.Continue; page == "" {
			return removed, errors.Join(failed...)
		}
	}
}

func (i *Installation) releaseOne(ctx context.Context, kind string, o *metav1.PartialObjectMetadata) (removed bool, err error) {
	o.SetGroupVersionKind(v1alpha1.GroupVersionOf(kind).WithKind(kind))
	next := o.DeepCopy()
	if !controllerutil.RemoveFinalizer(next, v1alpha1.FinalizerCleanup) {
		return false, nil
	}
	err = i.client.Patch(ctx, next, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot remove the finalizer %s of %s %s: %w", v1alpha1.FinalizerCleanup, kind, o.Name, err)
	}
	return err == nil, nil
}

// record creates an event about the manager's namespace.
func (i *Installation) record(ctx context.Context, note string) error {
	namespace, now := i.known()[0].Namespace, metav1.NewMicroTime(i.clock.Now())
	err := i.client.Create(ctx, &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: eventNamespace, GenerateName: namespace + "-"},
		EventTime:           now,
		ReportingController: "fettle-manager", ReportingInstance: "fettle-manager",
		Action: "Uninstall", Reason: v1alpha1.EventUninstalled, Type: corev1.EventTypeNormal, Note: note,
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: namespace},
	})
	if err != nil {
		return fmt.Errorf("cannot record the event %s: %w", v1alpha1.EventUninstalled, err)
	}
	return nil
}
