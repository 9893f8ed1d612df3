// Package notify is the resource type Notify: a message in the report of a run.
//
// A host does not record that a message was reported, so a Notify is never in sync, and a write
// does nothing: the event of its change has the message.
package notify

import (
	_ "embed"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// Attributes are the attributes of a Notify.
type Attributes struct {
	v1alpha1.NotifyAttributes
	name string // metadata.name
}

// Type is the resource type Notify.
func Type() *resource.Type[Attributes] {
	return &resource.Type[Attributes]{
		Name:        "Notify",
		Doc:         doc,
		Example:     example,
		Properties:  []resource.Property[Attributes]{message()},
		Providers:   []resource.Provider[Attributes]{report{}},
		NamevarName: resource.MetadataName,
		Namevar:     func(a *Attributes) *string { return &a.name },
		Default:     setDefault,
		Traits:      resource.Traits{Imperative: true},
	}
}

func message() resource.Property[Attributes] {
	p := resource.Field("message", "The text in the report; metadata.name by default.",
		func(a *Attributes) *string { return a.Message })
	p.InSync = func(Attributes, Attributes) bool { return false }
	return p
}

func setDefault(a *Attributes) {
	if a.Message == nil {
		a.Message = &a.name
	}
}
