// Package cluster collects what a bug report needs from a cluster.
package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/bundle"
)

const (
	pageSize = 500
	// logLines and logBytes bound the log of a container, and maxPods the number of agents whose logs are collected: those
	// of the first pods by name, unless nodes are given.
	logLines = 5000
	logBytes = 4 << 20
	maxPods  = 20
)

// Collect adds what it finds to the folder cluster of an archive. Logs are those of the manager and, if nodes are given, of the
// agents there, otherwise of some agents.
func Collect(ctx context.Context, config *rest.Config, nodes []string, a *bundle.Archive) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	core, err := clientOf(config)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	var version map[string]any
	if err := get(ctx, core, "/version", &version); err != nil {
		return fmt.Errorf("cannot reach the cluster: %w", err)
	}
	a.AddYAML("cluster/version.yaml", version)
	kinds, err := resourcesOf(ctx, core)
	a.Problem("cluster/"+v1alpha1.GroupVersion.Group, err)
	for _, s := range sources(kinds) {
		collect(ctx, client, s, a)
	}
	logs(ctx, client, core, nodes, a)
	return nil
}

// clientOf returns a client for paths. That of client-go/discovery would register every kind of Kubernetes at the start of
// the program, which takes ten milliseconds.
func clientOf(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	return rest.UnversionedRESTClientFor(config)
}

// get decodes the document at a path.
func get(ctx context.Context, core rest.Interface, path string, into any) error {
	raw, err := core.Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// resourcesOf lists the resources of users that the API server has.
func resourcesOf(ctx context.Context, core rest.Interface) ([]schema.GroupVersionResource, error) {
	var list metav1.APIResourceList
	if err := get(ctx, core, "/apis/"+v1alpha1.GroupVersion.String(), &list); err != nil {
		return nil, err
	}
	var all []schema.GroupVersionResource
	for _, r := range list.APIResources {
		if slices.Contains(internalKinds(), r.Name) || path.Base(r.Name) != r.Name { // a subresource
			continue
		}
		all = append(all, v1alpha1.GroupVersion.WithResource(r.Name))
	}
	return all, nil
}

// collect adds the objects of a source as one file.
func collect(ctx context.Context, client dynamic.Interface, s source, a *bundle.Archive) {
	name := path.Join("cluster", s.namespace, s.resource.Resource+".yaml")
	if s.resource.Group != "" {
		name = path.Join("cluster", s.namespace, s.resource.Resource+"."+s.resource.Group+".yaml")
	}
	picked := []any{}
	err := each(ctx, client.Resource(s.resource).Namespace(s.namespace), func(o *unstructured.Unstructured) {
		if s.wanted == nil || s.wanted(o) {
			picked = append(picked, s.fields.Pick(o.Object))
		}
	})
	if apierrors.IsNotFound(err) { // the API server lacks the kind
		return
	}
	a.Problem(name, err)
	a.AddYAML(name, map[string]any{"items": picked})
}

// each calls f with every object.
func each(ctx context.Context, objects dynamic.ResourceInterface, f func(*unstructured.Unstructured)) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := objects.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			f(&list.Items[i])
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// logs adds the logs of pods, also of the containers that ran before the present ones.
func logs(ctx context.Context, client dynamic.Interface, core rest.Interface, nodes []string, a *bundle.Archive) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	wanted := map[string]bool{}
	for _, node := range nodes {
		wanted[node] = true
	}
	for _, namespace := range []string{managerNamespace, v1alpha1.AgentNamespace} {
		count := 0
		err := each(ctx, client.Resource(pods).Namespace(namespace), func(pod *unstructured.Unstructured) {
			node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
			if namespace == v1alpha1.AgentNamespace && len(wanted) > 0 && !wanted[node] || count >= maxPods {
				return
			}
			count++
			logsOf(ctx, core, pod, a)
		})
		a.Problem(path.Join("cluster", namespace, "logs"), err)
	}
}

func logsOf(ctx context.Context, core rest.Interface, pod *unstructured.Unstructured, a *bundle.Archive) {
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	for _, container := range containers {
		fields, _ := container.(map[string]any)
		name, _ := fields["name"].(string)
		for _, previous := range []string{"false", "true"} {
			file := path.Join("cluster", pod.GetNamespace(), "logs", pod.GetName(), name+map[string]string{"false": "", "true": ".previous"}[previous]+".log")
			stream, err := core.Get().AbsPath("/api/v1/namespaces", pod.GetNamespace(), "pods", pod.GetName(), "log").
				Param("container", name).Param("previous", previous).Param("tailLines", fmt.Sprint(logLines)).Param("timestamps", "true").Stream(ctx)
			if err != nil {
				if previous == "false" {
					a.Problem(file, err)
				}
				continue
			}
			text, err := io.ReadAll(io.LimitReader(stream, logBytes))
			_ = stream.Close() // it was read
			a.Problem(file, err)
			a.Add(file, text)
		}
	}
}
