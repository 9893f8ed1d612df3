// Package expression evaluates what authors write over facts and nodes: `when` in CEL, and Go templates.
//
// Every evaluation is bounded by construction. Each step charges a [Cost] before it is carried out, from tables
// that depend on nothing but the sizes of its operands, so an evaluation that exceeds its limit fails at the same
// step on every machine. docs/expressions.md lists the functions, the variables and the limits.
package expression
