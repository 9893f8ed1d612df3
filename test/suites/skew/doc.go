// Package skew tests programs and CustomResourceDefinitions of different versions together: the ones of this checkout with
// the ones of an older commit.
package skew
