// Package audit judges the rollouts of a RolloutPolicy by what managers wrote, as the audit log of the API server has it.
//
// It shares no code with what decides rollouts, and has the rules in its own words:
//
//   - A node gets another revision only while the last status names it in admitting, and it gets the goal of that status.
//   - A status that names further nodes keeps the limits of the policy, by what it counts itself, and by what the log shows.
//   - What a status counts as proven or failed, the log shows to be possible. Failures are not forgotten.
//
// The log of a killed API server lacks the end of what it was about to answer. Managers act only on answers, so whatever they act on is in
// the log: a request without an answer changes what nodes may have, and permits nothing.
package audit
