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
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Write implements [resource.Provider]: it creates an account with all attributes, removes it, or
// changes its properties one by one.
func (useradd) Write(ctx context.Context, h resource.Writer, is, want attributes, changes []resource.Change) error {
	return resource.Simple[attributes]{Create: create, Update: update, Delete: remove}.Write(ctx, h, is, want, changes)
}

func update(ctx context.Context, h resource.Writer, is, want attributes, changes []resource.Change) error {
	groups, err := accounts.ReadGroups(h)
	if err != nil {
		return err
	}
	return resource.OneByOne(changes, func(property string) error { return change(ctx, h, groups, is, want, property) })
}

func create(ctx context.Context, h resource.Writer, _, want attributes) error {
	groups, err := accounts.ReadGroups(h)
	if err != nil {
		return err
	}
	err = errors.Join(unknownGID(groups, want), unknownGroups(groups, want), unusableShell(h, want), nothingToUnlock(want, ""))
	if err == nil {
		err = accounts.Run(ctx, h, host.Cmd{Args: creation(groups, want)}, takenUID())
	}
	if err == nil && want.Password != nil {
		err = setPassword(ctx, h, want)
	}
	if err == nil {
		err = age(ctx, h, want, ageOptions(want, ""))
	}
	if err != nil {
		return fmt.Errorf("cannot create user %s: %w", want.Name, err)
	}
	return nil
}

func change(ctx context.Context, h resource.Writer, groups accounts.Groups, is, want attributes, property string) error {
	if err := precheck(h, groups, want, property); err != nil {
		return err
	}
	switch property {
	case "password":
		return setPassword(ctx, h, want)
	case "passwordMinAge", "passwordMaxAge", "passwordWarnDays":
		return age(ctx, h, want, ageOptions(want, property))
	}
	options := modification(groups, want, property)
	if property == "home" && ptr.Deref(want.MoveHome, false) {
		moves, err := movesHome(h, is, want)
		if err != nil {
			return err
		}
		options = append(options, moves...)
	}
	args := slices.Concat([]string{"usermod"}, options, []string{"--", want.Name})
	return accounts.Run(ctx, h, host.Cmd{Args: args}, takenUID())
}

// movesHome returns the option that moves a home directory, or nil if there is none to move:
// usermod would change the account before it notices that.
func movesHome(h host.Reader, is, want attributes) ([]string, error) {
	if _, err := h.Lstat(*want.Home); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, fmt.Errorf("cannot move the home directory to %s, which already exists: move it away, or remove moveHome", *want.Home))
	}
	info, err := h.Lstat(*is.Home)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	return []string{"--move-home"}, err
}

// precheck returns an error if the host does not allow a change of a property.
func precheck(h host.Reader, groups accounts.Groups, want attributes, property string) error {
	switch property {
	case "gid":
		return unknownGID(groups, want)
	case "groups":
		return unknownGroups(groups, want)
	case "shell":
		return unusableShell(h, want)
	case "locked":
		shadow, err := accounts.ReadShadow(h)
		if err != nil {
			return err
		}
		is, _ := shadow.Hash(want.Name)
		return nothingToUnlock(want, strings.TrimLeft(is, lock))
	}
	return nil
}

// nothingToUnlock returns the error of unlocking an account without a password, which usermod reports as
// success. hash is the present one.
func nothingToUnlock(want attributes, hash string) error {
	if want.Locked == nil || *want.Locked || want.Password != nil || hash != "" {
		return nil
	}
	return errors.New("locked: false requires a password, which the account does not have: set password or passwordFrom")
}

// setPassword passes the hash on standard input, because everybody can read arguments.
func setPassword(ctx context.Context, h host.Host, want attributes) error {
	return accounts.Run(ctx, h, host.Cmd{
		Args:  []string{"chpasswd", "--encrypted"},
		Stdin: []byte(want.Name + ":" + shadowHash(want) + "\n"),
	}, nil)
}

// homeLeft is the exit code of userdel if it could not remove the home directory or the mail spool,
// or if one of them did not exist.
const homeLeft = 12

func remove(ctx context.Context, h resource.Writer, is, want attributes) error {
	if is.UID != nil && *is.UID == 0 {
		if err := unconfirmed(want); err != nil {
			return err
		}
	}
	args := []string{"userdel"}
	if ptr.Deref(want.ManageHome, false) {
		args = append(args, "--remove")
	}
	err := accounts.Run(ctx, h, host.Cmd{Args: append(args, "--", want.Name)}, inUse())
	if refusal, ok := errors.AsType[*accounts.ToolError](err); ok && refusal.ExitCode == homeLeft {
		err = leftBehind(h, is, refusal)
	}
	if err != nil {
		return fmt.Errorf("cannot remove user %s: %w", want.Name, err)
	}
	return nil
}

// leftBehind returns nil if the account and its home are in fact removed.
func leftBehind(h host.Reader, is attributes, refusal *accounts.ToolError) error {
	users, err := accounts.ReadUsers(h)
	if err != nil {
		return err
	}
	if _, there := users.Named(is.Name); there {
		return refusal
	}
	if _, err := h.Lstat(*is.Home); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	refusal.Remedy = fmt.Sprintf("the account was removed, but its home %s was not: remove that by hand", *is.Home)
	return refusal
}

func unknownGID(groups accounts.Groups, want attributes) error {
	if want.GID == nil {
		return nil
	}
	if _, ok := find(groups, want.GID); ok {
		return nil
	}
	return fmt.Errorf("gid %s does not exist on the host: declare a Group with that name or gid", want.GID)
}

func unknownGroups(groups accounts.Groups, want attributes) error {
	var errs []error
	for _, name := range want.Groups {
		if _, ok := groups.Named(name); !ok {
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
		return fmt.Errorf("shell %s does not exist on the host: require the Package that installs it, or use another", *want.Shell)
	case err != nil:
		return fmt.Errorf("cannot look at the shell: %w", err)
	case !info.IsRegular() || info.Mode&0o111 == 0:
		return fmt.Errorf("shell %s is not an executable file: use another", *want.Shell)
	}
	return nil
}

func takenUID() accounts.Remedies {
	return accounts.Remedies{4: "use another uid, or set allowDupe: true", 8: "end that process first"}
}

func inUse() accounts.Remedies { return accounts.Remedies{8: "end that process first"} }
