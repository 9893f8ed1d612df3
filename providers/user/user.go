// Package user is the resource type User: the accounts of a host.
//
// This file, attributes.go and ageing.go define the type. Its provider reads accounts in useradd.go
// and changes them in write.go.
package user

import (
	_ "embed"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// attributes are the attributes of a resource, desired or as read by a provider.
type attributes = v1alpha1.UserAttributes

// The features of providers.
const (
	managesHomeDir     resource.Feature = "managesHomedir"
	managesPasswords   resource.Feature = "managesPasswords"
	managesPasswordAge resource.Feature = "managesPasswordAge"
	managesExpiry      resource.Feature = "managesExpiry"
	managesShell       resource.Feature = "managesShell"
	systemUsers        resource.Feature = "systemUsers"
	allowsDuplicates   resource.Feature = "allowsDuplicates"
)

// Type is the type User.
func Type() *resource.Type[v1alpha1.UserAttributes] {
	return &resource.Type[attributes]{
		Name:    "User",
		Doc:     doc,
		Example: example,
		Features: []resource.FeatureDoc{
			{Name: managesHomeDir, Doc: "Can create and remove home directories."},
			{Name: managesPasswords, Doc: "Can set a password by its hash."},
			{Name: managesPasswordAge, Doc: "Can set how long a password is valid."},
			{Name: managesExpiry, Doc: "Can set the day on which an account expires."},
			{Name: managesShell, Doc: "Can set the login shell."},
			{Name: systemUsers, Doc: "Can create system accounts."},
			{Name: allowsDuplicates, Doc: "Can give several accounts the same number."},
		},
		Properties: properties(),
		Parameters: []resource.Parameter{
			{Name: "membership", Doc: "Whether the account stays in other groups (minimum, default) or is removed from them (inclusive)."},
			{Name: "manageHome", Doc: "Creates the home directory with the account and removes it with the account.", Feature: managesHomeDir},
			{Name: "moveHome", Doc: "Moves the home directory and its contents when home changes. Default false.", Feature: managesHomeDir},
			{Name: "confirm", Doc: "The account's name again, to allow the removal of the superuser."},
			{Name: "system", Doc: "Creates a system account, with a low number.", Feature: systemUsers},
			{Name: "purgeSSHKeys", Doc: "Removes the keys from sshKeyFiles that no SSHAuthorizedKey manages."},
			{Name: "sshKeyFiles", Doc: "The files with the user's keys; ~/.ssh/authorized_keys by default."},
			{Name: "allowDupe", Doc: "Allows a uid that another account has too.", Feature: allowsDuplicates},
		},
		Providers: []resource.Provider[attributes]{useradd{}},

		Secrets: map[string]func(*attributes, string){"password": func(a *attributes, hash string) { a.Password = &hash }},

		NamevarName: "name",
		Namevar:     func(a *attributes) *string { return &a.Name },
		Keys:        keys,
		Exists:      exists,
		Normalize:   normalize,
		Default:     setDefaults,
		OneOf: []resource.OneOf[attributes]{
			{Attribute: "ensure", Value: func(a *attributes) *string { return a.Ensure }, Words: []string{resource.Present, resource.Absent}},
			{Attribute: "membership", Value: func(a *attributes) *string { return a.Membership }, Words: []string{"minimum", "inclusive"}},
		},
		Validate: validate,
		Auto: []resource.AutoRelation[attributes]{
			{Relation: resource.Require, Kind: "Group", Names: groupsBefore},
			{Relation: resource.Before, Kind: "Group", Names: groupsAfter},
		},
		Deletion: &resource.Deletion[attributes]{Delete: deleted, Original: original},

		Traits: resource.Traits{SideEffects: true}, // a group may be created and removed with the account
	}
}

func properties() []resource.Property[attributes] {
	gid := resource.Field("gid", "The primary group, by name or number.", gidField)
	gid.Show = func(a attributes) string {
		if a.GID == nil {
			return ""
		}
		return a.GID.String()
	}
	shell := resource.Field("shell", "The login shell, an executable of the host.", func(a *attributes) *string { return a.Shell })
	shell.Feature = managesShell
	return append([]resource.Property[attributes]{
		resource.Field(resource.Ensure, "Whether the account exists: present (default if any other attribute is set) or absent.",
			func(a *attributes) *string { return a.Ensure }),
		resource.Field("uid", "The number of the account; the host chooses one if it is left out.",
			func(a *attributes) *int64 { return a.UID }),
		gid,
		resource.Set("groups", "The supplementary groups, by name.",
			func(a attributes) []string { return a.Groups }, isMinimum),
		resource.Field("home", "The home directory. The contents of the old one are moved only with moveHome.",
			func(a *attributes) *string { return a.Home }),
		resource.Field("comment", "The full name or a comment (GECOS).",
			func(a *attributes) *string { return a.Comment }),
		shell,
		password(),
		locked(),
	}, ageing()...)
}

// password is never shown, even by code that does not check Sensitive.
func password() resource.Property[attributes] {
	p := resource.Field("password", "The hash of the password, as in /etc/shadow. Never shown.",
		func(a *attributes) *string { return a.Password })
	p.Feature = managesPasswords
	p.Sensitive = func(attributes) bool { return true }
	p.Show = func(a attributes) string {
		if a.Password == nil {
			return ""
		}
		return redact.Mark
	}
	return p
}

// locked concerns only the password; there may be other ways to log in.
func locked() resource.Property[attributes] {
	p := resource.Field("locked", "Whether the password is locked, so that nobody can log in with it.",
		func(a *attributes) *bool { return a.Locked })
	p.Feature = managesPasswords
	return p
}
