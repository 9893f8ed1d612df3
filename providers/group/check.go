package group

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Precheck implements [resource.Prechecker] by the rules that Write applies, too.
func (groupadd) Precheck(_ context.Context, h resource.Reader, writes []resource.Write[attributes]) []error {
	return resource.SimpleCheck[attributes]{Create: checkCreation, Update: checkUpdate, Delete: checkRemoval}.Check(h, writes)
}

func checkCreation(h resource.Reader, _, want attributes) error {
	a, err := forecast.Read(h)
	if err != nil {
		return err
	}
	return errors.Join(accounts.CheckEditable(h, accounts.GroupFile, accounts.GroupShadowFile), forecast.CheckName(want.Name, "groupadd"), takenGID(a, want), unknownMembers(a, want.Members))
}

func checkUpdate(h resource.Reader, is, want attributes, changes []resource.Change) error {
	a, err := forecast.Read(h)
	if err != nil {
		return err
	}
	return resource.OneByOne(changes, func(property string) error { return checkChange(h, a, is, want, property) })
}

// checkChange returns an error if the host does not allow a change of a property.
func checkChange(h host.Reader, a forecast.Accounts, is, want attributes, property string) error {
	if property == "gid" { // groupmod changes it in passwd, too
		return errors.Join(accounts.CheckEditable(h, accounts.PasswdFile, accounts.GroupFile), accounts.CheckUnique(h, want.Name, accounts.GroupFile), takenGID(a, want))
	}
	added := slices.DeleteFunc(slices.Clone(want.Members), func(m string) bool { return isMinimum(want) && slices.Contains(is.Members, m) })
	return errors.Join(checkFiles(h, want.Name), unknownMembers(a, added))
}

// checkFiles returns an error if gpasswd or groupdel can't change a group because of the files.
func checkFiles(h host.Reader, name string) error {
	return errors.Join(
		accounts.CheckEditable(h, accounts.GroupFile, accounts.GroupShadowFile),
		accounts.CheckUnique(h, name, accounts.GroupFile, accounts.GroupShadowFile),
	)
}

func checkRemoval(h resource.Reader, _, want attributes) error {
	a, err := forecast.Read(h)
	if err != nil {
		return err
	}
	g, ok := a.Groups.Named(want.Name)
	if !ok {
		return &resource.UnknownError{Reason: "userdel may remove it with its user"}
	}
	if user := a.PrimaryOf(g); user != "" {
		return fmt.Errorf("it is the primary group of user %s: before this Group, make that User absent or give it another gid", user)
	}
	return checkFiles(h, want.Name)
}

// takenGID returns an error if another group has the number.
func takenGID(a forecast.Accounts, want attributes) error {
	if want.GID == nil || ptr.Deref(want.AllowDupe, false) {
		return nil
	}
	if g, ok := a.Groups.Numbered(*want.GID); ok && g.Name != want.Name {
		return fmt.Errorf("gid %d belongs to group %s: use another gid, or set allowDupe: true", *want.GID, g.Name)
	}
	if other := a.HasChosenGID(); other != "" && other != want.Name {
		return &resource.UnknownError{Reason: "the host chooses the gid of " + other}
	}
	return nil
}

func unknownMembers(a forecast.Accounts, members []string) error {
	var errs []error
	for _, m := range members {
		if _, ok := a.Users.Named(m); !ok {
			errs = append(errs, fmt.Errorf("user %s does not exist on the host: declare a User for each name in members, "+
				"or remove members if the Users name this group in groups", m))
		}
	}
	return errors.Join(errs...)
}
