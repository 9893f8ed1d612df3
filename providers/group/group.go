// Package group is the resource type Group: the groups of users of a host.
//
// This file defines the type. Its provider in groupadd.go reads and changes the groups of a host.
package group

import (
	_ "embed"
	"strconv"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// attributes are the attributes of a resource, desired or as read by a provider.
type attributes = v1alpha1.GroupAttributes

// The features of providers.
const (
	managesMembers   resource.Feature = "managesMembers"
	systemGroups     resource.Feature = "systemGroups"
	allowsDuplicates resource.Feature = "allowsDuplicates"
)

// Type is the type Group.
func Type() *resource.Type[v1alpha1.GroupAttributes] {
	return &resource.Type[attributes]{
		Name:    "Group",
		Doc:     doc,
		Example: example,
		Features: []resource.FeatureDoc{
			{Name: managesMembers, Doc: "Can add users to a group and remove them."},
			{Name: systemGroups, Doc: "Can create system groups."},
			{Name: allowsDuplicates, Doc: "Can give several groups the same number."},
		},
		Properties: properties(),
		Parameters: []resource.Parameter{
			{Name: "authMembership", Doc: "Removes other members than those in members. Default false.", Feature: managesMembers},
			{Name: "system", Doc: "Creates a system group, with a low number.", Feature: systemGroups},
			{Name: "allowDupe", Doc: "Allows a gid that another group has too.", Feature: allowsDuplicates},
		},
		Providers: []resource.Provider[attributes]{groupadd{}},

		NamevarName: "name",
		Namevar:     func(a *attributes) *string { return &a.Name },
		Keys:        keys,
		Exists:      exists,
		Default:     setDefaults,
		OneOf: []resource.OneOf[attributes]{
			{Attribute: "ensure", Value: func(a *attributes) *string { return a.Ensure }, Words: []string{resource.Present, resource.Absent}},
		},
		Auto: []resource.AutoRelation[attributes]{{Relation: resource.Require, Kind: "User", Names: usersBefore}},
		Deletion: &resource.Deletion[attributes]{Delete: func(want attributes) attributes {
			return attributes{Name: want.Name, Ensure: new(resource.Absent), AuthMembership: new(true)}
		}},
		Traits: resource.Traits{SideEffects: true}, // a new gid also becomes the gid of the users with this primary group, and members join the group
	}
}

func properties() []resource.Property[attributes] {
	return []resource.Property[attributes]{
		resource.Field(resource.Ensure, "Whether the group exists: present (default) or absent.",
			func(a *attributes) *string { return a.Ensure }),
		resource.Field("gid", "The number of the group; the host chooses one if it is left out.",
			func(a *attributes) *int64 { return a.GID }),
		members(),
	}
}

func members() resource.Property[attributes] {
	p := resource.Set("members", "The users with this supplementary group, by name.",
		func(a attributes) []string { return a.Members }, isMinimum)
	p.Feature = managesMembers
	return p
}

func exists(a attributes) bool { return a.Ensure != nil && *a.Ensure == resource.Present }

func isMinimum(a attributes) bool { return !ptr.Deref(a.AuthMembership, false) }

// setDefaults makes a group present by default.
func setDefaults(a *attributes) {
	if a.Ensure == nil {
		a.Ensure = new(resource.Present)
	}
}

// keys let a user whose group is a number find the group with that number.
func keys(a attributes) []string {
	if a.GID == nil {
		return nil
	}
	return []string{strconv.FormatInt(*a.GID, 10)}
}

// usersBefore returns the users that must exist before a group.
func usersBefore(a attributes) []string {
	if !exists(a) {
		return nil
	}
	return a.Members
}
