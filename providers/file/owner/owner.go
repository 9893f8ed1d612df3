// Package owner translates the owner and the group of a file between names and numbers.
package owner

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Kind of account has files.
type Kind string

// The kinds of accounts.
const (
	User  Kind = "user"
	Group Kind = "group"
)

// Unchanged is the number with which the kernel and [host.Host] preserve an owner.
const Unchanged = -1

// maxID is the largest number of a user or group. The next one is [Unchanged].
const maxID = math.MaxUint32 - 1

// Accounts looks up accounts in a host's own files. If several share a name or a number,
// the first one counts.
type Accounts struct{ cache *accounts.Cache }

// NewAccounts returns Accounts with an empty cache.
func NewAccounts() Accounts { return Accounts{new(accounts.Cache)} }

// names has the accounts of one kind.
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

// read caches for one resource only: an account may have been created earlier in the same
// run.
func (a Accounts) read(h resource.Reader, kind Kind) (names, error) {
	return resource.Once(h, kind, func() (names, error) { return a.list(h, kind) })
}

func (a Accounts) list(h host.Reader, kind Kind) (names, error) {
	if kind == User {
		list, err := a.cache.Users(h)
		return users{list}, err
	}
	list, err := a.cache.Groups(h)
	return groups{list}, err
}

// ID returns the number of the account that a resource names; Unchanged without a name.
func (a Accounts) ID(h resource.Reader, kind Kind, want *intstr.IntOrString) (int, error) {
	if want == nil {
		return Unchanged, nil
	}
	if n, numeric := number(*want); numeric {
		return int(n), nil
	}
	all, err := a.read(h, kind)
	if err != nil {
		return Unchanged, err
	}
	id, ok := all.id(want.StrVal)
	if !ok {
		return Unchanged, unknown(kind, want.StrVal)
	}
	return id, nil
}

func unknown(kind Kind, name string) error {
	return fmt.Errorf("the host has no %s %q: create it first, or use a number", kind, name)
}

// PlannedHome reports whether the earlier resources of a plan make or remove a directory together with the user whose home it is.
func (a Accounts) PlannedHome(h resource.Reader, dir string) (made, planned bool) {
	if !plansAccounts(h) {
		return false, false
	}
	expected, err := forecast.Read(h)
	if err != nil {
		return false, false
	}
	return expected.Home(dir)
}

// Stale returns how the earlier resources of a plan change whose a file is, or with which home it is made, moved or removed; "" if they
// do not. The numbers are those of a file that exists.
func (a Accounts) Stale(h resource.Reader, file string, exists bool, uid, gid int, wantUser, wantGroup *intstr.IntOrString) string {
	if !plansAccounts(h) {
		return ""
	}
	expected, err := forecast.Read(h)
	if err != nil {
		return "" // the check of a change reports it
	}
	if user := expected.ChangedWith(file); user != "" {
		return "comes after a change of the home of user " + user
	}
	if !exists {
		return ""
	}
	newUID, newGID := expected.OwnerOf(file, int64(uid), int64(gid))
	if a.changesHands(h, User, wantUser, uid, users{expected.Users}, int(newUID)) {
		return "comes after a change of its owner"
	}
	if a.changesHands(h, Group, wantGroup, gid, groups{expected.Groups}, int(newGID)) {
		return "comes after a change of its group"
	}
	return ""
}

func plansAccounts(h resource.Reader) bool {
	return len(resource.PlannedNames(h, "User"))+len(resource.PlannedNames(h, "Group")) > 0
}

// changesHands reports whether a file begins or ceases to belong to the account that a resource names, or gets into other wrong hands.
func (a Accounts) changesHands(h resource.Reader, kind Kind, want *intstr.IntOrString, id int, expected names, newID int) bool {
	if want == nil {
		return false
	}
	all, err := a.read(h, kind)
	if err != nil {
		return false
	}
	before, after := belongs(all, want, id), belongs(expected, want, newID)
	return before != after || !after && shown(all, want, id) != shown(expected, want, newID)
}

// shown returns a number in the form in which a resource names its account.
func shown(all names, want *intstr.IntOrString, id int) string {
	if _, numeric := number(*want); !numeric {
		if name, ok := all.name(id); ok {
			return name
		}
	}
	return strconv.Itoa(id)
}

// belongs reports whether an account has a number. The host may choose for a new account any number that is free.
func belongs(all names, want *intstr.IntOrString, id int) bool {
	if n, numeric := number(*want); numeric {
		return n == int64(id)
	}
	wanted, ok := all.id(want.StrVal)
	_, taken := all.name(id)
	return ok && (wanted == id || wanted == forecast.Unknown && !taken)
}

// Check returns the error that ID would return once the earlier resources of a plan are applied.
func (a Accounts) Check(h resource.Reader, kind Kind, want *intstr.IntOrString) error {
	if want == nil {
		return nil
	}
	if _, numeric := number(*want); numeric {
		return nil
	}
	expected, err := forecast.Read(h)
	if err != nil {
		return err
	}
	_, known := expected.Groups.Named(want.StrVal)
	if kind == User {
		_, known = expected.Users.Named(want.StrVal)
	}
	if !known {
		return unknown(kind, want.StrVal)
	}
	return nil
}

// Show returns an account in the form in which a resource names it: want itself if it is the
// name of that account, even if others share its number, and a number if want is one. Without
// want it is the account's name, if it has one.
func (a Accounts) Show(h resource.Reader, kind Kind, want *intstr.IntOrString, id int) (*intstr.IntOrString, error) {
	if want != nil {
		if _, numeric := number(*want); numeric {
			return Number(id), nil
		}
	}
	all, err := a.read(h, kind)
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
	return Number(id), nil
}

// Home returns the home directory of the user that a resource names; nil without a name, or if
// the host does not have that user yet.
func (a Accounts) Home(h resource.Reader, want *intstr.IntOrString) *host.Home {
	uid, err := a.ID(h, User, want)
	if err != nil || uid == Unchanged {
		return nil
	}
	all, err := a.read(h, User)
	if err != nil {
		return nil
	}
	account, ok := all.(users).Numbered(int64(uid))
	if want.StrVal != "" {
		if named, is := all.(users).Named(want.StrVal); is {
			account, ok = named, is
		}
	}
	if !ok || account.Home == "" {
		return nil
	}
	return &host.Home{UID: uid, Dir: account.Home}
}

// Validate rejects values that can't be the name or the number of an account.
func Validate(attribute string, id *intstr.IntOrString) error {
	if id == nil {
		return nil
	}
	n, numeric := number(*id)
	switch {
	case numeric && (n < 0 || n > maxID):
		return fmt.Errorf("%s %s is not the number of an account: use one from 0 to %d, or a name", attribute, id.String(), int64(maxID))
	case !numeric && (id.StrVal == "" || strings.ContainsAny(id.StrVal, ":/ \t\n\x00")):
		return fmt.Errorf("%s %q is not the name of an account: use the name of one on the host, or a number", attribute, id.StrVal)
	}
	return nil
}

// Normalize turns a number in quotes into a number, or into its shortest form where the
// API's integers are too small for it.
func Normalize(id *intstr.IntOrString) *intstr.IntOrString {
	if id == nil || id.Type == intstr.Int {
		return id
	}
	n, numeric := parseID(id.StrVal)
	switch {
	case !numeric:
		return id
	case n < math.MinInt32 || n > math.MaxInt32:
		return new(intstr.FromString(strconv.FormatInt(n, 10)))
	}
	return new(intstr.FromInt32(int32(n)))
}

// Number returns the number of an account in its normal form.
func Number(id int) *intstr.IntOrString {
	return Normalize(new(intstr.FromString(strconv.Itoa(id))))
}

// number parses the number of an account, which is a string if it is too large for an
// integer of the API.
func number(id intstr.IntOrString) (n int64, numeric bool) {
	if id.Type == intstr.Int {
		return int64(id.IntVal), true
	}
	return parseID(id.StrVal)
}

// parseID spares names, which are the common case, the error of the conversion.
func parseID(text string) (n int64, numeric bool) {
	if text == "" || 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z' || text[0] == '_' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
