package file

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// An accountKind is what a number of a file stands for.
type accountKind string

const (
	user  accountKind = "user"
	group accountKind = "group"
)

// names are the accounts of a host. Where several share a name or a number the first
// one counts.
type names interface {
	id(name string) (int, bool)
	name(id int) (string, bool)
}

type users struct{ accounts.Users }

func (u users) id(name string) (int, bool) { x, ok := u.Named(name); return int(x.UID), ok }
func (u users) name(id int) (string, bool) { x, ok := u.Numbered(int64(id)); return x.Name, ok }

type groups struct{ accounts.Groups }

func (g groups) id(name string) (int, bool) { x, ok := g.Named(name); return int(x.GID), ok }
func (g groups) name(id int) (string, bool) { x, ok := g.Numbered(int64(id)); return x.Name, ok }

// read asks the host's own files: an account may have been made a moment ago, in the
// same run.
func (k accountKind) read(h resource.Reader, known *accounts.Cache) (names, error) {
	return resource.Once(h, k, func() (names, error) { return k.list(h, known) })
}

func (k accountKind) list(h host.Reader, known *accounts.Cache) (names, error) {
	if k == user {
		list, err := known.Users(h)
		return users{list}, err
	}
	list, err := known.Groups(h)
	return groups{list}, err
}

// unchanged is what the kernel and [host.Host] take for an ID to be left as it is.
const unchanged = -1

// resolve turns what a resource says into a number: unchanged if it says nothing.
func (k accountKind) resolve(h resource.Reader, known *accounts.Cache, want *intstr.IntOrString) (int, error) {
	if want == nil {
		return unchanged, nil
	}
	if n, numeric := number(*want); numeric {
		return int(n), nil
	}
	all, err := k.read(h, known)
	if err != nil {
		return unchanged, err
	}
	id, ok := all.id(want.StrVal)
	if !ok {
		return unchanged, fmt.Errorf("the host has no %s %q: create it first, or give a number", k, want.StrVal)
	}
	return id, nil
}

// shown is an ID as the resource says it: a name where it has a name, even if other
// accounts share the number, and a number where it has one. It is nil where the
// resource says nothing, unless it is asked for.
func (k accountKind) shown(h resource.Reader, known *accounts.Cache, want *intstr.IntOrString, id int, asked bool) (*intstr.IntOrString, error) {
	if want == nil && !asked {
		return nil, nil
	}
	if want != nil {
		if _, numeric := number(*want); numeric {
			return numbered(id), nil
		}
	}
	all, err := k.read(h, known)
	if err != nil {
		return nil, err
	}
	if want != nil {
		if wanted, ok := all.id(want.StrVal); ok && wanted == id {
			return want, nil
		}
	}
	if name, ok := all.name(id); ok {
		return new(intstr.FromString(name)), nil
	}
	return numbered(id), nil
}

// number is the number that is meant, which may be too large for an integer of the
// API and so come as a string.
func number(id intstr.IntOrString) (n int64, numeric bool) {
	if id.Type == intstr.Int {
		return int64(id.IntVal), true
	}
	return parseID(id.StrVal)
}

// parseID tells a number from a name, for which no error is made: most are names.
func parseID(text string) (n int64, numeric bool) {
	if text == "" || 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z' || text[0] == '_' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

func numbered(id int) *intstr.IntOrString {
	return normalID(new(intstr.FromString(strconv.Itoa(id))))
}
