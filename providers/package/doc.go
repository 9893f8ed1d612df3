// Package pkg is the resource type Package: software from the host's own package
// system.
//
// The provider does not rely on exit codes: after a transaction it reads dpkg's database again, which
// decides whether a package was changed.
package pkg
