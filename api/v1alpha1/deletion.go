package v1alpha1

// DeletionPolicy is what becomes of a thing on a host when its resource goes away or
// stops selecting the node.
// +kubebuilder:validation:Enum=Orphan;Delete;Restore
type DeletionPolicy string

// The deletion policies. "" is Orphan.
const (
	DeletionOrphan  DeletionPolicy = "Orphan"  // the thing stays as it is
	DeletionDelete  DeletionPolicy = "Delete"  // it is removed
	DeletionRestore DeletionPolicy = "Restore" // what this resource changed becomes what it was
)

// Acts reports whether hosts have something to do when a resource with this policy goes away.
func (p DeletionPolicy) Acts() bool { return p == DeletionDelete || p == DeletionRestore }

const (
	// FinalizerCleanup is on resources whose deletionPolicy is not Orphan. The manager
	// takes it off once no node has anything of the resource left to clean up.
	FinalizerCleanup = "fettle.dev/cleanup"
	// AnnotationAbandonCleanup has a resource go that is being deleted, with the value
	// "true", whatever its nodes have yet to do. They do it all the same when they can.
	AnnotationAbandonCleanup = "fettle.dev/abandon-cleanup"
	// AnnotationConfirmDeselection lets many nodes lose a resource at once. Its value is
	// the word that the message of the condition gives.
	AnnotationConfirmDeselection = "fettle.dev/confirm-deselection"
)
