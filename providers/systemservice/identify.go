package systemservice

import (
	"context"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Identify implements [resource.Identifier]: an alias is identified by its unit. A unit that does not
// exist yet has no identity.
func (systemd) Identify(ctx context.Context, h resource.Reader, wants []attributes) []string {
	identities, names := make([]string, len(wants)), make([]string, len(wants))
	for i, want := range wants {
		names[i] = unitName(want.Name)
	}
	units, err := show(ctx, h, names...)
	if err != nil {
		return identities
	}
	for i, u := range units {
		if u.LoadState != "not-found" {
			identities[i] = u.ID
		}
	}
	return identities
}

// Identify implements [resource.Identifier] by the links of aliases.
func (offline) Identify(_ context.Context, h resource.Reader, wants []attributes) []string {
	identities := make([]string, len(wants))
	for i, want := range wants {
		identities[i] = ownName(h, unitName(want.Name))
	}
	return identities
}

// ownName follows aliases. A link to /dev/null is not an alias but a mask.
func ownName(h host.Reader, name string) string {
	for range maxAliases {
		next, err := aliased(h, name)
		if err != nil || next == "null" {
			break
		}
		name = next
	}
	return name
}
