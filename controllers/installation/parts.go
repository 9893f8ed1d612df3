package installation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A part is an object without which the manager could not remove finalizers, or record what it
// removed.
type part struct {
	schema.GroupVersionKind
	types.NamespacedName
	resource  string // for URLs
	essential bool   // the manager cannot remove finalizers without it
}

func (p part) String() string {
	if p.Namespace == "" {
		return p.Kind + " " + p.Name
	}
	return p.Kind + " " + p.Namespace + "/" + p.Name
}

func (p part) object() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(p.GroupVersionKind)
	o.SetNamespace(p.Namespace)
	o.SetName(p.Name)
	return o
}

// serviceAccount is the name of the manager's ServiceAccount in config/rbac. kustomize may add a
// prefix and a suffix, which all other names then have, too.
const serviceAccount = "fettle-manager"

// eventNamespace has the events about objects without a namespace.
const eventNamespace = "default"

// partsOf returns the parts of a manager with this user name. Without an error there is at least
// one; the list is never nil.
func partsOf(user string) ([]part, error) {
	namespace, account, ok := strings.Cut(strings.TrimPrefix(user, "system:serviceaccount:"), ":")
	prefix, suffix, named := strings.Cut(account, serviceAccount)
	if !ok || !named || !strings.HasPrefix(user, "system:serviceaccount:") {
		return []part{}, fmt.Errorf("its user %q is not a ServiceAccount whose name contains %s", user, serviceAccount)
	}
	kinds, events := prefix+serviceAccount+"-kinds"+suffix, types.NamespacedName{Namespace: eventNamespace, Name: account}
	return []part{
		{corev1.SchemeGroupVersion.WithKind("ServiceAccount"), types.NamespacedName{Namespace: namespace, Name: account}, "serviceaccounts", true},
		{rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), types.NamespacedName{Name: kinds}, "clusterroles", true},
		{rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), types.NamespacedName{Name: kinds}, "clusterrolebindings", true},
		{rbacv1.SchemeGroupVersion.WithKind("Role"), events, "roles", false},
		{rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), events, "rolebindings", false},
	}, nil
}

// checkParts returns ErrUninstalling if an essential part is being deleted.
func (i *Installation) checkParts(ctx context.Context) error {
	for _, p := range i.known() {
		if p.essential {
			if err := i.checkPart(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAccount is checkParts for the ServiceAccount alone, with a limit of its own.
func (i *Installation) checkAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for _, p := range i.known() {
		if p.Kind == "ServiceAccount" {
			return i.checkPart(ctx, p)
		}
	}
	return nil
}

// checkPart takes a part that is missing, or that the manager cannot read, for one that is not
// protected. A part that was created anew needs its finalizer again.
func (i *Installation) checkPart(ctx context.Context, p part) error {
	o := p.object()
	err := i.client.Get(ctx, client.ObjectKeyFromObject(o), o)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return fmt.Errorf("cannot reach the API server: %w", err)
	case o.DeletionTimestamp != nil:
		return fmt.Errorf("%w: %s is being deleted", ErrUninstalling, p)
	case i.isProtected() && !controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerUninstall):
		i.log.Info("a part of the installation was replaced", "part", p.String())
		return i.addProtection(ctx)
	}
	return nil
}

// Owner returns the manager's ClusterRole as the owner of objects that are to be deleted with the installation, also if the
// definitions stay; nil if it has none that it may read.
func (i *Installation) Owner(ctx context.Context) (*metav1.OwnerReference, error) {
	for _, p := range i.known() {
		if p.Kind != "ClusterRole" {
			continue
		}
		o := p.object()
		err := i.client.Get(ctx, client.ObjectKeyFromObject(o), o)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("cannot read %s: %w", p, err)
		}
		return &metav1.OwnerReference{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: p.Kind, Name: p.Name, UID: o.UID}, nil
	}
	return nil, nil
}

func (i *Installation) known() []part {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.parts
}

// The bodies of patches that add and remove the finalizer. They leave other finalizers alone,
// also if someone changes them at the same time.
const (
	addProtection    = `{"metadata":{"finalizers":["` + v1alpha1.FinalizerUninstall + `"]}}`
	removeProtection = `{"metadata":{"$deleteFromPrimitiveList/finalizers":["` + v1alpha1.FinalizerUninstall + `"]}}`
)

// Protect keeps the API server from removing the manager's ServiceAccount and permissions before
// the manager has removed its finalizers, or no longer does if needed is false. It sends requests
// only if that changes. It returns ErrUninstalling if they are being deleted: the caller must then
// add no finalizer. A part that cannot be protected is logged.
func (i *Installation) Protect(ctx context.Context, needed bool) error {
	i.mu.Lock()
	done := i.protected != nil && *i.protected == needed
	i.mu.Unlock()
	if done {
		return nil
	}
	err := i.changeProtection(ctx, needed)
	if errors.Is(err, ErrUninstalling) {
		select {
		case i.recheck <- struct{}{}:
		default:
		}
	}
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.protected = &needed
	return nil
}

// changeProtection leaves the protection of a manager that is being uninstalled to Release, also
// when the deletion of the definitions has left no resource with a finalizer.
func (i *Installation) changeProtection(ctx context.Context, needed bool) error {
	if needed {
		return i.addProtection(ctx)
	}
	if err := i.checkParts(ctx); err != nil {
		return err
	}
	return i.unprotect(ctx)
}

func (i *Installation) addProtection(ctx context.Context) error {
	for _, p := range i.known() {
		o := p.object()
		err := i.client.Patch(ctx, o, client.RawPatch(types.StrategicMergePatchType, []byte(addProtection)))
		switch {
		// The API server accepts no new finalizers on an object that is being deleted.
		case apierrors.IsInvalid(err), err == nil && o.DeletionTimestamp != nil:
			return fmt.Errorf("%w: %s is being deleted", ErrUninstalling, p)
		case err != nil:
			i.log.Error(err, "cannot protect a part of the installation: see docs/deletion.md for an uninstallation by hand", "part", p.String())
		}
	}
	return nil
}

func (i *Installation) isProtected() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.protected != nil && *i.protected
}
