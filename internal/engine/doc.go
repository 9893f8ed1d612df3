// Package engine is the transaction: it brings a host to what a list of resources
// says, in dependency order, and reports what it did.
//
// [Decide] is the whole policy, a pure function over a [Situation]. [Transaction.Run]
// has the effects: for each resource it reads, decides, writes, reads again and
// refreshes, because a later resource's state may depend on an earlier one's change.
// The semantics are Puppet's transaction's; where they are better it says so.
package engine
