package guard_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// oddTimes are times that an API server accepts, but that clients cannot decode, or cannot encode again so that others can
// decode them. The last one is encoded as null.
func oddTimes() []string {
	return []string{
		"2026-01-01t00:00:00z", "2026-01-01T00:00:00X123Z", "2026-01-01T00:00:00+99:99",
		"9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z",
	}
}

// One object that nobody can decode keeps everyone from reading all objects of its kind.
func TestWhatAnAgentWritesCanBeRead(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	c := newCluster(t, cfg)
	n := node{dynamic: c.agents["node-a"], name: "node-a"}
	for _, path := range timesOf(reflect.TypeFor[v1alpha1.NodeCatalogStatus](), "") {
		for _, odd := range oddTimes() {
			status := fullStatus("x")
			if !replace(status, path, odd) {
				t.Fatalf("status.%s: fullStatus has no such time", path)
			}
			if err := n.merge(t.Context(), status); err == nil || !strings.Contains(err.Error(), "a time of nodecatalogs.fettle.dev/status node-a is not in UTC") {
				t.Errorf("%s = %s: %.300v", path, odd, err)
			}
			must(t, c.admin.List(t.Context(), &v1alpha1.NodeCatalogList{}))
		}
	}
	must(t, n.merge(t.Context(), fullStatus("x")))

	readers := rest.CopyConfig(cfg)
	readers.ContentType = "application/json"
	reader, err := kubernetes.NewForConfig(readers)
	must(t, err)
	var paths []string
	for _, path := range timesOf(reflect.TypeFor[coordinationv1.LeaseSpec](), "") {
		paths = append(paths, `{"spec":{"`+path+`":%q}}`)
	}
	paths = append(paths, `{"spec":{"renewTime":"2026-01-01T00:00:00.000000Z"},"metadata":{"managedFields":[{"manager":"other","operation":"Update","apiVersion":"coordination.k8s.io/v1","time":%q,"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:renewTime":{}}}}]}}`)
	for _, path := range paths {
		for _, odd := range []string{"9999-12-31T23:59:59.000000-23:59", "0000-01-01T00:00:00.000000+23:59"} {
			_, _ = n.leases().Patch(t.Context(), n.name, types.MergePatchType, fmt.Appendf(nil, path, odd), metav1.PatchOptions{FieldManager: "fettle-nodeagent"})
			if _, err := reader.CoordinationV1().Leases(namespace).List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Fatalf("after "+path+": %v", odd, err)
			}
		}
	}
	must(t, n.renew(t.Context(), "fettle-nodeagent"))
}

// timesOf returns the paths of all times in the JSON of a type.
func timesOf(of reflect.Type, path string) (paths []string) {
	switch {
	case of == reflect.TypeFor[metav1.Time](), of == reflect.TypeFor[metav1.MicroTime]():
		return []string{path}
	case of.Kind() == reflect.Pointer:
		return timesOf(of.Elem(), path)
	case of.Kind() == reflect.Slice:
		return timesOf(of.Elem(), path)
	case of.Kind() != reflect.Struct:
		return nil
	}
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		paths = append(paths, timesOf(field.Type, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return paths
}

// replace replaces the value at a path of a document, in the first item of each list, and reports whether there is one.
func replace(in any, path string, value string) bool {
	if list, ok := in.([]any); ok {
		return len(list) > 0 && replace(list[0], path, value)
	}
	object, _ := in.(map[string]any)
	name, rest, deeper := strings.Cut(path, ".")
	if _, exists := object[name]; !exists || deeper {
		return exists && replace(object[name], rest, value)
	}
	object[name] = value
	return true
}
