package user

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Write makes an account with all that is said of it, removes it, or changes one
// property after the other.
func (useradd) Write(ctx context.Context, h host.Host, is, want attributes, changes []resource.Change) error {
	return resource.Simple[attributes]{Create: create, Update: update, Delete: remove}.Write(ctx, h, is, want, changes)
}

func update(ctx context.Context, h host.Host, _, want attributes, changes []resource.Change) error {
	groups, err := accounts.ReadGroups(h)
	if err != nil {
		return err
	}
	return resource.OneByOne(changes, func(property string) error { return change(ctx, h, groups, want, property) })
}

func create(ctx context.Context, h host.Host, _, want attributes) error {
	groups, err := accounts.ReadGroups(h)
	if err != nil {
		return err
	}
	err = errors.Join(unknownGID(groups, want), unknownGroups(groups, want), unusableShell(h, want))
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

func change(ctx context.Context, h host.Host, groups accounts.Groups, want attributes, property string) error {
	if err := obstacle(h, groups, want, property); err != nil {
		return err
	}
	switch property {
	case "password":
		return setPassword(ctx, h, want)
	case "passwordMinAge", "passwordMaxAge", "passwordWarnDays":
		return age(ctx, h, want, ageOptions(want, property))
	}
	args := slices.Concat([]string{"usermod"}, modification(groups, want, property), []string{"--", want.Name})
	return accounts.Run(ctx, h, host.Cmd{Args: args}, takenUID())
}

// obstacle is what on the host is in the way of a property, nil if nothing.
func obstacle(h host.Reader, groups accounts.Groups, want attributes, property string) error {
	switch property {
	case "gid":
		return unknownGID(groups, want)
	case "groups":
		return unknownGroups(groups, want)
	case "shell":
		return unusableShell(h, want)
	}
	return nil
}

// setPassword hands the hash over on standard input: arguments are for all to read.
func setPassword(ctx context.Context, h host.Host, want attributes) error {
	return accounts.Run(ctx, h, host.Cmd{
		Args:  []string{"chpasswd", "--encrypted"},
		Stdin: []byte(want.Name + ":" + *want.Password + "\n"),
	}, nil)
}

// homeLeft is the exit code of userdel when there was something about the home
// directory or the mail spool, be it only that there was none.
const homeLeft = 12

func remove(ctx context.Context, h host.Host, is, want attributes) error {
	args := []string{"userdel"}
	if isTrue(want.ManageHome) {
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

// leftBehind returns nil if the account and its home are gone after all.
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
	refusal.Remedy = fmt.Sprintf("the account is gone, its home %s is not: remove that by hand", *is.Home)
	return refusal
}

func unknownGID(groups accounts.Groups, want attributes) error {
	if want.GID == nil {
		return nil
	}
	if _, ok := find(groups, want.GID); ok {
		return nil
	}
	return fmt.Errorf("gid %s is no group of the host: declare a Group with that name or gid", want.GID)
}

func unknownGroups(groups accounts.Groups, want attributes) error {
	var errs []error
	for _, name := range want.Groups {
		if _, ok := groups.Named(name); !ok {
			errs = append(errs, fmt.Errorf("groups has %s, which is no group of the host: declare Group/%s", name, name))
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
		return fmt.Errorf("shell %s is not on the host: require the Package that brings it, or choose another", *want.Shell)
	case err != nil:
		return fmt.Errorf("cannot look at the shell: %w", err)
	case !info.IsRegular() || info.Mode&0o111 == 0:
		return fmt.Errorf("shell %s is not an executable file: choose another", *want.Shell)
	}
	return nil
}

func takenUID() accounts.Remedies {
	return accounts.Remedies{4: "choose another uid, or set allowDupe: true", 8: "end that process first"}
}

func inUse() accounts.Remedies { return accounts.Remedies{8: "end that process first"} }
