package v1alpha1

// DeletionPolicy defines what happens to a managed object on a host when its resource is deleted or
// no longer selects the node.
// +kubebuilder:validation:Enum=Orphan;Delete;Restore
type DeletionPolicy string

// Deletion policies. "" means Orphan.
const (
	DeletionOrphan  DeletionPolicy = "Orphan"  // leave the object unchanged
	DeletionDelete  DeletionPolicy = "Delete"  // remove the object
	DeletionRestore DeletionPolicy = "Restore" // revert the object to its state before the resource
)

// Acts reports whether hosts must clean up when a resource with this policy is deleted.
func (p DeletionPolicy) Acts() bool { return p == DeletionDelete || p == DeletionRestore }

const (
	// FinalizerCleanup is set on resources whose deletionPolicy is not Orphan. The manager removes it
	// once all nodes have cleaned up.
	FinalizerCleanup = "fettle.dev/cleanup"
	// FinalizerUninstall is set on the manager's ServiceAccount and permissions while a resource has
	// FinalizerCleanup. When they are deleted, the manager removes all finalizers, this one last.
	FinalizerUninstall = "fettle.dev/uninstall"
	// AnnotationAbandonCleanup makes deletion of a resource not wait for its nodes to clean up, if its
	// value is "true". They still clean up when they can.
	AnnotationAbandonCleanup = "fettle.dev/abandon-cleanup"
	// AnnotationConfirmDeselection on the Fleet confirms that many nodes may be deselected at once. Its value is
	// the token in the status of the Fleet, and in the message of the condition of each resource.
	AnnotationConfirmDeselection = "fettle.dev/confirm-deselection"
)
