// Package pkg is the resource type Package: software from the host's own package
// system.
//
// The package system is asked what came of it, not believed: after a transaction
// the provider reads the database again, and a package is done when the database
// says so, whatever the tool's exit code was.
package pkg
