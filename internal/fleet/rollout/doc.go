// Package rollout decides how one RolloutPolicy moves its nodes from its stable revision to another one.
//
// A policy has a goal: the revision that is rolled out, which is its target, or the stable one at rest. A reconciliation asks four questions:
//
//   - [Locate]: which revision was the spec of a node made from?
//   - [Aim]: which revision is the goal?
//   - [Tracker.Observe]: has the node proven the goal, has it failed with it, or is that open?
//   - [Next]: which nodes get the goal now, and has the rollout ended?
//
// What is observed of a node becomes its [Phase], that and where the node stands become its role in the rollout, and the status counts roles:
//
//	phase              role       status.nodes      the node
//	any                uncounted                    makes no difference to the goal
//	Waiting            candidate  affected          could get the goal
//	Waiting            impaired   excluded          could, and is not well
//	Waiting            unheard    excluded          could not show whether the goal works
//	Untried, Excluded  untried    excluded          has the goal, and cannot show whether it works
//	Applying, Soaking  inFlight   admitted          has it, or is about to (then Waiting), and that is open
//	Proven             proven     admitted, proven  has shown that it works
//	Failed             failed     admitted, failed  has shown that it does not; it counts as failed even once it is well
//
// Nodes are moved in two steps, so that a manager that is killed, or another one that acts at the same time, admits no node too many: the
// manager writes [Decision.State] to the status of the policy, which fails if the status has changed since it was read, and only then writes
// the nodes that State.Admitting names. The status is all that rollouts remember. A [Tracker] has only timers: a manager that
// loses them waits for longer.
//
// All functions are pure but for the Tracker, and none looks at a clock.
package rollout
