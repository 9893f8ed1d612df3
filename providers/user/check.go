package user

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Precheck implements [resource.Prechecker] by the rules that Write applies, too.
func (useradd) Precheck(_ context.Context, h resource.Reader, writes []resource.Write[attributes]) []error {
	errs := resource.SimpleCheck[attributes]{Create: checkCreation, Update: checkUpdate, Delete: foreseeRemoval}.Check(h, writes)
	for i, w := range writes {
		if errs[i] == nil && needsIdle(w) && runsProcesses(h, *w.Is.UID) {
			errs[i] = &resource.UnknownError{Reason: "the user has processes"}
		}
	}
	return errs
}

// needsIdle reports whether the tools refuse changes of an account that has processes. Which of them count, only the tools know:
// those in containers may not.
func needsIdle(w resource.Write[attributes]) bool {
	return w.Is.UID != nil && slices.ContainsFunc(w.Changes, func(c resource.Change) bool {
		return c.Removes() || c.Property == "uid" || c.Property == "home"
	})
}

// runsProcesses reports whether a process of the host has this uid. A process that has ended meanwhile has none.
func runsProcesses(h host.Reader, uid int64) bool {
	pids, err := h.ReadDir("/proc")
	return err == nil && slices.ContainsFunc(pids, func(pid string) bool {
		info, err := h.Lstat("/proc/" + pid)
		return err == nil && int64(info.UID) == uid && strings.Trim(pid, "0123456789") == ""
	})
}

func checkCreation(h resource.Reader, _, want attributes) error {
	a, err := forecast.Read(h)
	if err != nil {
		return err
	}
	return errors.Join(checkFilesOfCreation(h, want), forecast.CheckName(want.Name, "useradd"), takenUID(a, want), unknownGID(a, want), unknownGroups(a, want), unusableShell(h, want), unusableHome(h, a, want), nothingToUnlock(want, ""))
}

func checkUpdate(h resource.Reader, is, want attributes, changes []resource.Change) error {
	a, err := forecast.Read(h)
	if err != nil {
		return err
	}
	return resource.OneByOne(changes, func(property string) error { return checkChange(h, a, is, want, property) })
}

// checkChange returns an error if the host does not allow a change of a property.
func checkChange(h resource.Reader, a forecast.Accounts, is, want attributes, property string) error {
	if err := checkFiles(h, is, want, property); err != nil {
		return err
	}
	return checkValue(h, a, is, want, property)
}

func checkValue(h resource.Reader, a forecast.Accounts, is, want attributes, property string) error {
	switch property {
	case "uid":
		return errors.Join(superuserIsBusy(is, property), takenUID(a, want))
	case "gid":
		return unknownGID(a, want)
	case "groups":
		return unknownGroups(a, want)
	case "shell":
		return unusableShell(h, want)
	case "home":
		return errors.Join(superuserIsBusy(is, property), immovableHome(h, is, want))
	case "locked":
		shadow, err := accounts.ReadShadow(h)
		if err != nil {
			return err
		}
		hash, ok := shadow.Hash(want.Name)
		return errors.Join(nothingToLock(want, ok), nothingToUnlock(want, strings.TrimLeft(hash, lock)))
	}
	return nil
}

// foreseeRemoval is checkRemoval for a plan.
func foreseeRemoval(h resource.Reader, is, want attributes) error {
	return unlessUnreadable(checkRemoval(h, is, want))
}

func checkRemoval(h resource.Reader, is, want attributes) error {
	if is.UID != nil && *is.UID == 0 {
		if err := unconfirmed(want); err != nil {
			return err
		}
	}
	if err := checkFilesOfRemoval(h, want); err != nil || !ptr.Deref(want.ManageHome, false) || is.Home == nil || is.UID == nil {
		return err
	}
	return irremovableHome(h, is)
}

// superuserIsBusy returns the error of usermod, which is a process of the superuser itself.
func superuserIsBusy(is attributes, property string) error {
	if is.UID == nil || *is.UID != 0 {
		return nil
	}
	return fmt.Errorf("%s of %s can't change while the superuser has processes: remove the attribute", property, is.Name)
}

// takenUID returns an error if another account has the number.
func takenUID(a forecast.Accounts, want attributes) error {
	if want.UID == nil || ptr.Deref(want.AllowDupe, false) {
		return nil
	}
	if u, ok := a.Users.Numbered(*want.UID); ok && u.Name != want.Name {
		return fmt.Errorf("uid %d belongs to user %s: use another uid, or set allowDupe: true", *want.UID, u.Name)
	}
	if other := a.HasChosenUID(); other != "" && other != want.Name {
		return &resource.UnknownError{Reason: "the host chooses the uid of " + other}
	}
	return nil
}

func unknownGID(a forecast.Accounts, want attributes) error {
	if want.GID == nil {
		return nil
	}
	if _, ok := a.Group(want.GID); ok {
		return nil
	}
	return fmt.Errorf("gid %s does not exist on the host: declare a Group with that name or gid", want.GID)
}

func unknownGroups(a forecast.Accounts, want attributes) error {
	var errs []error
	for _, name := range want.Groups {
		if _, ok := a.Groups.Named(name); !ok {
			errs = append(errs, fmt.Errorf("groups has %s, which does not exist on the host: declare Group/%s", name, name))
		}
	}
	return errors.Join(errs...)
}

func unusableShell(h host.Reader, want attributes) error {
	if want.Shell == nil {
		return nil
	}
	info, err := h.Stat(*want.Shell)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("shell %s does not exist on the host: require the Package that installs it, or use another", *want.Shell)
		return &resource.MissingError{Kind: "File", Name: *want.Shell, Err: err}
	case err != nil:
		return fmt.Errorf("cannot look at the shell: %w", err)
	case !info.IsRegular() || info.Mode&0o111 == 0:
		return fmt.Errorf("shell %s is not an executable file: use another", *want.Shell)
	}
	return nil
}

// nothingToLock returns the error of locking an account without a line in shadow, which usermod reports as success.
func nothingToLock(want attributes, hasLine bool) error {
	if hasLine || !*want.Locked || want.Password != nil {
		return nil
	}
	return fmt.Errorf("locked: true requires a line in %s, which the account does not have: set password or passwordFrom, or run pwconv", accounts.ShadowFile)
}

// nothingToUnlock returns the error of unlocking an account without a password, which usermod reports as
// success. hash is the present one.
func nothingToUnlock(want attributes, hash string) error {
	if want.Locked == nil || *want.Locked || want.Password != nil || hash != "" {
		return nil
	}
	return errors.New("locked: false requires a password, which the account does not have: set password or passwordFrom")
}
