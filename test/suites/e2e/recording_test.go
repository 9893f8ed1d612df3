//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fettle-dev/fettle/test/fixtures/argocd"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
)

// A recording has all versions of objects since it began.
type recording struct {
	objects string // as kubectl get takes them
	output  locked.Buffer
}

// record records objects until the end of the spec, from their present version on.
func record(ctx context.Context, objects string) *recording {
	GinkgoHelper()
	r := &recording{objects: objects}
	cmd := withKubeconfig(ctx, c.Programs().Path("kubectl"), "get", objects, "--watch", "--output=json")
	cmd.Stdout = &r.output
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
	})
	r.versions(ctx)
	return r
}

// versions returns all versions until now.
func (r *recording) versions(ctx context.Context) (all []*unstructured.Unstructured) {
	GinkgoHelper()
	newest := strings.Fields(kubectl(ctx, "get", r.objects, "--output=jsonpath={..metadata.resourceVersion}"))
	Eventually(func() (recorded []string) {
		all = r.decode()
		for _, o := range all {
			recorded = append(recorded, o.GetResourceVersion())
		}
		return recorded
	}).WithContext(ctx).Should(ContainElements(newest))
	return all
}

// decode returns what kubectl has printed. The last version may not be complete yet.
func (r *recording) decode() (all []*unstructured.Unstructured) {
	GinkgoHelper()
	for printed := json.NewDecoder(strings.NewReader(r.output.String())); ; {
		var text json.RawMessage
		if printed.Decode(&text) != nil {
			return all
		}
		o := &unstructured.Unstructured{}
		Expect(o.UnmarshalJSON(text)).To(Succeed())
		all = append(all, o)
	}
}

// health returns what Argo CD and Flux say of the recorded object one after another, as "Healthy Current".
func (r *recording) health(ctx context.Context) (all []string) {
	GinkgoHelper()
	script, err := os.ReadFile(filepath.Join(checkout, "config/argocd/health.lua"))
	Expect(err).NotTo(HaveOccurred())
	var log strings.Builder
	for _, o := range r.versions(ctx) {
		inArgoCD, err := argocd.HealthOf(ctx, string(script), o)
		Expect(err).NotTo(HaveOccurred())
		inFlux, err := status.Compute(o)
		Expect(err).NotTo(HaveOccurred())
		all = append(all, inArgoCD.Status+" "+inFlux.Status.String())
		fmt.Fprintf(&log, "%s %s: %s\n", o.GetResourceVersion(), all[len(all)-1], inArgoCD.Message)
	}
	AddReportEntry("health of "+r.objects, log.String(), ReportEntryVisibilityFailureOrVerbose)
	return slices.Compact(all)
}

// changes returns the names of the recorded NodeCatalogs in the order in which they were given something else.
func (r *recording) changes(ctx context.Context) (all []string) {
	GinkgoHelper()
	given := map[string]string{}
	for _, o := range r.versions(ctx) {
		spec, _, err := unstructured.NestedMap(o.Object, "spec")
		Expect(err).NotTo(HaveOccurred())
		name, now := o.GetName(), fmt.Sprint(spec["catalogs"], spec["entries"])
		if before, known := given[name]; known && before != now {
			all = append(all, name)
		}
		given[name] = now
	}
	return all
}
