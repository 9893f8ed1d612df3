package v1alpha1

// Condition types. Ready, Reconciling and Stalled mean what kstatus takes them for.
const (
	// ConditionReady is True when every selected node is as the observed generation
	// says: in sync, or looked at where it only reports; on a NodeCatalog, when all its
	// resources are.
	ConditionReady = "Ready"
	// ConditionReconciling is True while nodes have yet to apply the generation.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when it can't go on, or did not succeed, without a person.
	ConditionStalled = "Stalled"
	// ConditionConflict is True while another resource claims the same thing on a
	// node. It names the others, and is absent otherwise.
	ConditionConflict = "Conflict"
	// ConditionDegraded is True on a NodeCatalog when resources failed there, or facts had
	// to be left out.
	ConditionDegraded = "Degraded"
)

// Reasons of conditions on resources.
const (
	ReasonInSync          = "InSync"          // every selected node is in sync
	ReasonNoNodesSelected = "NoNodesSelected" // in sync, of no node
	ReasonNoop            = "Noop"            // some nodes differ and are only reported
	ReasonApplying        = "Applying"        // some nodes have not applied the generation
	ReasonUnknown         = "Unknown"         // some nodes are silent, and have not applied the generation, or failed to
	ReasonOutOfSync       = "OutOfSync"
	ReasonFailed          = "Failed" // on some nodes, which try again at each interval
	ReasonSkipped         = "Skipped"
	ReasonSettled         = "Settled" // nothing is under way

	ReasonConflict         = "Conflict"         // two resources claim one thing on a node
	ReasonMissingReference = "MissingReference" // an edge names a resource that the node does not have
	ReasonDependencyCycle  = "DependencyCycle"
	ReasonDependsOnProblem = "DependsOnProblem" // what it requires is withheld
	ReasonInvalidSelector  = "InvalidSelector"
	ReasonInvalidWhen      = "InvalidWhen"
	ReasonInvalidTemplate  = "InvalidTemplate"
	ReasonInvalidSpec      = "InvalidSpec"   // attributes that the type refuses
	ReasonMissingSource    = "MissingSource" // contentFrom or caFrom names what does not exist
	ReasonTooLarge         = "TooLarge"
	ReasonWaitingForFacts  = "WaitingForFacts" // a template or `when` needs facts the node has not reported
	ReasonWaitingForKey    = "WaitingForKey"   // a secret needs a key to be sealed to, which the node has not published

	ReasonUnexposedSecret      = "UnexposedSecret"      // a Secret is not there, or not labelled for nodes
	ReasonUnprotectedTargeting = "UnprotectedTargeting" // a secret would go to nodes by what they say of themselves

	ReasonCleaningUp      = "CleaningUp"      // it is being deleted, and nodes have yet to do what its deletionPolicy says
	ReasonDeselectionHeld = "DeselectionHeld" // too many nodes would lose it at once because they changed
)

// WaitsForNode reports whether what has this reason goes away by itself as soon as the
// node's agent reports.
func WaitsForNode(reason string) bool {
	return reason == ReasonWaitingForFacts || reason == ReasonWaitingForKey
}

// Reasons of conditions on a NodeCatalog.
const (
	ReasonApplied            = "Applied"
	ReasonCatalogUnavailable = "CatalogUnavailable" // a catalog can't be fetched
	ReasonCatalogInvalid     = "CatalogInvalid"     // a catalog can't be decoded, or is not what its name says
	ReasonResourcesFailed    = "ResourcesFailed"
	ReasonWithheld           = "Withheld"     // some resources wait: contested, dangling, cyclic
	ReasonRunFailed          = "RunFailed"    // the run could not be carried out, or not to its end
	ReasonDisabled           = "Disabled"     // someone disabled runs on the host; the message says why
	ReasonFactsOmitted       = "FactsOmitted" // the facts exceed a limit; the message names those that were left out
)

// Reasons of events (events.k8s.io/v1).
const (
	EventDriftCorrected   = "DriftCorrected"
	EventResourceFailed   = "ResourceFailed"
	EventBecameReady      = "BecameReady"
	EventNoLongerReady    = "NoLongerReady"
	EventProblemFound     = "ProblemFound"
	EventProblemResolved  = "ProblemResolved"
	EventNotPublished     = "NotPublished"     // the API server refuses a NodeCatalog, as one that is too large
	EventPolicyNotInForce = "PolicyNotInForce" // an admission policy that limits Fettle's own accounts is missing or altered
)
