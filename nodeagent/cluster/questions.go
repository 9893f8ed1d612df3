package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
)

// WatchQuestions watches the questions to the node, until ctx ends or the API server ends it. The API is optional: the error is
// NotFound or ServiceUnavailable where nobody serves it.
func (c *Cluster) WatchQuestions(ctx context.Context) (watch.Interface, error) {
	return c.clients[nodeQuestions].Get().Resource(nodeQuestions).Param("watch", "true").Watch(ctx)
}

// Answer answers a question.
func (c *Cluster) Answer(ctx context.Context, answer *reports.NodeAnswer) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	err := c.clients[nodeQuestions].Post().Resource(nodeQuestions).Name(answer.Name).SubResource(reports.SubresourceAnswer).Body(answer).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // the manager, or the agent's role, is older
		return c.clients[nodeAnswers].Post().Resource(nodeAnswers).Body(answer).Do(ctx).Error()
	}
	return err
}
