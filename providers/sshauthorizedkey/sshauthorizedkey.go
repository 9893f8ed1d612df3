// Package sshauthorizedkey is the resource type SSHAuthorizedKey: public keys with which
// the users of a host may log in by SSH.
//
// A key is identified by its comment: all lines of its file with the comment are the key, and only one
// remains when it is corrected. This file defines the type. Its provider in openssh.go edits the file
// as its user.
package sshauthorizedkey

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/authorizedkeys"
	"github.com/fettle-dev/fettle/internal/resource"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// attributes are the attributes of a resource, desired or as read by a provider.
type attributes = v1alpha1.SSHAuthorizedKeyAttributes

// Type is the type SSHAuthorizedKey.
func Type() *resource.Type[v1alpha1.SSHAuthorizedKeyAttributes] {
	return &resource.Type[attributes]{
		Name:       authorizedkeys.Kind,
		Doc:        doc,
		Example:    example,
		Properties: properties(),
		Parameters: []resource.Parameter{
			{Name: "user", Doc: "The user who may log in with it, and who owns the file."},
			{Name: "target", Doc: "The file; .ssh/authorized_keys of the user by default. Without a user it belongs to root."},
		},
		Providers: []resource.Provider[attributes]{openssh{new(accounts.Cache)}},

		NamevarName: "name",
		Namevar:     func(a *attributes) *string { return &a.Name },
		Keys:        keys,
		Location:    location,
		Exists:      func(a attributes) bool { return !isAbsent(a) },
		Normalize:   normalize,
		Default:     setDefaults,
		OneOf: []resource.OneOf[attributes]{
			{Attribute: "ensure", Value: func(a *attributes) *string { return a.Ensure }, Words: []string{resource.Present, resource.Absent}},
			{Attribute: "type", Value: func(a *attributes) *string { return a.Type }, Words: []string{
				"ssh-rsa", "ssh-dss", "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
				"sk-ecdsa-sha2-nistp256@openssh.com", "sk-ssh-ed25519@openssh.com", "rsa", "dsa", "ed25519", "ecdsa-sk", "ed25519-sk",
			}},
		},
		Validate: validate,
		// A File may manage the same file.
		Traits: resource.Traits{SideEffects: true, AtomicWrites: true},
		Deletion: &resource.Deletion[attributes]{
			Delete: func(want attributes) attributes {
				return attributes{Name: want.Name, Ensure: new(resource.Absent), User: want.User, Target: want.Target}
			},
			Whole: true,
		},
		Auto: []resource.AutoRelation[attributes]{
			{Relation: resource.Require, Kind: "User", Names: userOf},
			{Relation: resource.Require, Kind: "File", Names: directories, Nearest: true},
		},
	}
}

func properties() []resource.Property[attributes] {
	key := resource.Field("key", "The key in base64. Shown by its fingerprint.", func(a *attributes) *string { return a.Key })
	key.Show = fingerprint
	return []resource.Property[attributes]{
		resource.Field(resource.Ensure, "Whether the user may log in with the key: present (default) or absent.",
			func(a *attributes) *string { return a.Ensure }),
		resource.Field("type", "The type of the key.", func(a *attributes) *string { return a.Type }),
		key,
		{
			Name: "options", Doc: "All options of the key, in order.",
			Managed: func(want attributes) bool { return want.Options != nil },
			InSync:  func(is, want attributes) bool { return slices.Equal(is.Options, want.Options) },
			Show:    func(a attributes) string { return strings.Join(a.Options, ",") },
		},
	}
}

// fingerprint returns the fingerprint that ssh-keygen -l prints.
func fingerprint(a attributes) string {
	if a.Key == nil {
		return ""
	}
	blob, err := base64.StdEncoding.DecodeString(*a.Key)
	if err != nil {
		return *a.Key
	}
	sum := sha256.Sum256(blob)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

func isAbsent(a attributes) bool { return a.Ensure != nil && *a.Ensure == resource.Absent }

// setDefaults makes a key present by default.
func setDefaults(a *attributes) {
	if a.Ensure == nil {
		a.Ensure = new(resource.Present)
	}
}
