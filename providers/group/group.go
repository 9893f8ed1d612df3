// Package group is the resource type Group: the groups of users of a host.
//
// This file says what a group is. Its provider, in groupadd.go, says how a host is
// asked for one and made to have it.
package group

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// attributes are what a user writes and a provider reads back.
type attributes = v1alpha1.GroupAttributes

// What a provider of groups may be able to do.
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
			{Name: managesMembers, Doc: "Can put users into a group and take them out."},
			{Name: systemGroups, Doc: "Can make a system group."},
			{Name: allowsDuplicates, Doc: "Can give a group the number of another."},
		},
		Properties: []resource.Property[attributes]{
			resource.Field(resource.Ensure, "Whether the group is there: present (default) or absent.",
				func(a *attributes) *string { return a.Ensure }),
			resource.Field("gid", "The number of the group; the host chooses one if it is left out.",
				func(a *attributes) *int64 { return a.GID }),
			members(),
		},
		Parameters: []resource.Parameter{
			{Name: "authMembership", Doc: "Makes members all (true) or the least (false, default) that the group has.", Feature: managesMembers},
			{Name: "system", Doc: "Makes a system group, with a low number, when it makes one.", Feature: systemGroups},
			{Name: "allowDupe", Doc: "Lets gid be the number of another group too.", Feature: allowsDuplicates},
		},
		Providers: []resource.Provider[attributes]{groupadd{}},

		NamevarName: "name",
		Namevar:     func(a *attributes) *string { return &a.Name },
		Keys:        keys,
		Exists:      exists,
		Default:     beThere,
		OneOf: []resource.OneOf[attributes]{
			{Attribute: "ensure", Value: func(a *attributes) *string { return a.Ensure }, Words: []string{resource.Present, resource.Absent}},
		},
		Validate: validate,
		Auto:     []resource.AutoRelation[attributes]{{Relation: resource.Require, Kind: "User", Names: usersBefore}},
		Leaving: &resource.Leaving[attributes]{Gone: func(want attributes) attributes {
			return attributes{Name: want.Name, Ensure: new(resource.Absent), AuthMembership: new(true)}
		}},
		SideEffects: true, // a new gid is also that of the users who have it as their primary one, and members are in the group
	}
}

func members() resource.Property[attributes] {
	p := resource.Set("members", "The users who have the group as a supplementary one, by name.",
		func(a attributes) []string { return a.Members }, isMinimum)
	p.Feature = managesMembers
	return p
}

func exists(a attributes) bool { return a.Ensure != nil && *a.Ensure == resource.Present }

func isMinimum(a attributes) bool { return !ptr.Deref(a.AuthMembership, false) }

// beThere makes present what does not say otherwise.
func beThere(a *attributes) {
	if a.Ensure == nil {
		a.Ensure = new(resource.Present)
	}
}

// keys let a user who names its group by number find the one that will have it.
func keys(a attributes) []string {
	if a.GID == nil {
		return nil
	}
	return []string{strconv.FormatInt(*a.GID, 10)}
}

// validate keeps out what the host's tools would take for more than one name.
func validate(a attributes) error {
	var errs []error
	for _, m := range a.Members {
		if m == "" || strings.ContainsAny(m, ",:\n") {
			errs = append(errs, fmt.Errorf("members has %q: give the name of one user", m))
		}
	}
	return errors.Join(errs...)
}

// usersBefore are the users that a group needs to be there first.
func usersBefore(a attributes) []string {
	if !exists(a) {
		return nil
	}
	return a.Members
}
