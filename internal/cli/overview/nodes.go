// Package overview sums up what the NodeCatalogs of a fleet say.
//
// [Nodes] reads them; everything else is pure.
package overview

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// pageSize is the number of NodeCatalogs in a request. Each may have 64 KiB.
const pageSize = 500

// A Node is the part of a NodeCatalog that overviews need.
type Node struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Counts     *v1alpha1.RunCounts       `json:"counts"`
		LastRun    *v1alpha1.LastRun         `json:"lastRun"`
		Resources  []v1alpha1.ResourceReport `json:"resources"`
		Drift      []v1alpha1.DriftRecord    `json:"drift"`
		Conditions []metav1.Condition        `json:"conditions"`
	} `json:"status"`
}

// Nodes returns all nodes with a NodeCatalog, by name, as far as the caller may list them.
func Nodes(ctx context.Context, cfg *rest.Config) ([]Node, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	var all []Node
	for next := ""; ; {
		raw, err := client.Get().AbsPath("/apis/"+v1alpha1.GroupVersion.String(), "nodecatalogs").
			Param("limit", fmt.Sprint(pageSize)).Param("continue", next).SetHeader("Accept", "application/json").DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("cannot list the NodeCatalogs of the cluster: %w", err)
		}
		var page struct {
			metav1.ListMeta `json:"metadata"`
			Items           []Node `json:"items"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("cannot read the NodeCatalogs of the cluster: %w", err)
		}
		all = append(all, page.Items...)
		if next = page.Continue; next == "" {
			return all, nil
		}
	}
}
