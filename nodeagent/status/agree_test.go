package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/nodeagent/status"
	"github.com/fettle-dev/fettle/providers/file"
)

// Numbers of resources by state. One that is out of sync is in another state, too.
type numbers struct{ InSync, OutOfSync, Failed, Skipped, Noop int }

// A host's report, its NodeCatalog and the statuses of its resources must tell the same.
func TestHostNodeAndResourcesCountAlike(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	h.Put("/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
	h.Put("/etc/group", "root:x:0:\n")
	h.Put("/instead/of/a/file", "")
	h.Put("/good", "x")
	kind := bound.Kind(file.Type(nil))
	item := func(name, attributes string) resource.Item {
		i := resource.Item{Ref: resource.Ref{Kind: "File", Name: name}}
		i.Resource, i.Invalid = kind.Bind(i.Ref, []byte(attributes))
		return i
	}
	after := item("after", `{"path": "/after", "content": "x"}`)
	after.Require = []resource.Ref{{Kind: "File", Name: "replaced"}}
	reported := item("reported", `{"path": "/reported", "content": "x"}`)
	reported.Noop = new(true)
	items := []resource.Item{
		item("good", `{"path": "/good", "content": "x"}`), item("replaced", `{"path": "/instead", "content": "x"}`), after, reported, item("invalid", `{"path": "none"}`),
	}
	ran, err := engine.Transaction{Host: h, Bucket: bucket.New(h, bucket.DefaultDir, bucket.DefaultLimit), Kinds: []resource.Kind{kind}, Now: time.Now}.Run(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	next, _ := status.Next(v1alpha1.NodeCatalogStatus{}, status.Input{Now: noon(), Generation: 1, Run: &status.Run{Report: ran, Generation: 1, Trigger: v1alpha1.TriggerStart}})

	var index nodestatus.Index
	nodes := []string{"web-1"}
	index.Add(nodestatus.Node{Name: nodes[0], Desired: &compiler.NodeResult{}, Reported: &v1alpha1.NodeCatalog{Status: next}})
	var resources numbers
	for _, i := range items {
		c := index.Summarize(v1alpha1.ResourceRef(i.Ref.String()), nodes).Counts
		resources.InSync, resources.OutOfSync, resources.Failed = resources.InSync+int(c.InSync), resources.OutOfSync+int(c.OutOfSync), resources.Failed+int(c.Failed)
		resources.Skipped, resources.Noop = resources.Skipped+int(c.Skipped), resources.Noop+int(c.Noop)
	}
	c, n := ran.Counts, next.Counts
	got := map[string]numbers{
		"host":      {c.InSync, c.OutOfSync, c.Failed, c.Skipped, c.Noop},
		"node":      {int(n.InSync), int(n.OutOfSync), int(n.Failed), int(n.Skipped), int(n.Noop)},
		"resources": resources,
	}
	same := numbers{InSync: 1, OutOfSync: 2, Failed: 2, Skipped: 1, Noop: 1}
	if diff := cmp.Diff(map[string]numbers{"host": same, "node": same, "resources": same}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
