// Package purge is the resource type Purge: what exists on a host and no resource of
// the node's catalog manages goes away.
//
// A Purge is in sync by itself; what it generates is not. It is Puppet's resources type.
package purge

import (
	_ "embed"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// attributes are what a user writes.
type attributes = v1alpha1.PurgeAttributes

// Type is the type Purge.
func Type() *resource.Type[v1alpha1.PurgeAttributes] {
	return &resource.Type[attributes]{
		Name:    "Purge",
		Doc:     doc,
		Example: example,
		Parameters: []resource.Parameter{
			{Name: "unlessSystemUser", Doc: "Spares the users and groups with the numbers of system accounts. Default true."},
			{Name: "unlessUID", Doc: "Spares the users, or groups, with these numbers."},
		},
		Providers:   []resource.Provider[attributes]{instances{}},
		NamevarName: "kind",
		Namevar:     func(a *attributes) *string { return &a.Kind },
	}
}
