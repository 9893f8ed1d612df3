//go:build rare

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// A change is one request of a user.
type change struct {
	what  string
	apply func(ctx context.Context, number int) error
}

// changes returns the changes in their order. All but the last two affect every node.
func (f *fixture) changes() []change {
	return []change{
		{"a resource", func(ctx context.Context, number int) error {
			return f.patchFile(ctx, fmt.Sprintf("all-%d", number%10), "content", text(number))
		}},
		{"a template", func(ctx context.Context, number int) error {
			return f.patchFile(ctx, "template", "contentTemplate", template(text(number)))
		}},
		{"a ConfigMap", func(ctx context.Context, number int) error {
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shared"}}
			return f.patch(ctx, o, map[string]any{"data": map[string]string{"content": text(number)}})
		}},
		{"a Secret", func(ctx context.Context, number int) error {
			o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "password"}}
			return f.patch(ctx, o, map[string]any{"stringData": map[string]string{"content": text(number)}})
		}},
		{"a resource of a group", func(ctx context.Context, number int) error {
			return f.patchFile(ctx, fmt.Sprintf("group-%d", number%(3*groups)), "content", text(number))
		}},
		{"a node's labels", func(ctx context.Context, number int) error {
			o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.names[f.random.IntN(len(f.names))]}}
			if err := f.admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			now := fmt.Sprint((int(o.Labels["group"][0]-'0') + 1 + number%(groups-1)) % groups)
			return f.patch(ctx, o, map[string]any{"metadata": map[string]any{"labels": map[string]string{"group": now}}})
		}},
	}
}

// text returns a few kilobytes, different for each change.
func text(number int) string {
	all := ""
	for line := range 50 {
		all += fmt.Sprintf("change %d line %d\n", number, line)
	}
	return all
}

func (f *fixture) patchFile(ctx context.Context, name, attribute, value string) error {
	return f.patch(ctx, &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name}}, map[string]any{"spec": map[string]string{attribute: value}})
}

func (f *fixture) patch(ctx context.Context, o client.Object, body map[string]any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return f.admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, text))
}

// A rollout is a change that is being applied, with the state of the cluster before it.
type rollout struct {
	*fixture
	change
	number       int
	before       *snapshot
	compiled     compiler.Result
	writesBefore map[string]map[string]int
	started      time.Time
	mark         int // position in the journal
}

// startRollout waits until the previous rollout is complete, and makes the next change.
func (f *fixture) startRollout(t *testing.T, number int, c change) *rollout {
	t.Helper()
	before, compiled := f.awaitConvergence(t)
	r := &rollout{fixture: f, change: c, number: number, before: before, compiled: compiled, writesBefore: f.writeCounts(), mark: f.requests.mark()}
	r.started = time.Now()
	must(t, c.apply(t.Context(), number))
	return r
}

// affectedNodes returns the nodes whose NodeCatalogs the change updates.
func (r *rollout) affectedNodes(now compiler.Result) map[string]bool {
	all := map[string]bool{}
	for node, is := range now.Nodes {
		if was := r.compiled.Nodes[node]; is.Digest != was.Digest || !slices.Equal(is.Spec.Withheld, was.Spec.Withheld) {
			all[node] = true
		}
	}
	return all
}

// awaitCompletion waits for the desired state, and checks that only necessary requests and writes were made. It returns the number
// of NodeCatalogs that were patched twice.
func (r *rollout) awaitCompletion(t *testing.T) (twice int) {
	t.Helper()
	is, want := r.awaitConvergence(t)
	affected := r.affectedNodes(want)
	checkEqual(t, "what must never go away", r.before.identities(), is.identities())
	generations := r.before.generations()
	for node := range affected {
		generations[node]++
	}
	checkEqual(t, "generations", generations, is.generations())
	if r.what != "a Secret" {
		checkEqual(t, "sealed values", r.before.sealedValues(), is.sealedValues())
	}
	r.checkHosts(t, r.before.desiredFiles(t, r.compiled), is.desiredFiles(t, want))
	twice = r.checkRequests(t, affected)
	if t.Failed() {
		t.Fatalf("change %d: %s", r.number, r.what)
	}
	return twice
}

// checkHosts checks that every host has the desired files, and that unchanged files were not rewritten.
func (r *rollout) checkHosts(t *testing.T, before, now map[string]map[string]string) {
	t.Helper()
	written := r.writeCounts()
	for node, files := range now {
		got, times := map[string]string{}, r.writesBefore[node]
		for path, content := range files {
			got[path] = r.machines[node].content(path)
			if was, ok := before[node][path]; !ok || was != content {
				times[path]++
			}
		}
		checkEqual(t, "files of "+node, files, got)
		for path := range files {
			// A node that was selected before may already have the content.
			if extra := written[node][path] - times[path]; extra > 0 {
				t.Errorf("%s of %s was written %d times too many", path, node, extra)
			}
		}
	}
}

// checkRequests checks the manager's requests.
func (r *rollout) checkRequests(t *testing.T, affected map[string]bool) (twice int) {
	t.Helper()
	all := r.requests.since(r.mark)
	for _, req := range all {
		if req.verb == "delete" || req.verb == "deletecollection" || req.verb == "create" && req.resource == "nodecatalogs" {
			t.Errorf("%s %s %s: %d", req.verb, req.resource, req.name, req.code)
		}
	}
	for node, times := range patched(all) {
		if !affected[node] {
			t.Errorf("NodeCatalog %s was patched, but the change does not affect it", node)
		}
		if times > 1 {
			twice++
		}
		if times > 2 {
			t.Errorf("NodeCatalog %s was patched %d times", node, times)
		}
	}
	if twice > writers {
		t.Errorf("%d NodeCatalogs were patched twice, more than concurrent writes", twice)
	}
	return twice
}

// writers is the number of concurrent writes of a manager.
const writers = 16
