// Package policytest checks the rules of this repository that no linter knows.
//
// It has nothing but tests. Each test is one rule, reads the checkout as it lies, and
// says in its failure what to do.
package policytest
