package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	agentstatus "github.com/fettle-dev/fettle/nodeagent/status"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// etcdLimit is etcd's limit for one object, its --max-request-bytes.
const etcdLimit = 1.5 * (1 << 20)

// Even if a node writes as much as schema and policy allow, the manager can write its spec.
func TestNodeObjectSizeIsLimited(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	c := newCluster(t, cfg)
	n := node{dynamic: c.agents["node-a"], name: "node-a"}

	t.Run("rejects large statuses", func(t *testing.T) {
		for name, status := range oversized() {
			err := n.merge(t.Context(), status)
			if !apierrors.IsRequestEntityTooLargeError(err) && !apierrors.IsInvalid(err) && !isOverBudget(err) {
				t.Errorf("%s was accepted, or rejected for another reason: %.300v", name, err)
			}
		}
	})
	t.Run("accepts facts within the limits", func(t *testing.T) {
		for name, facts := range map[string]any{
			"many numbers":  map[string]any{"list": repeated(1, 16<<10-10)},
			"many names":    numbered(1024),
			"8 levels":      nested(8),
			"nulls":         map[string]any{"list": []any{nil, nil}},
			"other numbers": []any{1e300, -1.5, 1e20, true, false}[0:0],
		} {
			if list, ok := facts.([]any); ok {
				facts = map[string]any{"list": append(list, 1e300, -1.5, 1e20, true, false)}
			}
			must(t, n.merge(t.Context(), map[string]any{"facts": nil}))
			if err := n.merge(t.Context(), map[string]any{"facts": facts}); err != nil {
				t.Errorf("%s: %.300v", name, err)
			}
		}
	})
	t.Run("accepts an agent's largest status", func(t *testing.T) {
		for _, character := range []string{"x", "<", "\u2028", "\x01", "😀", ""} {
			must(t, n.merge(t.Context(), map[string]any{"facts": nil}))
			if err := n.merge(t.Context(), agentStatus(t, character)); err != nil {
				t.Errorf("of %q: %.300v", character, err)
			}
		}
	})
	t.Run("limits field managers", func(t *testing.T) {
		n := node{dynamic: c.agents["node-bound"], name: "node-bound"}
		var refused error
		for i := 0; i < 400 && refused == nil; i++ {
			refused = n.report(t.Context(), fullStatus("<"), fmt.Sprintf("manager-%03d-%s", i, strings.Repeat("x", 100)))
		}
		if !apierrors.IsRequestEntityTooLargeError(refused) || !strings.Contains(refused.Error(), "managedFields of nodecatalogs.fettle.dev/status node-bound take more than 8 KiB: write as one field manager") {
			t.Errorf("many field managers: %.300v", refused)
		}
		refused = nil
		for i := 0; i < 400 && refused == nil; i++ {
			refused = n.renew(t.Context(), fmt.Sprintf("manager-%03d-%s", i, strings.Repeat("x", 100)))
		}
		if !apierrors.IsRequestEntityTooLargeError(refused) || !strings.Contains(refused.Error(), "managedFields of leases.coordination.k8s.io fettle-nodes/node-bound") {
			t.Errorf("many field managers of a Lease: %.300v", refused)
		}
	})
	t.Run("limits forged managedFields", func(t *testing.T) {
		n := node{dynamic: c.agents["node-bound"], name: "node-bound"}
		const entry = `{"managedFields":[{"manager":"fettle-nodeagent","operation":"Update","apiVersion":%q,"time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","subresource":%q,"fieldsV1":{%s}}]}`
		forge := func(r dynamic.ResourceInterface, more, version string, subresource ...string) {
			forged := fmt.Sprintf(`{%s"metadata":`+entry+`}`, more, version, strings.Join(subresource, ""), manyFields(20_000))
			_, err := r.Patch(t.Context(), "node-bound", types.MergePatchType, []byte(forged), metav1.PatchOptions{}, subresource...)
			is, failed := r.Get(t.Context(), "node-bound", metav1.GetOptions{})
			must(t, failed)
			stored, failed := json.Marshal(is.GetManagedFields())
			must(t, failed)
			if len(stored) > 16<<10 {
				t.Errorf("%s has %d bytes of managedFields; the patch returned %.300v", is.GetKind(), len(stored), err)
			}
		}
		widen(t, c)
		forge(n.nodeCatalogs(), `"status":{"agentVersion":"forged"},`, "fettle.dev/v1alpha1", "status")
		forge(n.leases(), "", "coordination.k8s.io/v1")
	})
	for _, character := range []string{"<", "😀"} {
		t.Run(fmt.Sprintf("which leaves room for the largest spec beside a status full of %q", character), func(t *testing.T) {
			n := node{dynamic: c.agents["node-b"], name: "node-b"}
			n.fill(t, character)
			leavesRoom(t, c.admin, n.name)
		})
	}
}

// A node is an agent with a node's token.
type node struct {
	dynamic dynamic.Interface
	name    string
}

func (n node) nodeCatalogs() dynamic.ResourceInterface {
	return n.dynamic.Resource(v1alpha1.GroupVersion.WithResource("nodecatalogs"))
}

func (n node) leases() dynamic.ResourceInterface {
	return n.dynamic.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace(namespace)
}

// merge patches the given fields of a status, like an agent.
func (n node) merge(ctx context.Context, status map[string]any) error {
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = n.nodeCatalogs().Patch(ctx, n.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "fettle-nodeagent"}, "status")
	return err
}

// report applies a status with its own field manager, which adds to managedFields.
func (n node) report(ctx context.Context, status map[string]any, manager string) error {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "fettle.dev/v1alpha1", "kind": "NodeCatalog", "metadata": map[string]any{"name": n.name}, "status": plain(status)}}
	_, err := n.nodeCatalogs().Apply(ctx, n.name, u, metav1.ApplyOptions{FieldManager: manager, Force: true}, "status")
	return err
}

func (n node) renew(ctx context.Context, manager string) error {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"namespace": namespace, "name": n.name},
		"spec": map[string]any{"holderIdentity": n.name, "renewTime": metav1.NowMicro().UTC().Format(metav1.RFC3339Micro)},
	}}
	_, err := n.leases().Apply(ctx, n.name, u, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

// fill writes as many field managers and as large a status as are accepted.
func (n node) fill(t *testing.T, character string) {
	t.Helper()
	for i := range 400 {
		if n.report(t.Context(), fullStatus(character), fmt.Sprintf("manager-%03d-%s", i, strings.Repeat("x", 100))) != nil {
			break
		}
	}
	accepted := 0
	for step := 1 << 16; step > 0; step /= 2 {
		status := fullStatus(character)
		status["facts"] = map[string]any{"x": strings.Repeat(character, accepted+step)}
		if n.report(t.Context(), status, "manager-000-"+strings.Repeat("x", 100)) == nil {
			accepted += step
		}
	}
	if accepted == 0 {
		t.Fatal("no fact was accepted")
	}
}

// fullStatus returns a status with a value in every field except facts.
func fullStatus(character string) map[string]any {
	text := func(n int) string { return strings.Repeat(character, n) }
	var conditions, resources []any
	for i := range 8 {
		conditions = append(conditions, map[string]any{
			"type": fmt.Sprintf("C%d", i), "status": "True", "reason": "R", "message": text(500), "lastTransitionTime": "2026-01-01T00:00:00Z",
		})
	}
	for i := range 50 {
		resources = append(resources, map[string]any{
			"ref": fmt.Sprintf("File/f%d%s", i, text(10)), "state": "Failed", "message": text(20), "corrective": true, "since": "2026-01-01T00:00:00Z",
			"changes": []any{map[string]any{"property": text(20), "is": text(10), "should": text(10)}},
		})
	}
	return map[string]any{
		"observedGeneration": 1 << 40, "appliedGeneration": 1 << 40, "appliedDigest": text(128), "agentVersion": text(128), "publicKey": text(4096),
		"omittedFacts": text(512), "omitted": 1 << 30, "conditions": conditions, "resources": resources,
		"lastRun": map[string]any{"started": "2026-01-01T00:00:00Z", "duration": text(64), "trigger": "Drift", "cachedCatalogStatus": "not_used"},
		"drift":   []any{map[string]any{"ref": "File/f", "firstSeen": "2026-01-01T00:00:00Z", "lastSeen": "2026-01-01T00:00:00Z", "count": 1, "corrected": true}},
		"counts":  map[string]any{"total": 1, "inSync": 1, "changed": 1, "outOfSync": 1, "failed": 1, "skipped": 1, "noop": 1, "refreshed": 1},
	}
}

// agentStatus returns an agent's status of a host with more to report than fits.
func agentStatus(t *testing.T, character string) map[string]any {
	t.Helper()
	facts := resource.Facts{"numbers": repeated(1, 5000)}
	for i := range 2000 {
		facts[fmt.Sprintf("fact-%04d", i)] = map[string]any{"value": strings.Repeat(character, i%20)}
	}
	ran := report.Report{Started: time.Now()}
	for i := range 60 {
		ran.Resources = append(ran.Resources, report.ResourceReport{
			Ref: report.Ref{Kind: "File", Name: fmt.Sprintf("%02d%s", i, strings.Repeat(character, 200))}, State: report.Failed, Message: strings.Repeat(character, 1000),
		})
	}
	s, _ := agentstatus.Next(v1alpha1.NodeCatalogStatus{}, agentstatus.Input{
		Now: time.Now(), Generation: 1, AgentVersion: "v1", PublicKey: strings.Repeat("k", 1624), Facts: facts,
		Run:     &agentstatus.Run{Report: ran, Generation: 1, Trigger: v1alpha1.TriggerStart},
		Problem: &agentstatus.Problem{Reason: v1alpha1.ReasonCatalogInvalid, Message: strings.Repeat(character, 5000)},
	})
	if s.Omitted == 0 && character != "" || s.OmittedFacts == "" {
		t.Errorf("of %q all had room", character)
	}
	out, ok := plain(s).(map[string]any)
	if !ok {
		t.Fatal("a status is no object")
	}
	out["facts"] = plain(s.Facts)
	return out
}

// oversized are statuses that schema or policy rejects.
func oversized() map[string]map[string]any {
	facts := func(v any) map[string]any { return map[string]any{"facts": v} }
	full := fullStatus("x")
	full["facts"] = map[string]any{"x": strings.Repeat("x", 45<<10)}
	long := fullStatus("x")
	for _, r := range long["resources"].([]any) {
		r.(map[string]any)["message"] = strings.Repeat("x", 512)
		r.(map[string]any)["ref"] = r.(map[string]any)["ref"].(string) + strings.Repeat("x", 1000)
	}
	told := fullStatus("x")
	for _, c := range told["conditions"].([]any) {
		c.(map[string]any)["message"] = strings.Repeat("x", 32<<10)
	}
	return map[string]map[string]any{
		"one large fact":          facts(map[string]any{"x": strings.Repeat("x", 1_400_000)}),
		"a fact just too large":   facts(map[string]any{"x": strings.Repeat("x", 64<<10)}),
		"a long name":             facts(map[string]any{strings.Repeat("x", 64<<10): 1}),
		"too many names":          facts(numbered(1025)),
		"many names within one":   facts(map[string]any{"x": numbered(100_000)}),
		"many numbers":            facts(map[string]any{"x": repeated(1, 500_000)}),
		"many empty lists":        facts(map[string]any{"x": repeated([]any{}, 300_000)}),
		"many nulls":              facts(map[string]any{"x": repeated(nil, 200_000)}),
		"long numbers":            facts(map[string]any{"x": repeated(1.2345678901234567e-300, 5_000)}),
		"9 levels":                facts(nested(9)),
		"500 levels":              facts(nested(500)),
		"every part of it":        full,
		"names of resources":      long,
		"messages of conditions":  told,
		"as much of all as it is": facts(map[string]any{"x": map[string]any{"y": repeated(map[string]any{"z": strings.Repeat("<", 100)}, 1000)}}),
	}
}

// leavesRoom writes a spec of the manager's maximum size.
func leavesRoom(t *testing.T, admin client.Client, name string) {
	t.Helper()
	var spec v1alpha1.NodeCatalogSpec
	for i := 0; ; i++ {
		next := v1alpha1.Withheld{Ref: v1alpha1.ResourceRef(fmt.Sprintf("File/f%05d", i)), Reason: v1alpha1.ReasonConflict, Message: strings.Repeat("x", 5000)}
		text, err := json.Marshal(append(spec.Withheld, next))
		must(t, err)
		if len(text)+len(`{"withheld":}`) > catalog.MaxSpec {
			break
		}
		spec.Withheld = append(spec.Withheld, next)
	}
	for i := range 640 { // some 64 KiB, which the manager adds
		spec.Cleanup = append(spec.Cleanup, v1alpha1.CleanupRef{Ref: v1alpha1.ResourceRef(fmt.Sprintf("File/f%05d", i)), UID: types.UID(strings.Repeat("u", 64))})
	}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	must(t, err)
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(t, admin.Patch(t.Context(), nc, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("fettle-manager")))
	stored, err := json.Marshal(nc)
	must(t, err)
	t.Logf("the spec has %d bytes, the whole object %d", len(patch), len(stored))
	if float64(len(stored)) > etcdLimit {
		t.Errorf("the object has %d bytes, more than etcd stores", len(stored))
	}
}

// isOverBudget reports whether a policy denied a request because it exceeded the cost budget.
func isOverBudget(err error) bool {
	return err != nil && strings.Contains(err.Error(), "cost limit")
}

// plain converts a value to its JSON types.
func plain(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the document is a constant
	}
	u := map[string]any{}
	if err := json.Unmarshal(text, &u); err != nil {
		panic(err)
	}
	return u
}

func repeated(v any, n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = v
	}
	return all
}

func numbered(n int) map[string]any {
	all := make(map[string]any, n)
	for i := range n {
		all[fmt.Sprintf("f%d", i)] = "x"
	}
	return all
}

// nested returns an object with n levels, alternating objects and lists.
func nested(levels int) map[string]any {
	var v any = "x"
	for i := range levels - 1 {
		if i%2 == 0 {
			v = []any{v}
		} else {
			v = map[string]any{"x": v}
		}
	}
	return map[string]any{"x": v}
}

func manyFields(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"f:x%d":{}`, i))
	}
	return strings.Join(all, ",")
}
