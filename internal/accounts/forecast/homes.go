package forecast

import (
	"path"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
)

// A homeChange is what a planned write of a user does to a home directory.
type homeChange struct {
	user, dir string
	made      bool   // or removed, or moved away
	from      string // the directory whose contents a new one gets: the skeleton, or the home that is moved
}

// A newOwner is what a new uid or primary group of a user does to the files of the home.
type newOwner struct {
	home            string
	before, planned accounts.User
}

func (a *Accounts) expectNewHome(want v1alpha1.UserAttributes) {
	if dir := path.Clean(a.HomeOf(want)); ptr.Deref(want.ManageHome, false) && !a.hasHome(dir) {
		a.homes = append(a.homes, homeChange{user: want.Name, dir: dir, made: true, from: a.Defaults.Skeleton})
	}
}

func (a *Accounts) expectRemovedHome(want v1alpha1.UserAttributes) {
	if u, ok := a.Users.Named(want.Name); ok && ptr.Deref(want.ManageHome, false) {
		a.homes = append(a.homes, homeChange{user: want.Name, dir: path.Clean(u.Home)})
	}
}

// expectMovedHome follows usermod, which moves a home after it has changed the owner of the files in it.
func (a *Accounts) expectMovedHome(before, planned accounts.User, moves bool) {
	a.owners = append(a.owners, newOwner{path.Clean(before.Home), before, planned})
	from, to := path.Clean(before.Home), path.Clean(planned.Home)
	if moves && from != to && a.exists(from) {
		a.homes = append(a.homes, homeChange{user: planned.Name, dir: from}, homeChange{user: planned.Name, dir: to, made: true, from: from})
	}
}

// hasHome reports whether a home is there after what is planned so far.
func (a *Accounts) hasHome(dir string) bool {
	if made, planned := a.Home(dir); planned {
		return made
	}
	return a.exists(dir)
}

// Home reports whether a directory is the home of a user or below it, so that a planned change of the user makes or removes it: planned.
// made tells which.
func (a Accounts) Home(dir string) (made, planned bool) {
	c, ok := a.homeChange(dir)
	if !ok || !c.made {
		return false, ok
	}
	made = path.Clean(dir) == c.dir || a.exists(c.origin(dir))
	return made, made
}

// ChangedWith returns the user whose planned home brings, moves or takes away a file; "" without one.
func (a Accounts) ChangedWith(file string) string {
	c, ok := a.homeChange(file)
	if !ok || c.from == a.Defaults.Skeleton && c.made && !a.exists(c.origin(file)) {
		return ""
	}
	return c.user
}

// OwnerOf returns the owner and the group of a file that has these now.
func (a Accounts) OwnerOf(file string, uid, gid int64) (newUID, newGID int64) {
	for _, o := range a.owners {
		if host.IsBelow(path.Clean(file), o.home) && uid == o.before.UID {
			uid = o.planned.UID
		}
		if host.IsBelow(path.Clean(file), o.home) && gid == o.before.GID {
			gid = o.planned.GID
		}
	}
	return uid, gid
}

// Before returns the users with the numbers that the files in the home of one of them have until the plan is applied.
func (a Accounts) Before(user string) accounts.Users {
	users := slices.Clone(a.Users)
	for _, o := range slices.Backward(a.owners) {
		for i := range users {
			if users[i].Name == user && o.planned.Name == user {
				users[i].UID, users[i].GID = o.before.UID, o.before.GID
			}
		}
	}
	return users
}

// homeChange returns the last planned change of the home in or below which a file is.
func (a Accounts) homeChange(file string) (homeChange, bool) {
	for _, c := range slices.Backward(a.homes) {
		if host.IsBelow(path.Clean(file), c.dir) {
			return c, true
		}
	}
	return homeChange{}, false
}

// origin returns the path from which a file comes into a new home.
func (c homeChange) origin(file string) string {
	return c.from + strings.TrimPrefix(path.Clean(file), c.dir)
}
