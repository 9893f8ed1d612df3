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

// Write implements [resource.Provider]: it creates an account with all attributes, removes it, or
// changes its properties one by one.
func (useradd) Write(ctx context.Context, h resource.Writer, is, want attributes, changes []resource.Change) error {
	return resource.Simple[attributes]{Create: create, Update: update, Delete: remove}.Write(ctx, h, is, want, changes)
}

func update(ctx context.Context, h resource.Writer, is, want attributes, changes []resource.Change) error {
	a, err := forecast.Read(h)
	if err != nil {
		return err
	}
	return resource.OneByOne(changes, func(property string) error { return change(ctx, h, a, is, want, property) })
}

func create(ctx context.Context, h resource.Writer, _, want attributes) error {
	groups, err := accounts.ReadGroups(h)
	if err != nil {
		return err
	}
	if err = resource.Certain(checkCreation(h, attributes{}, want)); err == nil {
		err = accounts.Run(ctx, h, host.Cmd{Args: creation(groups, want)}, remedies())
	}
	if err == nil && want.Password != nil {
		err = setPassword(ctx, h, want)
	}
	if err == nil {
		err = age(ctx, h, want, ageOptions(want, ""))
	}
	if err == nil && ptr.Deref(want.System, false) && want.Expiry != nil { // useradd ignores the expiry of a system account
		err = accounts.Run(ctx, h, host.Cmd{Args: slices.Concat([]string{"usermod"}, expireOption(want), []string{"--", want.Name})}, remedies())
	}
	if err != nil {
		return fmt.Errorf("cannot create user %s: %w", want.Name, err)
	}
	return nil
}

func change(ctx context.Context, h resource.Writer, a forecast.Accounts, is, want attributes, property string) error {
	if err := resource.Certain(checkChange(h, a, is, want, property)); err != nil {
		return err
	}
	switch property {
	case "password":
		return setPassword(ctx, h, want)
	case "locked":
		return setLock(ctx, h, a.Groups, want)
	case "passwordMinAge", "passwordMaxAge", "passwordWarnDays":
		return age(ctx, h, want, ageOptions(want, property))
	}
	options := modification(a.Groups, want, property)
	if property == "home" && ptr.Deref(want.MoveHome, false) {
		moves, err := movesHome(h, is, want)
		if err != nil {
			return err
		}
		options = append(options, moves...)
	}
	args := slices.Concat([]string{"usermod"}, options, []string{"--", want.Name})
	return accounts.Run(ctx, h, host.Cmd{Args: args}, remedies())
}

// setLock locks or unlocks a password. usermod removes one lock at a time, and other tools may have added more.
func setLock(ctx context.Context, h host.Host, groups accounts.Groups, want attributes) error {
	shadow, err := accounts.ReadShadow(h)
	hash, _ := shadow.Hash(want.Name)
	locks := len(hash) - len(strings.TrimLeft(hash, lock))
	if *want.Locked || locks == 0 {
		locks = 1
	}
	args := slices.Concat([]string{"usermod"}, modification(groups, want, "locked"), []string{"--", want.Name})
	for ; err == nil && locks > 0; locks-- {
		err = accounts.Run(ctx, h, host.Cmd{Args: args}, remedies())
	}
	return err
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
	if err := checkRemoval(h, is, want); err != nil {
		return err
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

func remedies() accounts.Remedies {
	return accounts.Remedies{4: "use another uid, or set allowDupe: true", 8: "end that process first"}
}

func inUse() accounts.Remedies { return accounts.Remedies{8: "end that process first"} }
