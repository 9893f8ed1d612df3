package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
)

// WatchQuestions watches the questions to the node, until ctx ends or the API server ends it. The API is optional: the error is
// NotFound or ServiceUnavailable where nobody serves it.
func (c *Cluster) WatchQuestions(ctx context.Context) (watch.Interface, error) {
	return c.client.Watch(ctx, &reports.NodeQuestionList{})
}

// Answer answers a question.
func (c *Cluster) Answer(ctx context.Context, answer *reports.NodeAnswer) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	question := &reports.NodeQuestion{ObjectMeta: metav1.ObjectMeta{Name: answer.Name}}
	err := c.client.SubResource(reports.SubresourceAnswer).Create(ctx, question, answer)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // the manager, or the agent's role, is older
		return c.client.Create(ctx, answer)
	}
	return err
}
