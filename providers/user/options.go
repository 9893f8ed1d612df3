package user

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/accounts"
)

// creation returns the command that creates an account, without its password and its ageing.
func creation(groups accounts.Groups, want attributes) []string {
	args := []string{"useradd"}
	if want.UID != nil {
		args = append(args, uid(want)...)
	}
	args = append(args, primaryOption(groups, want)...)
	if names := secondary(groups, want); len(names) > 0 {
		args = append(args, "--groups", strings.Join(names, ","))
	}
	args = append(args, optional("--home-dir", want.Home)...)
	args = append(args, optional("--comment", want.Comment)...)
	args = append(args, optional("--shell", want.Shell)...)
	if ptr.Deref(want.System, false) {
		args = append(args, "--system")
	} else {
		args = append(args, expireOption(want)...)
	}
	return append(args, homeOption(want), "--", want.Name)
}

// modification returns the options of usermod that set a property.
func modification(groups accounts.Groups, want attributes, property string) []string {
	switch property {
	case "uid":
		return uid(want)
	case "gid":
		return []string{"--gid", want.GID.String()}
	case "groups":
		return membership(groups, want)
	case "home":
		return optional("--home", want.Home)
	case "locked":
		return []string{lockOption(want)}
	case "expiry":
		return expireOption(want)
	case "comment":
		return optional("--comment", want.Comment)
	default:
		return optional("--shell", want.Shell)
	}
}

func optional(option string, value *string) []string {
	if value == nil {
		return nil
	}
	return []string{option, *value}
}

func uid(want attributes) []string {
	args := []string{"--uid", strconv.FormatInt(*want.UID, 10)}
	if ptr.Deref(want.AllowDupe, false) {
		args = append(args, "--non-unique")
	}
	return args
}

// primaryOption returns the option for the desired primary group, or for the one of the account's
// own name if it exists: useradd would fail to create it again.
func primaryOption(groups accounts.Groups, want attributes) []string {
	if want.GID != nil {
		return []string{"--gid", want.GID.String()}
	}
	if _, ok := groups.Named(want.Name); ok {
		return []string{"--gid", want.Name}
	}
	return nil
}

// membership adds the groups to the groups of the account, including one that it was added to a moment
// ago, or replaces them.
func membership(groups accounts.Groups, want attributes) []string {
	list := strings.Join(secondary(groups, want), ",")
	if isMinimum(want) {
		return []string{"--append", "--groups", list}
	}
	return []string{"--groups", list}
}

// secondary returns the desired groups without the desired primary one.
func secondary(groups accounts.Groups, want attributes) []string {
	if want.GID == nil {
		return want.Groups
	}
	primary, _ := find(groups, want.GID)
	return slices.DeleteFunc(slices.Clone(want.Groups), func(name string) bool { return name == primary.Name })
}

// homeOption is always set, because the defaults of hosts differ.
func homeOption(want attributes) string {
	if ptr.Deref(want.ManageHome, false) {
		return "--create-home"
	}
	return "--no-create-home"
}

// lock is the prefix of a locked hash.
const lock = "!"

func lockOption(want attributes) string {
	if ptr.Deref(want.Locked, false) {
		return "--lock"
	}
	return "--unlock"
}

// shadowHash returns the desired password field of /etc/shadow.
func shadowHash(want attributes) string {
	if ptr.Deref(want.Locked, false) {
		return lock + *want.Password
	}
	return *want.Password
}
