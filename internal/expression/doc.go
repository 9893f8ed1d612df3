// Package expression evaluates expressions over facts and nodes: `when` in CEL, and content templates of Go.
//
// Every evaluation is bounded by construction. A step is charged to a budget before it is carried out, by the sizes of
// its operands, so an evaluation that exceeds the limit fails at the same step on every machine. docs/expressions.md
// lists the functions, the variables and the limits.
package expression
