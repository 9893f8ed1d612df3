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
	what string
	make func(ctx context.Context, turn int) error
}

// changes returns the changes in their order. All but the last two affect every node.
func (w *world) changes() []change {
	return []change{
		{"a resource", func(ctx context.Context, turn int) error {
			return w.patchFile(ctx, fmt.Sprintf("all-%d", turn%10), "content", text(turn))
		}},
		{"a template", func(ctx context.Context, turn int) error {
			return w.patchFile(ctx, "template", "contentTemplate", template(text(turn)))
		}},
		{"a ConfigMap", func(ctx context.Context, turn int) error {
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shared"}}
			return w.patch(ctx, o, map[string]any{"data": map[string]string{"content": text(turn)}})
		}},
		{"a Secret", func(ctx context.Context, turn int) error {
			o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "password"}}
			return w.patch(ctx, o, map[string]any{"stringData": map[string]string{"content": text(turn)}})
		}},
		{"a resource of a group", func(ctx context.Context, turn int) error {
			return w.patchFile(ctx, fmt.Sprintf("group-%d", turn%(3*groups)), "content", text(turn))
		}},
		{"a node's labels", func(ctx context.Context, turn int) error {
			o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.names[w.random.IntN(len(w.names))]}}
			if err := w.admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			now := fmt.Sprint((int(o.Labels["group"][0]-'0') + 1 + turn%(groups-1)) % groups)
			return w.patch(ctx, o, map[string]any{"metadata": map[string]any{"labels": map[string]string{"group": now}}})
		}},
	}
}

// text returns a few kilobytes, different for each turn.
func text(turn int) string {
	all := ""
	for line := range 50 {
		all += fmt.Sprintf("turn %d line %d\n", turn, line)
	}
	return all
}

func (w *world) patchFile(ctx context.Context, name, attribute, value string) error {
	return w.patch(ctx, &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name}}, map[string]any{"spec": map[string]string{attribute: value}})
}

func (w *world) patch(ctx context.Context, o client.Object, body map[string]any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return w.admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, text))
}

// A turn is a change, and the state of the cluster before it.
type turn struct {
	*world
	change
	number  int
	before  *picture
	wanted  compiler.Result
	written map[string]map[string]int
	made    time.Time
	mark    int // position in the journal
}

// begin waits until the previous turn is complete, and makes the next change.
func (w *world) begin(t *testing.T, number int, c change) *turn {
	t.Helper()
	before, wanted := w.settled(t)
	n := &turn{world: w, change: c, number: number, before: before, wanted: wanted, written: w.written(), mark: w.requests.mark()}
	n.made = time.Now()
	must(t, c.make(t.Context(), number))
	return n
}

// concerned returns the nodes whose specs a change updates.
func (n *turn) concerned(now compiler.Result) map[string]bool {
	all := map[string]bool{}
	for node, is := range now.Nodes {
		if was := n.wanted.Nodes[node]; is.Digest != was.Digest || !slices.Equal(is.Spec.Withheld, was.Spec.Withheld) {
			all[node] = true
		}
	}
	return all
}

// end waits for the desired state, and checks that only necessary requests and writes were made. It returns the number
// of NodeCatalogs that were patched one more time.
func (n *turn) end(t *testing.T) (twice int) {
	t.Helper()
	is, want := n.settled(t)
	concerned := n.concerned(want)
	same(t, "what must never go away", n.before.identities(), is.identities())
	generations := n.before.generations()
	for node := range concerned {
		generations[node]++
	}
	same(t, "generations", generations, is.generations())
	if n.what != "a Secret" {
		same(t, "sealed values", n.before.seals(), is.seals())
	}
	n.checkHosts(t, n.before.contents(t, n.wanted), is.contents(t, want))
	twice = n.checkRequests(t, concerned)
	if t.Failed() {
		t.Fatalf("turn %d: %s", n.number, n.what)
	}
	return twice
}

// checkHosts checks that every host has the desired files, and that unchanged files were not rewritten.
func (n *turn) checkHosts(t *testing.T, before, now map[string]map[string]string) {
	t.Helper()
	written := n.world.written()
	for node, files := range now {
		got, times := map[string]string{}, n.written[node]
		for path, content := range files {
			got[path] = n.machines[node].has(path)
			if was, ok := before[node][path]; !ok || was != content {
				times[path]++
			}
		}
		same(t, "files of "+node, files, got)
		for path := range files {
			// A node that was selected before may already have the content.
			if extra := written[node][path] - times[path]; extra > 0 {
				t.Errorf("%s of %s was written %d times too many", path, node, extra)
			}
		}
	}
}

// checkRequests checks the manager's requests.
func (n *turn) checkRequests(t *testing.T, concerned map[string]bool) (twice int) {
	t.Helper()
	all := n.requests.since(n.mark)
	for _, r := range all {
		if r.verb == "delete" || r.verb == "deletecollection" || r.verb == "create" && r.about == "nodecatalogs" {
			t.Errorf("%s %s %s: %d", r.verb, r.about, r.name, r.code)
		}
	}
	for node, times := range patched(all) {
		if !concerned[node] {
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
