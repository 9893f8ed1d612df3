// Package user is the resource type User: the accounts of a host.
//
// This file, attributes.go and ageing.go say what a user is. Its provider, in useradd.go and
// write.go, says how a host is asked for one and made to have it.
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

// attributes are what a user writes and a provider reads back.
type attributes = v1alpha1.UserAttributes

// What a provider of users may be able to do.
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
			{Name: managesHomeDir, Doc: "Can make and remove home directories."},
			{Name: managesPasswords, Doc: "Can set a password by its hash."},
			{Name: managesPasswordAge, Doc: "Can set how long a password is good for."},
			{Name: managesExpiry, Doc: "Can set the day on which an account ends."},
			{Name: managesShell, Doc: "Can set the login shell."},
			{Name: systemUsers, Doc: "Can make a system account."},
			{Name: allowsDuplicates, Doc: "Can give an account the number of another."},
		},
		Properties: properties(),
		Parameters: []resource.Parameter{
			{Name: "membership", Doc: "Whether groups are the least (minimum, default) or all (inclusive) that the account is in."},
			{Name: "manageHome", Doc: "Makes the home directory with the account and removes it with it.", Feature: managesHomeDir},
			{Name: "moveHome", Doc: "Moves the home directory with all that is in it when home changes. Default false.", Feature: managesHomeDir},
			{Name: "confirm", Doc: "The account's name, to have the superuser removed."},
			{Name: "system", Doc: "Makes a system account, with a low number, when it makes one.", Feature: systemUsers},
			{Name: "purgeSSHKeys", Doc: "Removes the keys from sshKeyFiles that no SSHAuthorizedKey manages."},
			{Name: "sshKeyFiles", Doc: "Where the user's keys are; ~/.ssh/authorized_keys by default."},
			{Name: "allowDupe", Doc: "Lets uid be the number of another account too.", Feature: allowsDuplicates},
		},
		Providers: []resource.Provider[attributes]{useradd{}},

		Secrets: map[string]func(*attributes, string){"password": func(a *attributes, hash string) { a.Password = &hash }},

		NamevarName: "name",
		Namevar:     func(a *attributes) *string { return &a.Name },
		Keys:        keys,
		Exists:      exists,
		Normalize:   normalize,
		Default:     beThere,
		OneOf: []resource.OneOf[attributes]{
			{Attribute: "ensure", Value: func(a *attributes) *string { return a.Ensure }, Words: []string{resource.Present, resource.Absent}},
			{Attribute: "membership", Value: func(a *attributes) *string { return a.Membership }, Words: []string{"minimum", "inclusive"}},
		},
		Validate: validate,
		Auto: []resource.AutoRelation[attributes]{
			{Relation: resource.Require, Kind: "Group", Names: groupsBefore},
			{Relation: resource.Before, Kind: "Group", Names: groupsAfter},
		},
		Leaving: &resource.Leaving[attributes]{Gone: gone, Was: was},

		SideEffects: true, // an account may bring a group of its name, and take it along
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
		resource.Field(resource.Ensure, "Whether the account is there: present (default where anything else is said) or absent.",
			func(a *attributes) *string { return a.Ensure }),
		resource.Field("uid", "The number of the account; the host chooses one if it is left out.",
			func(a *attributes) *int64 { return a.UID }),
		gid,
		resource.Set("groups", "The supplementary groups, by name.",
			func(a attributes) []string { return a.Groups }, isMinimum),
		resource.Field("home", "The home directory. What is in the old one is moved only with moveHome.",
			func(a *attributes) *string { return a.Home }),
		resource.Field("comment", "The full name or a remark (GECOS).",
			func(a *attributes) *string { return a.Comment }),
		shell,
		password(),
		locked(),
	}, ageing()...)
}

// password is never shown, not even through a door that forgets to ask.
func password() resource.Property[attributes] {
	p := resource.Field("password", "The password's hash as /etc/shadow has it. Never shown.",
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

// locked is about the password alone; the account may be open in other ways.
func locked() resource.Property[attributes] {
	p := resource.Field("locked", "Whether the password is locked, so that nobody can log in with it.",
		func(a *attributes) *bool { return a.Locked })
	p.Feature = managesPasswords
	return p
}
