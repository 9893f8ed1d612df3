// Package purge is the resource type Purge: it removes instances on a host that no resource of the
// node's catalog manages.
//
// A Purge itself is always in sync, but the resources that it generates are not. It is Puppet's type
// resources.
package purge

import (
	_ "embed"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/confirm"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// attributes are the attributes of a Purge.
type attributes = v1alpha1.PurgeAttributes

// Type is the type Purge.
func Type() *resource.Type[v1alpha1.PurgeAttributes] {
	return &resource.Type[attributes]{
		Name:    "Purge",
		Doc:     doc,
		Example: example,
		Parameters: []resource.Parameter{
			{Name: "unlessSystemUser", Doc: "Excludes system users and groups, which have low numbers. Default true."},
			{Name: "confirm", Doc: "The kind again, to allow a purge without an exception."},
			{Name: "unlessUID", Doc: "Excludes the users, or groups, with these numbers."},
		},
		Providers:   []resource.Provider[attributes]{instances{}},
		NamevarName: "kind",
		Namevar:     func(a *attributes) *string { return &a.Kind },
		Validate:    validate,
	}
}

// validate requires an exception, or a confirmation that there is none. It repeats a rule of the schema, because its violation removes
// every account of the host.
func validate(a attributes) error {
	numbered := a.Kind == "User" || a.Kind == "Group"
	switch {
	case numbered && (a.UnlessSystemUser == nil || *a.UnlessSystemUser || len(a.UnlessUID) > 0):
		return nil
	case numbered:
		return confirm.Check(a.Confirm, a.Kind, "this purges every "+a.Kind+" that no resource manages, without an exception: add one by unlessUID or unlessSystemUser, or,")
	}
	return confirm.Check(a.Confirm, a.Kind, "this purges everything of kind "+a.Kind+" that no resource manages, without an exception:")
}
