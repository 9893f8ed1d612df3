package overview

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FieldManager owns the fields that kubectl fettle writes. Its name does not begin with kubectl: Flux's kustomize-controller takes over the
// fields of such managers, and removes what Git lacks.
const FieldManager = "fettle-cli"

// patch merges fields into an object, which what names in errors. dryRun has the API server check everything, and store nothing.
func (c *Client) patch(ctx context.Context, at, what string, fields any, dryRun bool) error {
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	request := c.rest.Patch(types.MergePatchType).AbsPath(at).Param("fieldManager", FieldManager).Body(body)
	if dryRun {
		request = request.Param("dryRun", metav1.DryRunAll)
	}
	err = request.Do(ctx).Error()
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("you may not change the %s: ask for the right to patch it: %w", what, err)
	}
	if err != nil {
		return fmt.Errorf("cannot patch the %s: %w", what, err)
	}
	return nil
}
