package live

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// An unstructuredSource is a source of whole objects.
type unstructuredSource struct{ of dynamic.ResourceInterface }

func (s unstructuredSource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	return s.of.List(ctx, opts)
}

func (s unstructuredSource) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	return s.of.Watch(ctx, opts)
}

// A metadataSource is a source of objects without spec and status.
type metadataSource struct{ of metadata.ResourceInterface }

func (s metadataSource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	return s.of.List(ctx, opts)
}

func (s metadataSource) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	return s.of.Watch(ctx, opts)
}

func fromUnstructured[T any](obj any) (t T, err error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return t, fmt.Errorf("it is a %T", obj)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &t)
	return t, err
}

func name(obj any) (string, error) {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return "", fmt.Errorf("it is a %T", obj)
	}
	return m.Name, nil
}

func node(obj any) (overview.Node, error) {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return overview.Node{}, fmt.Errorf("it is a %T", obj)
	}
	m.ManagedFields = nil
	return overview.Node{ObjectMeta: m.ObjectMeta}, nil
}
