package user

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// useradd reads the host's account files and changes them with the tools of every Linux
// distribution: useradd, usermod, userdel, chpasswd and chage.
type useradd struct{}

func (useradd) Name() string { return "useradd" }

func (useradd) Needs() resource.Needs {
	return resource.Needs{
		Commands: []string{"useradd", "usermod", "userdel", "chpasswd", "chage"},
		Remedy:   "install the package that contains it (passwd or shadow-utils)",
	}
}

func (useradd) Suits(resource.Facts, host.Reader) error { return nil }

func (useradd) Features() []resource.Feature {
	return []resource.Feature{
		managesHomeDir, managesPasswords, managesPasswordAge, managesExpiry, managesShell, systemUsers, allowsDuplicates,
	}
}

func (u useradd) Read(ctx context.Context, h resource.Reader, want attributes) (attributes, error) {
	result := u.ReadAll(ctx, h, []attributes{want})[0]
	return result.State, result.Err
}

// ReadAll implements [resource.BatchReader]. It reads each file once. Without permission to read
// shadow, only users that manage fields of it fail.
func (useradd) ReadAll(_ context.Context, h resource.Reader, wants []attributes) []resource.Result[attributes] {
	db, err := readDatabase(h)
	if err != nil {
		return resource.Unreadable[attributes](len(wants), err)
	}
	results := make([]resource.Result[attributes], len(wants))
	for i, want := range wants {
		if db.shadow == nil && needsShadow(want) {
			results[i].Err = db.shadowErr
			continue
		}
		results[i].State = db.state(want)
	}
	return results
}

// ReadAudited implements [resource.Auditor]. It also reads audited fields of shadow.
func (useradd) ReadAudited(_ context.Context, h resource.Reader, want attributes, audited []string) (attributes, error) {
	db, err := readDatabase(h)
	if err != nil {
		return attributes{}, err
	}
	if db.shadow == nil && (needsShadow(want) || slices.ContainsFunc(audited, isInShadow)) {
		return attributes{}, db.shadowErr
	}
	is, hash := db.state(want), db.password(want.Name)
	if is.Password == nil && slices.Contains(audited, "password") {
		is.Password = hash
	}
	if is.Locked == nil && hash != nil && slices.Contains(audited, "locked") {
		is.Locked = new(strings.HasPrefix(*hash, lock))
	}
	return is, nil
}

func isInShadow(property string) bool {
	return property == "password" || property == "locked" || isAgeing(property)
}

func isAgeing(property string) bool {
	return slices.ContainsFunc(ageing(), func(p resource.Property[attributes]) bool { return p.Name == property })
}

func needsShadow(want attributes) bool {
	return want.Password != nil || want.Locked != nil || ages(want)
}

// List implements [resource.Lister]: all users of the host, without their passwords.
func (useradd) List(_ context.Context, h resource.Reader) ([]attributes, error) {
	db, err := readDatabase(h)
	if err != nil {
		return nil, err
	}
	states := make([]attributes, len(db.users))
	for i, u := range db.users {
		states[i] = db.state(attributes{Name: u.Name})
	}
	return states, nil
}

// A database is the account files of a host.
type database struct {
	users  accounts.Users
	groups accounts.Groups
	shadow *accounts.Shadow // nil without permission to read it

	shadowErr error // why shadow is nil
}

func readDatabase(h host.Reader) (db database, err error) {
	if db.users, err = accounts.ReadUsers(h); err != nil {
		return db, err
	}
	if db.groups, err = accounts.ReadGroups(h); err != nil {
		return db, err
	}
	shadow, err := accounts.ReadShadow(h)
	if errors.Is(err, fs.ErrPermission) {
		db.shadowErr = err
		return db, nil
	}
	db.shadow = &shadow
	return db, err
}

// state returns a user in the form of want, so that the two can be compared.
func (db database) state(want attributes) attributes {
	u, ok := db.users.Named(want.Name)
	if !ok {
		return attributes{Name: want.Name, Ensure: new(resource.Absent)}
	}
	is := attributes{
		Name: u.Name, Ensure: new(resource.Present),
		UID: &u.UID, GID: db.gid(u, want), Groups: db.supplementary(u, want),
		Home: &u.Home, Comment: &u.Comment, Shell: &u.Shell,
	}
	if db.shadow == nil {
		return is
	}
	setAgeing(&is, db.shadow.Ageing(u.Name))
	hash := db.password(u.Name)
	if want.Password != nil {
		is.Password = hash
	}
	if want.Locked != nil && hash != nil {
		is.Locked = new(strings.HasPrefix(*hash, lock))
	}
	if want.Locked != nil && is.Password != nil { // locked is compared by itself
		is.Password = new(strings.TrimPrefix(*is.Password, lock))
	}
	return is
}

// password returns nil if shadow has none or could not be read.
func (db database) password(name string) *string {
	if db.shadow == nil {
		return nil
	}
	if hash, ok := db.shadow.Hash(name); ok {
		return &hash
	}
	return nil
}

// gid returns a user's primary group, by name if want names it, and by the desired name if several
// groups have that number.
func (db database) gid(u accounts.User, want attributes) *intstr.IntOrString {
	if want.GID == nil {
		return number(u.GID)
	}
	if _, ok := asNumber(want.GID); ok {
		return number(u.GID)
	}
	if g, ok := db.groups.Named(want.GID.StrVal); ok && g.GID == u.GID {
		return new(intstr.FromString(g.Name))
	}
	if g, ok := db.groups.Numbered(u.GID); ok {
		return new(intstr.FromString(g.Name))
	}
	return number(u.GID)
}

// supplementary returns the groups of a user besides the primary one. If want lists the primary one
// too, it is included.
func (db database) supplementary(u accounts.User, want attributes) []string {
	names := db.groups.Of(u.Name)
	primary, ok := primaryGroup(db.groups, u.GID, want)
	if !ok {
		return names
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == primary.Name })
	if slices.Contains(want.Groups, primary.Name) {
		names = append(names, primary.Name)
	}
	return names
}

// primaryGroup returns the desired primary group of a user: gid, unless want has another. It may not
// exist.
func primaryGroup(groups accounts.Groups, gid int64, want attributes) (accounts.Group, bool) {
	if want.GID != nil {
		return find(groups, want.GID)
	}
	return groups.Numbered(gid)
}

// find finds a group by name or number.
func find(groups accounts.Groups, gid *intstr.IntOrString) (accounts.Group, bool) {
	if n, ok := asNumber(gid); ok {
		return groups.Numbered(n)
	}
	return groups.Named(gid.StrVal)
}
