package reportsapi

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
)

func resourceOf(name string) schema.GroupResource {
	return v1alpha1.GroupVersion.WithResource(name).GroupResource()
}

// clusterScoped is what all kinds have in common.
type clusterScoped struct{ singular string }

// NamespaceScoped implements [rest.Scoper].
func (clusterScoped) NamespaceScoped() bool { return false }

// GetSingularName implements [rest.SingularNameProvider].
func (c clusterScoped) GetSingularName() string { return c.singular }

// Destroy implements [rest.Storage].
func (clusterScoped) Destroy() {}

// nodeQuestions are the open questions of the caller's node.
type nodeQuestions struct {
	clusterScoped
	rest.TableConvertor
	hub *questions.Hub
}

// New implements [rest.Storage].
func (nodeQuestions) New() runtime.Object { return &v1alpha1.NodeQuestion{} }

// NewList implements [rest.Lister].
func (nodeQuestions) NewList() runtime.Object { return &v1alpha1.NodeQuestionList{} }

// List implements [rest.Lister].
func (s nodeQuestions) List(ctx context.Context, _ *internalversion.ListOptions) (runtime.Object, error) {
	node, err := nodeOf(ctx, resourceOf("nodequestions"))
	if err != nil {
		return nil, err
	}
	return &v1alpha1.NodeQuestionList{Items: s.hub.Open(node)}, nil
}

// Watch implements [rest.Watcher].
func (s nodeQuestions) Watch(ctx context.Context, _ *internalversion.ListOptions) (watch.Interface, error) {
	node, err := nodeOf(ctx, resourceOf("nodequestions"))
	if err != nil {
		return nil, err
	}
	return handOver(ctx, s.hub.Watch(node)), nil
}

// nodeAnswers accepts the answers of the caller's node, from agents that are older than [v1alpha1.SubresourceAnswer].
type nodeAnswers struct {
	clusterScoped
	hub *questions.Hub
}

// New implements [rest.Storage].
func (nodeAnswers) New() runtime.Object { return &v1alpha1.NodeAnswer{} }

// Create accepts an answer, once. It returns an answer without a content.
func (s nodeAnswers) Create(ctx context.Context, o runtime.Object, _ rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	answer, ok := o.(*v1alpha1.NodeAnswer)
	if !ok {
		return nil, apierrors.NewBadRequest("the body is not a NodeAnswer")
	}
	return s.accept(ctx, answer)
}

func (s nodeAnswers) accept(ctx context.Context, answer *v1alpha1.NodeAnswer) (*v1alpha1.NodeAnswer, error) {
	of := resourceOf("nodeanswers")
	node, err := nodeOf(ctx, of)
	if err != nil {
		return nil, err
	}
	if size := sizeOf(answer); size > v1alpha1.MaxAnswerBytes {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", v1alpha1.MaxAnswerBytes))
	}
	if err := s.hub.Answer(node, answer); err != nil {
		return nil, apierrors.NewForbidden(of, answer.Name, err)
	}
	return &v1alpha1.NodeAnswer{ObjectMeta: metav1.ObjectMeta{Name: answer.Name}}, nil
}

// sizeOf is the size of an answer in bytes.
func sizeOf(answer *v1alpha1.NodeAnswer) int {
	size := len(answer.Problem)
	for _, r := range answer.Reports {
		size += len(r.Report.Raw)
	}
	return size
}
