// Package accounts reads the users and groups of a host.
//
// It reads /etc/passwd, /etc/group and /etc/shadow through a [host.Reader], so that the accounts are
// the host's and not the container's. It never writes these files: the host's tools do, which
// lock them and keep them consistent.
package accounts

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
)

// The files, on every host.
const (
	PasswdFile = "/etc/passwd"
	GroupFile  = "/etc/group"
	ShadowFile = "/etc/shadow"
	// GroupShadowFile has the passwords of groups, and their members again.
	GroupShadowFile = "/etc/gshadow"
)

// A User is a line of passwd.
type User struct {
	Name                 string
	UID, GID             int64
	Comment, Home, Shell string
}

// A Group is a line of group.
type Group struct {
	Name    string
	GID     int64
	Members []string // users with this supplementary group, as listed
}

// Users are the users of a host, in the order of the file. If several share a name or a number, the
// first one counts, as for the host.
type Users []User

// Named finds a user by name.
func (u Users) Named(name string) (User, bool) {
	return first(u, func(x User) bool { return x.Name == name })
}

// Numbered finds a user by UID.
func (u Users) Numbered(uid int64) (User, bool) {
	return first(u, func(x User) bool { return x.UID == uid })
}

// Groups are the groups of a host, in the order of the file. If several share a name or a number, the
// first one counts, as for the host.
type Groups []Group

// Named finds a group by name.
func (g Groups) Named(name string) (Group, bool) {
	return first(g, func(x Group) bool { return x.Name == name })
}

// Numbered finds a group by GID.
func (g Groups) Numbered(gid int64) (Group, bool) {
	return first(g, func(x Group) bool { return x.GID == gid })
}

// Of returns the names of the groups that have a user as a member.
func (g Groups) Of(user string) []string {
	var names []string
	for _, x := range g {
		if slices.Contains(x.Members, user) {
			names = append(names, x.Name)
		}
	}
	return names
}

// Login returns the credentials of a user's process after a login: with the primary group, and all
// groups that have the user as a member.
func (g Groups) Login(u User) host.Credentials {
	list := []uint32{uint32(u.GID)}
	for _, name := range g.Of(u.Name) {
		if x, ok := g.Named(name); ok && x.GID != u.GID {
			list = append(list, uint32(x.GID))
		}
	}
	return host.Credentials{UID: uint32(u.UID), GID: uint32(u.GID), Groups: list}
}

func first[E any](list []E, found func(E) bool) (e E, ok bool) {
	if i := slices.IndexFunc(list, found); i >= 0 {
		return list[i], true
	}
	return e, false
}

// ReadUsers reads passwd. A host without the file has no users.
func ReadUsers(h host.Reader) (Users, error) {
	data, err := read(h, PasswdFile)
	return ParsePasswd(data), err
}

// ReadGroups reads group. A host without the file has no groups.
func ReadGroups(h host.Reader) (Groups, error) {
	data, err := read(h, GroupFile)
	return ParseGroup(data), err
}

// ReadShadow reads shadow. A host without the file has no password hashes.
func ReadShadow(h host.Reader) (Shadow, error) {
	data, err := read(h, ShadowFile)
	return ParseShadow(data), err
}

func read(h host.Reader, path string) ([]byte, error) {
	data, err := h.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read accounts: %w", err)
	}
	return data, nil
}
