package cluster

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/bundle"
)

// A source is a kind of objects to collect.
type source struct {
	resource  schema.GroupVersionResource
	namespace string // "" for all, or a kind without namespaces
	fields    bundle.Fields
	// wanted selects objects; nil selects all.
	wanted func(*unstructured.Unstructured) bool
}

// managerNamespace is the namespace of the manager.
const managerNamespace = "fettle-system"

// identity are the fields of metadata. It omits annotations, in which kubectl stores whole objects, and managedFields.
func identity() bundle.Fields {
	return bundle.Allow("apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.generation", "metadata.resourceVersion",
		"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.finalizers", "metadata.labels", "metadata.ownerReferences")
}

// resourceFields are the fields of every kind of fettle.dev for users. It omits the attributes, but for those that identify
// the object on the host and its desired presence.
func resourceFields() bundle.Fields {
	return identity().With("spec.nodeSelector", "spec.when", "spec.noop", "spec.provider", "spec.deletionPolicy", "spec.require", "spec.before", "spec.notify",
		"spec.subscribe", "spec.audit", "spec.ensure", "spec.path", "spec.name", "status")
}

// internalKinds are the kinds of fettle.dev that are no resources on nodes. They have fields of their own.
func internalKinds() []string {
	return []string{"catalogs", "nodecatalogs", "fleets", "rolloutpolicies", "catalogrevisions"}
}

// revisionFields has the names of Catalogs, and not their content.
func revisionFields() bundle.Fields {
	return identity().With("count", "faults", "types", "parts", "targets.nodeSelector", "targets.when", "targets.acceptSelfLabelledNodes", "targets.remote",
		"targets.deleting", "targets.catalogs", "targets.sources", "targets.faulty")
}

func sources(resources []schema.GroupVersionResource) []source {
	core := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	of := func(group, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	}
	own := v1alpha1.GroupVersion.WithResource
	all := []source{
		{resource: core("nodes"), fields: identity().With("spec.taints", "spec.unschedulable", "status.nodeInfo", "status.conditions")},
		{resource: core("namespaces"), fields: identity().With("status"), wanted: ours},
		{
			resource: of("apiextensions.k8s.io", "customresourcedefinitions"), wanted: ofFettle,
			fields: identity().With("spec.versions.name", "spec.versions.served", "spec.versions.storage", "status.conditions", "status.storedVersions"),
		},
		{resource: of("admissionregistration.k8s.io", "validatingadmissionpolicies"), fields: identity().With("spec", "status"), wanted: ours},
		{resource: of("admissionregistration.k8s.io", "validatingadmissionpolicybindings"), fields: identity().With("spec"), wanted: ours},
		{resource: of("rbac.authorization.k8s.io", "clusterroles"), fields: identity().With("rules", "aggregationRule"), wanted: ours},
		{resource: of("rbac.authorization.k8s.io", "clusterrolebindings"), fields: identity().With("roleRef", "subjects"), wanted: ours},
		{resource: of("flowcontrol.apiserver.k8s.io", "flowschemas"), fields: identity().With("spec", "status"), wanted: ours},
		{resource: own("catalogs"), fields: identity().With("count")},
		{resource: own("nodecatalogs"), fields: nodeCatalogFields()},
		{resource: own("fleets"), fields: identity().With("status")},
		{resource: own("rolloutpolicies"), fields: identity().With("spec", "status")},
		{resource: own("catalogrevisions"), fields: revisionFields()},
		{resource: of("events.k8s.io", "events"), namespace: "default", fields: eventFields(), wanted: aboutFettle},
	}
	for _, r := range resources {
		all = append(all, source{resource: r, fields: resourceFields()})
	}
	for _, namespace := range []string{managerNamespace, v1alpha1.AgentNamespace} {
		all = append(all,
			source{resource: of("apps", "deployments"), namespace: namespace, fields: workloadFields()},
			source{resource: of("apps", "daemonsets"), namespace: namespace, fields: workloadFields()},
			source{resource: core("pods"), namespace: namespace, fields: podFields()},
			source{resource: of("coordination.k8s.io", "leases"), namespace: namespace, fields: identity().With("spec")},
			source{resource: of("rbac.authorization.k8s.io", "roles"), namespace: namespace, fields: identity().With("rules")},
			source{resource: of("rbac.authorization.k8s.io", "rolebindings"), namespace: namespace, fields: identity().With("roleRef", "subjects")},
			source{resource: of("policy", "poddisruptionbudgets"), namespace: namespace, fields: identity().With("spec", "status")},
			source{resource: core("resourcequotas"), namespace: namespace, fields: identity().With("spec", "status")},
			source{resource: of("events.k8s.io", "events"), namespace: namespace, fields: eventFields()},
		)
	}
	return all
}

// nodeCatalogFields omit the attributes of entries, values of changes, and facts of unknown content.
func nodeCatalogFields() bundle.Fields {
	return identity().With("spec.catalogs", "spec.entries.kind", "spec.entries.name", "spec.withheld", "spec.noop", "spec.rollout",
		"status.observedGeneration", "status.appliedGeneration", "status.appliedDigest", "status.agentVersion", "status.lastRun", "status.counts",
		"status.resources.ref", "status.resources.state", "status.resources.message", "status.resources.since", "status.resources.corrective",
		"status.resources.changes.property", "status.omitted", "status.omittedFacts", "status.conditions",
		"status.facts.os", "status.facts.kernelrelease", "status.facts.virtual", "status.facts.init")
}

// eventFields omit the state of the regarded object.
func eventFields() bundle.Fields {
	return identity().With("eventTime", "reason", "note", "type", "action", "regarding.kind", "regarding.namespace", "regarding.name", "series",
		"deprecatedCount", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "reportingController")
}

// workloadFields omit commands, arguments and environments.
func workloadFields() bundle.Fields {
	return identity().With("spec.replicas", "spec.updateStrategy", "spec.strategy", "spec.minReadySeconds", "spec.template.spec.containers.name",
		"spec.template.spec.containers.image", "spec.template.spec.containers.resources", "spec.template.spec.hostPID", "spec.template.spec.nodeSelector",
		"spec.template.spec.tolerations", "spec.template.spec.priorityClassName", "spec.template.spec.serviceAccountName", "status")
}

// podFields omit commands, arguments, environments and the messages that containers leave when they end.
func podFields() bundle.Fields {
	container := []string{
		"name", "image", "imageID", "ready", "restartCount", "started", "state.waiting", "state.running",
		"state.terminated.exitCode", "state.terminated.reason", "state.terminated.signal", "state.terminated.finishedAt",
		"lastState.terminated.exitCode", "lastState.terminated.reason", "lastState.terminated.signal", "lastState.terminated.finishedAt",
	}
	fields := identity().With("spec.nodeName", "spec.containers.name", "spec.containers.image", "spec.containers.resources", "spec.hostPID", "spec.tolerations")
	paths := []string{"status.phase", "status.conditions", "status.reason", "status.startTime", "status.hostIP", "status.qosClass"}
	for _, field := range container {
		paths = append(paths, "status.containerStatuses."+field)
	}
	return fields.With(paths...)
}

// ours selects the objects of an installation.
func ours(o *unstructured.Unstructured) bool {
	return strings.Contains(o.GetName(), "fettle") || o.GetLabels()["app.kubernetes.io/name"] == "fettle"
}

func ofFettle(o *unstructured.Unstructured) bool {
	return strings.HasSuffix(o.GetName(), "."+v1alpha1.GroupVersion.Group)
}

func aboutFettle(o *unstructured.Unstructured) bool {
	version, _, _ := unstructured.NestedString(o.Object, "regarding", "apiVersion")
	return strings.HasPrefix(version, v1alpha1.GroupVersion.Group+"/")
}
