package user

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/authorizedkeys"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// A keyFlood is all unmanaged keys of one file.
type keyFlood struct {
	Name    string
	keys    int
	place   authorizedkeys.Place
	managed func(name string) bool
}

// flood is the resource that removes all unmanaged keys of a file at once.
func flood(place authorizedkeys.Place, managed func(string) bool) (resource.Resource, error) {
	t := resource.Type[keyFlood]{
		Name:      authorizedkeys.Kind,
		Providers: []resource.Provider[keyFlood]{floodRemover{}},
		Namevar:   func(f *keyFlood) *string { return &f.Name },
		Properties: []resource.Property[keyFlood]{{
			Name:    resource.Ensure,
			Managed: func(keyFlood) bool { return true },
			InSync:  func(is, _ keyFlood) bool { return is.keys == 0 },
			Show: func(f keyFlood) string {
				if f.keys == 0 {
					return resource.Absent
				}
				return fmt.Sprintf("%d keys that no resource manages", f.keys)
			},
		}},
		Exists: func(f keyFlood) bool { return f.keys > 0 },
	}
	name := place.Path + ":unmanaged"
	return bound.New(&t, resource.Ref{Kind: authorizedkeys.Kind, Name: name}, keyFlood{Name: name, place: place, managed: managed})
}

type floodRemover struct{}

func (floodRemover) Name() string { return "openssh" }

func (floodRemover) Suits(resource.Facts, host.Reader) error { return nil }

func (floodRemover) Read(_ context.Context, h resource.Reader, want keyFlood) (keyFlood, error) {
	names, err := unmanagedNames(h, want.place, want.managed)
	return keyFlood{Name: want.Name, keys: len(names)}, err
}

func (floodRemover) Write(ctx context.Context, h resource.Writer, is, want keyFlood, _ []resource.Change) error {
	h.Note(fmt.Sprintf("removes %d keys that no resource manages\n", is.keys))
	content, err := want.place.Read(h)
	if err != nil {
		return err
	}
	content.DropAll(want.place.Path, func(name string) bool { return !want.managed(name) })
	return want.place.Write(ctx, h, content)
}
