package user

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/authorizedkeys"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Generate implements [resource.Generator]: if purgeSSHKeys is set, an absent resource for each of
// the user's keys that is not in the catalog.
func (useradd) Generate(_ context.Context, h resource.Reader, want attributes, inventory resource.Inventory) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		if !ptr.Deref(want.PurgeSSHKeys, false) || isAbsent(want) {
			return
		}
		p, err := newPurge(h, want, inventory)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, file := range p.files(want) {
			for r, err := range p.unmanaged(h, file) {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// A purge removes the keys of one user.
type purge struct {
	inventory resource.Inventory
	kind      resource.Kind
	accounts  authorizedkeys.Accounts
	user      accounts.User
	exists    bool // a user who does not exist yet has no keys
}

func newPurge(h host.Reader, want attributes, inventory resource.Inventory) (p purge, err error) {
	kind, ok := inventory.Kind(authorizedkeys.Kind)
	if !ok {
		return p, fmt.Errorf("kind %s is unknown, so no key is purged", authorizedkeys.Kind)
	}
	p = purge{inventory: inventory, kind: kind}
	if p.accounts, err = authorizedkeys.ReadAccounts(h); err != nil {
		return p, err
	}
	p.user, p.exists = p.accounts.Users.Named(want.Name)
	return p, p.await(want)
}

// await returns a [*resource.WaitError] if keys are withheld that may be in one of the files.
func (p purge) await(want attributes) error {
	mayHold := func(w resource.Withheld) bool { return p.mayHold(want, w.Location) }
	return resource.WaitFor("no key is purged", p.inventory.Withheld(authorizedkeys.Kind), mayHold, func(resource.Withheld) string { return "may be a key of " + want.Name })
}

// mayHold reports whether a withheld key at a location may be in one of the files of a user.
func (p purge) mayHold(want attributes, file string) bool {
	if owner, ok := strings.CutPrefix(file, "~"); ok {
		u, exists := p.accounts.Users.Named(owner)
		if !exists {
			return false
		}
		file = authorizedkeys.Expand("~/"+authorizedkeys.Default, u)
	}
	return p.exists && file == "" || slices.ContainsFunc(p.files(want), func(f string) bool {
		return path.Clean(authorizedkeys.Expand(f, p.user)) == file
	})
}

func (p purge) files(want attributes) []string {
	if !p.exists {
		return nil
	}
	if want.SSHKeyFiles == nil {
		return []string{"~/" + authorizedkeys.Default}
	}
	return want.SSHKeyFiles
}

// manyUnmanaged is the number of keys of a file that are removed and reported one by one. Each is a change of the whole file, and
// its user may have added any number.
const manyUnmanaged = 100

// unmanaged returns the keys of a file that no resource manages. The last one comes first, so that
// a key that is named by its number keeps that number until its turn. Many keys are one resource.
func (p purge) unmanaged(h host.Reader, file string) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		place, err := p.place(file)
		if err != nil {
			yield(nil, err)
			return
		}
		managed := func(name string) bool { return p.managed(place, name) }
		names, err := unmanagedNames(h, place, managed)
		if err != nil {
			yield(nil, err)
			return
		}
		if len(names) > manyUnmanaged {
			yield(flood(place, managed))
			return
		}
		for _, name := range names {
			if !yield(p.absent(place, name)) {
				return
			}
		}
	}
}

// unmanagedNames returns the names of the keys of a file that no resource manages, the last one first.
func unmanagedNames(h host.Reader, place authorizedkeys.Place, managed func(string) bool) (names []string, err error) {
	content, err := place.Read(h)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, k := range slices.Backward(content.Keys(place.Path)) {
		if !seen[k.Name] && !managed(k.Name) {
			names = append(names, k.Name)
		}
		seen[k.Name] = true
	}
	return names, nil
}

// place returns the place of a file of sshKeyFiles: the user's if it is in the home directory, otherwise
// root's.
func (p purge) place(file string) (authorizedkeys.Place, error) {
	full := authorizedkeys.Expand(file, p.user)
	if full != file {
		return p.accounts.Of(p.user.Name, full)
	}
	return p.accounts.Of("", full)
}

// managed reports whether the catalog has a key of this name in the same file.
func (p purge) managed(place authorizedkeys.Place, name string) bool {
	if p.inventory.Has(authorizedkeys.Kind, authorizedkeys.Claim("", place.Path, name)) {
		return true
	}
	usual := authorizedkeys.Expand("~/"+authorizedkeys.Default, p.user)
	return place.Path == usual && p.inventory.Has(authorizedkeys.Kind, authorizedkeys.Claim(p.user.Name, "", name))
}

func (p purge) absent(place authorizedkeys.Place, name string) (resource.Resource, error) {
	attributes := map[string]string{"name": name, resource.Ensure: resource.Absent, "target": place.Path}
	if place.User != nil {
		attributes["user"] = place.User.Name
	}
	raw, err := json.Marshal(attributes)
	if err != nil {
		return nil, err
	}
	return p.kind.Bind(resource.Ref{Kind: authorizedkeys.Kind, Name: name}, raw)
}
