// Package skew tests programs and CustomResourceDefinitions of different versions together: those of this checkout with
// those of an older commit.
package skew
