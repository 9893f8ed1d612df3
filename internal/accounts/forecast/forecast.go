// Package forecast predicts the accounts of a host: as they are in an apply, and as the earlier resources of a plan would leave them
// in a plan. So the same rule decides in both whether a change can succeed.
package forecast

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Unknown is the number of an account whose number the host will choose.
const Unknown = -1

// Accounts are the users and groups of a host.
type Accounts struct {
	Users    accounts.Users
	Groups   accounts.Groups
	Defaults Defaults
	homes    []homeChange
	owners   []newOwner
	exists   func(file string) bool // on the host, before the plan
}

// key identifies the accounts; see [resource.Once].
type key struct{}

// Read reads the accounts of a host and adds what is planned. They must not be changed: later calls may return the same.
func Read(h resource.Reader) (Accounts, error) {
	return resource.Once(h, key{}, func() (Accounts, error) { return read(h) })
}

func read(h resource.Reader) (a Accounts, err error) {
	if a.Users, err = accounts.ReadUsers(h); err != nil {
		return a, err
	}
	if a.Groups, err = accounts.ReadGroups(h); err != nil {
		return a, err
	}
	if a.Defaults, err = readDefaults(h); err != nil {
		return a, fmt.Errorf("cannot read the defaults of accounts: %w", err)
	}
	a.exists = func(file string) bool { _, err := h.Lstat(file); return err == nil }
	return a.Expect(resource.Planned(h)), nil
}

// Expect returns the accounts after planned writes of Users and Groups. It ignores other kinds, and leaves the
// original as it is.
func (a Accounts) Expect(planned []any) Accounts {
	a.Users, a.Groups, a.homes, a.owners = slices.Clone(a.Users), slices.Clone(a.Groups), nil, nil
	if a.exists == nil {
		a.exists = func(string) bool { return false }
	}
	for _, w := range planned {
		switch w := w.(type) {
		case resource.Write[v1alpha1.UserAttributes]:
			a.expectUser(w)
		case resource.Write[v1alpha1.GroupAttributes]:
			a.expectGroup(w)
		}
	}
	return a
}

func (a *Accounts) expectUser(w resource.Write[v1alpha1.UserAttributes]) {
	want := w.Want
	switch {
	case removes(w.Changes):
		a.expectRemovedHome(want)
		a.removeUser(want.Name)
		return
	case creates(w.Changes):
		a.expectNewHome(want)
		a.Users = append(a.Users, accounts.User{Name: want.Name, UID: Unknown, GID: a.primary(want), Home: a.HomeOf(want)})
	}
	i := slices.IndexFunc(a.Users, func(u accounts.User) bool { return u.Name == want.Name })
	if i < 0 {
		return
	}
	before, u := a.Users[i], &a.Users[i]
	u.UID, u.Home, u.Shell = ptr.Deref(want.UID, u.UID), ptr.Deref(want.Home, u.Home), ptr.Deref(want.Shell, u.Shell)
	if want.GID != nil {
		u.GID = a.number(want.GID)
	}
	if !creates(w.Changes) {
		a.expectMovedHome(before, *u, ptr.Deref(want.MoveHome, false))
	}
	if ptr.Deref(want.Membership, "") == "inclusive" && want.Groups != nil {
		a.leaveAll(want.Name)
	}
	for _, name := range want.Groups {
		a.join(name, want.Name)
	}
}

// primary returns the number of the primary group of a new user, and creates the group of the user's own name if there is none and
// useradd would.
func (a *Accounts) primary(want v1alpha1.UserAttributes) int64 {
	if want.GID != nil {
		return a.number(want.GID)
	}
	if own, ok := a.Groups.Named(want.Name); ok {
		return own.GID
	}
	if !a.Defaults.UserGroups {
		return a.defaultGroup()
	}
	a.Groups = append(a.Groups, accounts.Group{Name: want.Name, GID: Unknown})
	return Unknown
}

// removeUser removes a user, its memberships, and the group of its own name if nobody else is in that and userdel would.
func (a *Accounts) removeUser(name string) {
	user, _ := a.Users.Named(name)
	a.Users = slices.DeleteFunc(a.Users, func(u accounts.User) bool { return u.Name == name })
	a.leaveAll(name)
	a.Groups = slices.DeleteFunc(a.Groups, func(g accounts.Group) bool {
		return a.Defaults.UserGroups && g.Name == name && g.GID == user.GID && len(g.Members) == 0 && a.PrimaryOf(g) == ""
	})
}

func (a *Accounts) leaveAll(user string) {
	for i := range a.Groups {
		a.Groups[i].Members = without(a.Groups[i].Members, user)
	}
}

func (a *Accounts) join(group, user string) {
	i := slices.IndexFunc(a.Groups, func(g accounts.Group) bool { return g.Name == group })
	if i >= 0 {
		a.Groups[i].Members = append(without(a.Groups[i].Members, user), user)
	}
}

func (a *Accounts) expectGroup(w resource.Write[v1alpha1.GroupAttributes]) {
	want := w.Want
	named := func(g accounts.Group) bool { return g.Name == want.Name }
	switch {
	case removes(w.Changes):
		a.Groups = slices.DeleteFunc(a.Groups, named)
		return
	case creates(w.Changes):
		a.Groups = append(a.Groups, accounts.Group{Name: want.Name, GID: Unknown})
	}
	i := slices.IndexFunc(a.Groups, named)
	if i < 0 {
		return
	}
	g := &a.Groups[i]
	if want.GID != nil {
		a.renumber(g.GID, *want.GID)
		g.GID = *want.GID
	}
	if ptr.Deref(want.AuthMembership, false) {
		g.Members = nil
	}
	for _, m := range want.Members {
		a.join(want.Name, m)
	}
}

// renumber keeps users in their primary group when that gets another number, as groupmod does.
func (a *Accounts) renumber(from, to int64) {
	for i := range a.Users {
		if from != Unknown && a.Users[i].GID == from {
			a.Users[i].GID = to
		}
	}
}

// Group finds a group by name or number.
func (a Accounts) Group(gid *intstr.IntOrString) (accounts.Group, bool) {
	if n, ok := accounts.Number(gid.String()); ok {
		return a.Groups.Numbered(n)
	}
	return a.Groups.Named(gid.StrVal)
}

// number returns the number of a group that need not exist.
func (a Accounts) number(gid *intstr.IntOrString) int64 {
	if g, ok := a.Group(gid); ok {
		return g.GID
	}
	return Unknown
}

// PrimaryOf returns the first user whose primary group is g, "" if there is none.
func (a Accounts) PrimaryOf(g accounts.Group) string {
	for _, u := range a.Users {
		if u.GID == g.GID && g.GID != Unknown || g.GID == Unknown && u.GID == Unknown && u.Name == g.Name {
			return u.Name
		}
	}
	return ""
}

// HasChosenUID returns a user whose number the host will choose, "" if there is none.
func (a Accounts) HasChosenUID() string {
	u, _ := a.Users.Numbered(Unknown)
	return u.Name
}

// HasChosenGID is HasChosenUID for groups.
func (a Accounts) HasChosenGID() string {
	g, _ := a.Groups.Numbered(Unknown)
	return g.Name
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}

func creates(changes []resource.Change) bool {
	return slices.ContainsFunc(changes, resource.Change.Creates)
}

func removes(changes []resource.Change) bool {
	return slices.ContainsFunc(changes, resource.Change.Removes)
}

// CheckName returns why an account of this name can't be created, or that its tool decides.
func CheckName(name, tool string) error {
	certain, err := accounts.CheckName(name)
	if err == nil && !certain {
		return &resource.UnknownError{Reason: tool + " decides whether it accepts the name"}
	}
	return err
}
