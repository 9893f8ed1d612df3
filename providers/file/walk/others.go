package walk

import (
	"iter"
	"path"
	"sync"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/file/entry"
)

// Others has the paths that other resources manage. The zero value is empty.
type Others struct {
	has func(path string) bool
	// above has the directories above them.
	above map[string]bool
	// identities has the identities of the entries, as other paths may lead to them.
	identities func() map[string]bool
}

// NewOthers returns Others for a walk of the directory top. has reports whether paths has a path.
func NewOthers(h host.Reader, top string, paths iter.Seq[string], has func(path string) bool) Others {
	o := Others{has: has, above: map[string]bool{}}
	o.identities = sync.OnceValue(func() map[string]bool {
		all, of := map[string]bool{}, entry.NewIdentities(h)
		for p := range paths {
			all[of.Of(p)] = true
		}
		return all
	})
	for p := range paths {
		for dir := path.Dir(p); dir != top && host.IsBelow(dir, top) && !o.above[dir]; dir = path.Dir(dir) {
			o.above[dir] = true
		}
	}
	return o
}

func (o Others) manage(p string) bool { return o.has != nil && o.has(p) }

func (o Others) manageIdentity(identity string) bool {
	return o.identities != nil && o.identities()[identity]
}
