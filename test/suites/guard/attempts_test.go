package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// An attempt does one thing to one object.
type attempt func(ctx context.Context, r dynamic.ResourceInterface, o object) error

// attempts are the possible writes to an object, by name.
func (o object) attempts() map[string]attempt {
	all := map[string]attempt{
		"create": create, "update": update(""), "patch": patch(""), "apply": apply(""),
		"delete": func(ctx context.Context, r dynamic.ResourceInterface, o object) error {
			return r.Delete(ctx, o.name, metav1.DeleteOptions{})
		},
		"delete the collection of": func(ctx context.Context, r dynamic.ResourceInterface, _ object) error {
			return r.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
	}
	if o.status {
		all["update status of"], all["patch status of"], all["apply status of"] = update("status"), patch("status"), apply("status")
	}
	if o.kind == "Fleet" {
		delete(all, "create") // nobody can create another
	}
	if o.kind == "Lease" {
		all["take over"] = takeOver
		all["prolong"] = prolong
		all["hand on"] = handOn
	}
	return all
}

// try lets every agent try everything.
func (c *cluster) try(t *testing.T) map[string]error {
	t.Helper()
	all := map[string]error{}
	for _, token := range tokens {
		for _, o := range c.objects {
			for verb, do := range o.attempts() {
				must(t, c.admin.Get(t.Context(), client.ObjectKeyFromObject(o.whole), o.whole))
				name := o.String()
				if verb == "create" {
					name = o.kind + " " + o.another()
				}
				all[token+": "+verb+" "+name] = do(t.Context(), o.in(c.agents[token]), o)
			}
		}
	}
	return all
}

// tryToMakeOwn makes an agent without NodeCatalog and Lease try to create them.
func (c *cluster) tryToMakeOwn(t *testing.T, node string) map[string]error {
	t.Helper()
	cfg := rest.AnonymousClientConfig(c.cfg)
	cfg.BearerToken = c.token(t, node)
	agent, err := dynamic.NewForConfig(cfg)
	must(t, err)
	all := map[string]error{}
	for plural, whole := range map[string]client.Object{
		"nodecatalogs": &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: node}}, "leases": lease(namespace, node),
	} {
		kind, err := c.admin.GroupVersionKindFor(whole)
		must(t, err)
		o := object{kind: kind.Kind, namespace: whole.GetNamespace(), name: node, resource: kind.GroupVersion().WithResource(plural), whole: whole}
		resource := o.in(agent)
		_, all["create "+o.String()] = resource.Create(t.Context(), o.document(), metav1.CreateOptions{})
		all["apply "+o.String()] = apply("")(t.Context(), resource, o)
	}
	return all
}

// in returns a client for objects of the kind.
func (o object) in(c dynamic.Interface) dynamic.ResourceInterface {
	if o.namespace == "" {
		return c.Resource(o.resource)
	}
	return c.Resource(o.resource).Namespace(o.namespace)
}

// create creates another object of the kind, because the object itself exists.
func create(ctx context.Context, r dynamic.ResourceInterface, o object) error {
	next := o.document()
	next.SetName(o.another())
	next.SetResourceVersion("")
	_, err := r.Create(ctx, next, metav1.CreateOptions{})
	return err
}

// another returns the name of a possible object of the kind.
func (o object) another() string {
	if o.kind == "Catalog" {
		return catalog.Name(nil)
	}
	return o.name + "-02"
}

func update(subresource string) attempt {
	return func(ctx context.Context, r dynamic.ResourceInterface, o object) error {
		next := o.document()
		o.change(next)
		_, err := r.Update(ctx, next, metav1.UpdateOptions{}, subresources(subresource)...)
		return err
	}
}

func patch(subresource string) attempt {
	return func(ctx context.Context, r dynamic.ResourceInterface, o object) error {
		next := &unstructured.Unstructured{Object: map[string]any{}}
		o.change(next)
		body, err := json.Marshal(next.Object)
		if err != nil {
			return err
		}
		_, err = r.Patch(ctx, o.name, types.MergePatchType, body, metav1.PatchOptions{}, subresources(subresource)...)
		return err
	}
}

func apply(subresource string) attempt {
	return func(ctx context.Context, r dynamic.ResourceInterface, o object) error {
		next := &unstructured.Unstructured{Object: map[string]any{}}
		next.SetAPIVersion(o.resource.GroupVersion().String())
		next.SetKind(o.kind)
		next.SetName(o.name)
		o.change(next)
		_, err := r.Apply(ctx, o.name, next, metav1.ApplyOptions{FieldManager: "test", Force: true}, subresources(subresource)...)
		return err
	}
}

// takeOver would block garbage collection.
func takeOver(ctx context.Context, r dynamic.ResourceInterface, o object) error {
	_, err := r.Patch(ctx, o.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/mine"]}}`), metav1.PatchOptions{})
	return err
}

// prolong would hide the agent's absence from the manager.
func prolong(ctx context.Context, r dynamic.ResourceInterface, o object) error {
	_, err := r.Patch(ctx, o.name, types.MergePatchType, []byte(`{"spec":{"leaseDurationSeconds":86400}}`), metav1.PatchOptions{})
	return err
}

// handOn would make every reader of Leases read large objects.
func handOn(ctx context.Context, r dynamic.ResourceInterface, o object) error {
	_, err := r.Patch(ctx, o.name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"holderIdentity":%q}}`, strings.Repeat("x", 1<<20)), metav1.PatchOptions{})
	return err
}

// burdens would make a widely read status, or data derived from it, too large.
func burdens() map[string]string {
	long := strings.Repeat("x", 64<<10)
	report := func(fields string) string {
		return fmt.Sprintf(`{"status":{"resources":[{"ref":"File/motd",%s}]}}`, fields)
	}
	var conditions []string
	for i := range 20 {
		conditions = append(conditions, fmt.Sprintf(`{"type":"C%d","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}`, i))
	}
	return map[string]string{
		"status.resources[0].state":               report(`"state":"` + long + `"`),
		"status.resources[0].message":             report(`"state":"Failed","message":"` + long + `"`),
		"status.resources[0].changes[0].property": report(`"state":"Failed","changes":[{"property":"` + long + `"}]`),
		"status.resources[0].changes[0].is":       report(`"state":"Failed","changes":[{"property":"a","is":"` + long + `"}]`),
		"status.resources[0].changes[0].should":   report(`"state":"Failed","changes":[{"property":"a","should":"` + long + `"}]`),
		"status.agentVersion":                     `{"status":{"agentVersion":"` + long + `"}}`,
		"status.appliedDigest":                    `{"status":{"appliedDigest":"` + long + `"}}`,
		"status.publicKey":                        `{"status":{"publicKey":"` + long + `"}}`,
		"status.omittedFacts":                     `{"status":{"omittedFacts":"` + long + `"}}`,
		"status.lastRun.duration":                 `{"status":{"lastRun":{"started":"2026-01-01T00:00:00Z","trigger":"Start","duration":"` + long + `"}}}`,
		"status.conditions":                       `{"status":{"conditions":[` + strings.Join(conditions, ",") + `]}}`,
	}
}

func subresources(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// document returns the object as a client sends it.
func (o object) document() *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.whole.DeepCopyObject())
	if err != nil {
		panic(err) // all are API objects
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion(o.resource.GroupVersion().String())
	u.SetKind(o.kind)
	for _, field := range []string{"uid", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u
}

// change returns a plausible update by an agent.
func (o object) change(u *unstructured.Unstructured) {
	now := time.Now().UTC()
	var err error
	switch o.kind {
	case "Lease":
		err = unstructured.SetNestedField(u.Object, now.Format(metav1.RFC3339Micro), "spec", "renewTime")
	case "NodeCatalog":
		err = unstructured.SetNestedField(u.Object, now.String(), "status", "agentVersion")
		if err == nil {
			err = unstructured.SetNestedField(u.Object, true, "spec", "noop")
		}
	default:
		u.SetLabels(map[string]string{"changed": fmt.Sprint(now.UnixNano())})
	}
	if err != nil {
		panic(err) // the document is a constant
	}
}
