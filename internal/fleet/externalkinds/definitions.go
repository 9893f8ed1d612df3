package externalkinds

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
)

var (
	group         = v1alpha1.ExternalGroupVersion.Group
	definitionGVK = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// DefinitionMetadata returns the object that stands for the metadata of CustomResourceDefinitions. Watches need no more:
// what a definition contains is read when its version changes.
func DefinitionMetadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(definitionGVK)
	return o
}

// IsDefinition reports whether an object has the name of a CustomResourceDefinition of an external type.
func IsDefinition(o client.Object) bool { return strings.HasSuffix(o.GetName(), "."+group) }

// A definition is a CustomResourceDefinition of an external type.
type definition struct {
	plural  string
	uid     types.UID
	version string         // resourceVersion of what was read
	schemas map[string]any // as in schemasOf
	kind    string         // "" if the resources cannot be listed
	problem string         // why not
	remote  bool           // it was made for a Remote type
	leaving bool           // it is being deleted

	unlisted string // why the resources are not known although there is a kind
	objects
}

// readDefinitions brings the definitions up to date.
func (k *Kinds) readDefinitions(ctx context.Context) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(definitionGVK.GroupVersion().WithKind(definitionGVK.Kind + "List"))
	if err := k.Cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list CustomResourceDefinitions: %w", err)
	}
	next := map[string]*definition{}
	for i := range list.Items {
		o := &list.Items[i]
		if !IsDefinition(o) {
			continue
		}
		plural := strings.TrimSuffix(o.Name, "."+group)
		d := k.definitions[plural]
		if d == nil || d.uid != o.UID {
			d = &definition{plural: plural, uid: o.UID}
		}
		if d.version != o.ResourceVersion {
			if err := d.read(ctx, k.Live); err != nil {
				return err
			}
			d.version = o.ResourceVersion
		}
		d.leaving = d.leaving || o.DeletionTimestamp != nil
		next[plural] = d
	}
	k.definitions = next
	return nil
}

// read reads the definition. One that is being deleted keeps its kind, because its last resources may have finalizers.
func (d *definition) read(ctx context.Context, live client.Reader) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(definitionGVK)
	err := live.Get(ctx, client.ObjectKey{Name: d.plural + "." + group}, u)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot read the CustomResourceDefinition of %s: %w", d.plural, err)
	}
	if err != nil || u.GetUID() != d.uid {
		d.leaving, d.kind = true, ""
		return nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd); err != nil {
		d.kind, d.problem = "", fmt.Sprintf("cannot be decoded: %v", err)
		return nil
	}
	d.leaving = d.leaving || crd.DeletionTimestamp != nil
	d.schemas, d.problem, d.remote = schemasOf(crd), problemOf(crd), crdbuild.IsRemote(crd)
	d.kind = ""
	if d.problem == "" {
		d.kind = crd.Spec.Names.Kind
	}
	return nil
}

// isGone asks the API server whether the definition is missing or being deleted.
func (d *definition) isGone(ctx context.Context, live client.Reader) (bool, error) {
	o := DefinitionMetadata()
	err := live.Get(ctx, client.ObjectKey{Name: d.plural + "." + group}, o)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot read the CustomResourceDefinition of %s: %w", d.plural, err)
	}
	return err != nil || o.DeletionTimestamp != nil || o.UID != d.uid, nil
}

// problemOf returns why the resources of a definition cannot be managed, whatever its schema is; "" if they can be.
func problemOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	version := v1alpha1.ExternalGroupVersion.Version
	n := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version && v.Served })
	switch {
	case v1alpha1.NewResource(crd.Spec.Names.Kind) != nil:
		return fmt.Sprintf("has the kind %s, which is built in", crd.Spec.Names.Kind)
	case crd.Spec.Scope != apiextensionsv1.ClusterScoped:
		return fmt.Sprintf("has the scope %s instead of %s", crd.Spec.Scope, apiextensionsv1.ClusterScoped)
	case n < 0:
		return "does not serve the version " + version
	case crd.Spec.Versions[n].Subresources == nil || crd.Spec.Versions[n].Subresources.Status == nil:
		return "has no status subresource"
	}
	return notEstablished(crd)
}

// notEstablished returns why the API server does not serve a definition; "" if it does.
func notEstablished(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
			return ""
		}
		if c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse {
			return "is not established: " + c.Message
		}
	}
	return "is not established yet"
}
