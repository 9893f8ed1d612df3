package overview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Switch disables runs, or enables them if its Disabled is nil.
type Switch struct {
	Disabled *v1alpha1.Disabled
	DryRun   bool // the API server checks everything, and stores nothing
}

// SwitchNodes switches the runs of nodes, if all of them have a NodeCatalog. It returns what they were before.
func (c *Client) SwitchNodes(ctx context.Context, names []string, to Switch) (before []Control, err error) {
	before = make([]Control, len(names))
	err = onNodes(len(names), func(i int) (err error) {
		before[i], err = c.control(ctx, names[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return before, onNodes(len(names), func(i int) error {
		return c.switchOne(ctx, catalogsPath()+"/"+names[i], "NodeCatalog "+names[i], before[i], to)
	})
}

// SwitchFleet switches the runs of all nodes. It returns what the Fleet was before.
func (c *Client) SwitchFleet(ctx context.Context, to Switch) (before Control, err error) {
	at := "/apis/" + v1alpha1.GroupVersion.String() + "/fleets/" + v1alpha1.FleetName
	if err := c.get(ctx, at, "application/json", &before); err != nil {
		return before, fmt.Errorf("cannot get the Fleet, which the manager creates: %w", err)
	}
	return before, c.switchOne(ctx, at, "Fleet", before, to)
}

// Controls returns the controls of all nodes.
func (c *Client) Controls(ctx context.Context) ([]Control, error) {
	return list[Control](ctx, c, catalogsPath(), "application/json")
}

// control returns the control of a node.
func (c *Client) control(ctx context.Context, node string) (control Control, err error) {
	if faults := content.IsPathSegmentName(node); len(faults) > 0 || strings.Contains(node, " ") {
		return control, fmt.Errorf("%q is not a name of a Node", node)
	}
	if err := c.get(ctx, catalogsPath()+"/"+node, "application/json", &control); err != nil {
		return control, c.suggestNode(ctx, node, fmt.Errorf("cannot get the NodeCatalog %s: %w", node, err))
	}
	return control, nil
}

// switchOne writes spec.disabled of an object, unless it is as wanted.
func (c *Client) switchOne(ctx context.Context, at, what string, before Control, to Switch) error {
	if before.is(to.Disabled) {
		return nil
	}
	return c.patch(ctx, at, what, map[string]any{"spec": map[string]any{"disabled": fieldsOf(to.Disabled)}}, to.DryRun)
}

// fieldsOf returns the fields of a merge patch, which removes those that are null.
func fieldsOf(d *v1alpha1.Disabled) any {
	if d == nil {
		return nil
	}
	fields := map[string]any{"reason": nil, "until": nil}
	if d.Reason != "" {
		fields["reason"] = d.Reason
	}
	if d.Until != nil {
		fields["until"] = d.Until
	}
	return fields
}

// Labelled returns the names of the Nodes with matching labels that have a NodeCatalog.
func (c *Client) Labelled(ctx context.Context, selector string) ([]string, error) {
	raw, err := bodyOf(c.rest.Get().AbsPath("/api/v1/nodes").Param("labelSelector", selector).SetHeader("Accept", onlyNames).Do(ctx))
	if err != nil {
		return nil, fmt.Errorf("cannot list Nodes: %w", err)
	}
	var nodes struct {
		Items []metav1.PartialObjectMetadata `json:"items"`
	}
	if err := json.Unmarshal(raw, &nodes); err != nil {
		return nil, fmt.Errorf("cannot read the list of Nodes: %w", err)
	}
	managed, err := c.NodeNames(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range nodes.Items {
		if slices.Contains(managed, n.Name) {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no Node with a NodeCatalog has labels that match %q", selector)
	}
	return names, nil
}

// maxErrors is the number of errors that onNodes returns.
const maxErrors = 10

// onNodes calls a function with the places of n nodes, some at the same time, and joins its errors.
func onNodes(n int, do func(i int) error) error {
	errs := make([]error, n)
	inParallel(n, func(i int) { errs[i] = do(i) })
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more nodes", more))
	}
	return errors.Join(errs...)
}
