package overview

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

const policiesPath = "/apis/fettle.dev/v1alpha1/rolloutpolicies"

// Policies returns the RolloutPolicies of the cluster, by name.
func (c *Client) Policies(ctx context.Context) ([]v1alpha1.RolloutPolicy, error) {
	return list[v1alpha1.RolloutPolicy](ctx, c, policiesPath, "application/json")
}

// PolicyNames returns the names of all RolloutPolicies.
func (c *Client) PolicyNames(ctx context.Context) ([]string, error) {
	return c.names(ctx, policiesPath)
}

// Policy returns a RolloutPolicy. The error for a name without one suggests similar ones.
func (c *Client) Policy(ctx context.Context, name string) (p v1alpha1.RolloutPolicy, err error) {
	if faults := content.IsPathSegmentName(name); len(faults) > 0 {
		return p, fmt.Errorf("%q is not a name of a RolloutPolicy: it %s", name, faults[0])
	}
	if err := c.get(ctx, policiesPath+"/"+name, "application/json", &p); err != nil {
		return p, c.suggest(ctx, policiesPath, name, fmt.Errorf("cannot get the RolloutPolicy %s: %w", name, err))
	}
	return p, nil
}

// FollowPolicy calls a function with a RolloutPolicy, and again whenever it changes, until the function returns true. gone is set if the policy
// was deleted. It returns nil also when the API server ends the watch, which it does after some minutes, and when ctx ends.
func (c *Client) FollowPolicy(ctx context.Context, name string, use func(v1alpha1.RolloutPolicy) (done bool)) (gone bool, err error) {
	p, err := c.Policy(ctx, name)
	if err != nil || use(p) {
		return false, err
	}
	of := watched{path: policiesPath, name: name, version: p.ResourceVersion, what: "RolloutPolicy " + name}
	err = follow(ctx, c, of, func(event watch.EventType, p v1alpha1.RolloutPolicy) (done bool) {
		gone = event == watch.Deleted
		return gone || event != watch.Bookmark && use(p)
	})
	return gone, err
}

// A PolicyChange changes fields of the spec of a RolloutPolicy.
type PolicyChange struct {
	Spec   map[string]any // nil removes a field
	DryRun bool           // the API server checks everything, and stores nothing
}

// ChangePolicy changes a RolloutPolicy.
func (c *Client) ChangePolicy(ctx context.Context, name string, to PolicyChange) error {
	return c.patch(ctx, policiesPath+"/"+name, "RolloutPolicy "+name, map[string]any{"spec": to.Spec}, to.DryRun)
}

// NodeCatalog returns the NodeCatalog of a node.
func (c *Client) NodeCatalog(ctx context.Context, node string) (n NodeCatalog, err error) {
	if faults := content.IsPathSegmentName(node); len(faults) > 0 {
		return n, fmt.Errorf("%q is not a name of a Node: it %s", node, faults[0])
	}
	if err := c.get(ctx, catalogsPath()+"/"+node, "application/json", &n); err != nil {
		return n, c.suggestNode(ctx, node, fmt.Errorf("cannot get the NodeCatalog %s: %w", node, err))
	}
	return n, nil
}

// Retry has the manager forget that a revision failed on a node.
func (c *Client) Retry(ctx context.Context, node, revision string, dryRun bool) error {
	annotations := map[string]string{v1alpha1.AnnotationRetryRollout: revision}
	return c.patch(ctx, catalogsPath()+"/"+node, "NodeCatalog "+node, map[string]any{"metadata": map[string]any{"annotations": annotations}}, dryRun)
}
