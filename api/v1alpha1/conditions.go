package v1alpha1

import "slices"

// Condition types. Ready, Reconciling and Stalled follow kstatus.
const (
	// ConditionReady is True when every selected node that reports matches the observed generation,
	// or only reports differences. It is False when none reports, because agents are silent or runs
	// are disabled. On a NodeCatalog, it is True when this holds for all its resources.
	ConditionReady = "Ready"
	// ConditionReconciling is True while some nodes have not applied the generation.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when progress requires intervention, or the resource failed.
	ConditionStalled = "Stalled"
	// ConditionConflict is True while another resource manages the same object on a node. Its
	// message names the others. It is absent otherwise.
	ConditionConflict = "Conflict"
	// ConditionContended is True while something else changes the resource again and again on some nodes, against its corrections,
	// which are then made less and less often. Its message names the other program. It is absent otherwise.
	ConditionContended = "Contended"
	// ConditionDegraded is True on a NodeCatalog when resources failed, external types are
	// outdated, or facts were omitted.
	ConditionDegraded = "Degraded"
)

// Reasons of conditions on resources.
const (
	ReasonInSync          = "InSync"          // every selected node is in sync
	ReasonNoNodesSelected = "NoNodesSelected" // no node matches nodeSelector and when
	ReasonNoop            = "Noop"            // some nodes differ and only report it
	ReasonApplying        = "Applying"        // some nodes have not applied the generation
	ReasonUnknown         = "Unknown"         // the agents of some nodes are silent, and had not applied the generation successfully
	ReasonOutOfSync       = "OutOfSync"
	ReasonFailed          = "Failed" // on some nodes, which retry at each interval
	ReasonSkipped         = "Skipped"
	ReasonSettled         = "Settled" // nothing is in progress

	ReasonConflict         = "Conflict"         // two resources manage the same object on a node
	ReasonMissingReference = "MissingReference" // an edge references a resource that the node does not have
	ReasonDependencyCycle  = "DependencyCycle"
	ReasonDependsOnProblem = "DependsOnProblem" // a resource that it depends on is withheld
	ReasonInvalidSelector  = "InvalidSelector"
	ReasonInvalidWhen      = "InvalidWhen"
	ReasonInvalidTemplate  = "InvalidTemplate"
	ReasonInvalidSpec      = "InvalidSpec"   // the type rejects the attributes
	ReasonMissingSource    = "MissingSource" // contentFrom or caFrom references a missing object or key
	ReasonTooLarge         = "TooLarge"
	ReasonWaitingForFacts  = "WaitingForFacts" // the node has not reported facts that a template or `when` needs
	ReasonWaitingForKey    = "WaitingForKey"   // the node has not published the key that a secret must be encrypted to

	ReasonNoActingNode = "NoActingNode" // of a Remote type: no selected node has an agent that could act for it
	ReasonMoving       = "Moving"       // of a Remote type: another node takes over once the one before it has stopped
	ReasonTakeoverHeld = "TakeoverHeld" // of a Remote type: the acting node fell silent together with too many others

	ReasonUnexposedSecret      = "UnexposedSecret"      // a Secret is missing, or lacks the label fettle.dev/expose-to-nodes
	ReasonUnprotectedTargeting = "UnprotectedTargeting" // a node could select itself as the recipient of a secret

	ReasonMissingType = "MissingType" // the kind has no ExternalType
	ReasonUninstalled = "Uninstalled" // the definition of the kind was deleted; nodes leave the objects as they are

	ReasonRepeatedDrift = "RepeatedDrift" // something else changes the resource again and again; the message names it

	ReasonCleaningUp      = "CleaningUp"      // the resource is being deleted or no longer selects some nodes, which have not cleaned up yet
	ReasonDeselectionHeld = "DeselectionHeld" // too many nodes would be deselected at once because the nodes changed
)

// Reasons of conditions on an ExternalType. Resources of the type have InvalidType and DefinitionMismatch, too.
const (
	ReasonServed             = "Served"             // resources of the type can be managed
	ReasonMissingDefinition  = "MissingDefinition"  // the CustomResourceDefinition is missing, not served yet, or being deleted
	ReasonInvalidType        = "InvalidType"        // the spec has faults
	ReasonDefinitionMismatch = "DefinitionMismatch" // the CustomResourceDefinition is not the one that the type defines
	ReasonNotListed          = "NotListed"          // the API server does not list the resources
)

// Reasons of conditions on a RolloutPolicy. A resource that waits for a rollout has some of them, too.
const (
	ReasonRolledOut        = "RolledOut"        // the stable revision is the newest
	ReasonRollingOut       = "RollingOut"       // nodes get the target
	ReasonPaused           = "Paused"           // spec.paused
	ReasonPinned           = "Pinned"           // spec.revision names another revision than the newest
	ReasonWaitingForGate   = "WaitingForGate"   // a condition that spec.gates names is absent or Unknown
	ReasonWaitingForWindow = "WaitingForWindow" // spec.window is closed
	ReasonWaitingForPolicy = "WaitingForPolicy" // a policy of spec.after has yet to complete the revision
	ReasonRolloutHalted    = "RolloutHalted"    // too many nodes failed
	ReasonGateFailed       = "GateFailed"       // a condition that spec.gates names is False
	ReasonRolloutUnproven  = "RolloutUnproven"  // no affected node could try the revision
	ReasonNodeConflict     = "NodeConflict"     // another policy selects some of the nodes, too
	ReasonInvalidPolicy    = "InvalidPolicy"    // the message names the field and the fix
	ReasonNoNodesTaken     = "NoNodesTaken"     // the policy takes no node
)

// Reasons of failures in a rollout.
const (
	RolloutNodeFailed   = "Failed"   // resources that were well before fail
	RolloutNodeTimedOut = "TimedOut" // the node has not applied the revision in time
	RolloutNodeSilent   = "Silent"   // the agent fell silent with it
	RolloutNodeNotReady = "NotReady" // the Node became NotReady with it
)

// WaitsForNode reports whether a problem with this reason resolves itself when a node's agent
// reports.
func WaitsForNode(reason string) bool {
	return slices.Contains([]string{ReasonWaitingForFacts, ReasonWaitingForKey, ReasonNoActingNode, ReasonMoving}, reason)
}

// Reasons of conditions on a NodeCatalog.
const (
	ReasonApplied            = "Applied"
	ReasonCatalogUnavailable = "CatalogUnavailable" // a catalog cannot be fetched
	ReasonCatalogInvalid     = "CatalogInvalid"     // a catalog cannot be decoded, or does not match its name
	ReasonResourcesFailed    = "ResourcesFailed"
	ReasonWithheld           = "Withheld"      // some resources must not be applied: conflict, missing reference, cycle
	ReasonRunFailed          = "RunFailed"     // the run could not start, or was aborted
	ReasonDisabled           = "Disabled"      // runs are disabled; the message says by whom, why and until when. On a resource: on every node that is not silent
	ReasonUpdateHeld         = "UpdateHeld"    // the manager does not update the node, because too many nodes would be deselected
	ReasonTypesOutdated      = "TypesOutdated" // the image of an external type cannot be pulled, so an older version of the type is in use
	ReasonFactsOmitted       = "FactsOmitted"  // the facts exceed a limit; the message names the omitted ones
)

// Reasons of events (events.k8s.io/v1).
const (
	EventDriftCorrected      = "DriftCorrected"
	EventDriftDetected       = "DriftDetected" // and not corrected, because of noop
	EventResourceFailed      = "ResourceFailed"
	EventContended           = "Contended" // something else changes the resource again and again
	EventBecameReady         = "BecameReady"
	EventNoLongerReady       = "NoLongerReady"
	EventProblemFound        = "ProblemFound"
	EventProblemResolved     = "ProblemResolved"
	EventUpdateHeld          = "UpdateHeld"          // a node is not updated, because too many would be deselected
	EventUpdateReleased      = "UpdateReleased"      // a held node is updated again
	EventDeselectionReleased = "DeselectionReleased" // on the Fleet: no node is held any more
	EventNotPublished        = "NotPublished"        // the API server rejects a NodeCatalog, for example because it is too large
	EventUninstalled         = "Uninstalled"         // the manager was removed; the note says what it left
	EventReportsNotWritten   = "ReportsNotWritten"   // the manager cannot write reports for other tools
	EventRolloutStarted      = "RolloutStarted"
	EventRolloutCompleted    = "RolloutCompleted"
	EventRolloutHalted       = "RolloutHalted"
	EventRolloutResumed      = "RolloutResumed"  // a halted rollout goes on
	EventRolloutReplaced     = "RolloutReplaced" // by another revision
	EventRolloutUnproven     = "RolloutUnproven"
	EventPolicyNotInForce    = "PolicyNotInForce" // an admission policy that restricts Fettle's service accounts is missing or modified
)
