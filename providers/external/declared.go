package external

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A declared has what an ExternalType says about a provider, whatever its protocol.
type declared struct {
	typed
	provider v1alpha1.ExternalProvider
	files    Files
}

// newProvider returns the provider of the type's protocol.
func newProvider(d declared) resource.Provider[Attributes] {
	switch {
	case d.DSC != nil && d.DSC.Manifest.TakesConfiguration():
		return dscBatch{dscResource{d}}
	case d.DSC != nil:
		return dscResource{d}
	}
	return newProgram(program{d})
}

// Name implements [resource.Provider].
func (p declared) Name() string { return p.provider.Name }

// Suits implements [resource.Provider]. Requirements are data: see Needs.
func (p declared) Suits(resource.Facts, host.Reader) error { return nil }

// Doc implements [resource.Documented].
func (p declared) Doc() string { return p.provider.Description }

// Needs implements [resource.Needing].
func (p declared) Needs() resource.Needs {
	n := conditions(p.provider.Needs.ExternalConditions)
	n.Remedy = p.provider.Needs.Remedy
	if not := p.provider.Needs.Not; not != nil {
		n.Not = new(conditions(*not))
	}
	return n
}

func conditions(c v1alpha1.ExternalConditions) resource.Needs {
	n := resource.Needs{Commands: c.Commands, Files: c.Files, Facts: c.Facts}
	for _, e := range c.Exits {
		n.Exits = append(n.Exits, resource.Exit{Command: e.Command, Code: int(e.Code)})
	}
	return n
}

// Defaults implements [resource.Defaulter].
func (p declared) Defaults() resource.Defaults {
	var d resource.Defaults
	for _, w := range p.provider.DefaultFor {
		d.For = append(d.For, w)
	}
	for _, w := range p.provider.NotDefaultFor {
		d.NotFor = append(d.NotFor, w)
	}
	return d
}

// Features implements [resource.Featured].
func (p declared) Features() []resource.Feature {
	var all []resource.Feature
	for _, f := range p.provider.Features {
		all = append(all, resource.Feature(f))
	}
	return all
}

// without removes the secrets of states from an error.
func (p declared) without(err error, known ...Attributes) error {
	return p.recorder(known...).without(err)
}

// message returns a message of a program without the secrets of states, in one line.
func (p declared) message(from string, known ...Attributes) string {
	return p.recorder(known...).message(from)
}

// Limits of what a program tells people, in bytes.
const (
	maxMessage = 1024     // a message, in one line
	maxDiff    = 16 << 10 // a difference, which may have several lines
)

// initOnly returns an error if a change is one that only a new resource accepts.
func (p declared) initOnly(w resource.Write[Attributes]) error {
	return contract.Changes(p.Definition, changed(w))
}

// changed returns the names of the properties that are out of sync.
func changed(w resource.Write[Attributes]) []string {
	var names []string
	for _, c := range w.Changes {
		names = append(names, c.Property)
	}
	return names
}
