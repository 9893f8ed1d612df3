package forecast

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
)

// The files with the defaults of useradd and userdel.
const (
	useraddFile   = "/etc/default/useradd"
	loginDefsFile = "/etc/login.defs"
)

// usersGroup is the number of the primary group of a new user without one of its own, if the host does not say.
const usersGroup = 100

// Defaults are what useradd and userdel do on a host if they are not told otherwise.
type Defaults struct {
	Skeleton   string // the directory whose contents new homes get
	Homes      string // the directory of homes
	Group      string // the primary group of a new user without a group of its own, by name or number
	UserGroups bool   // whether a group comes and goes with the user of the same name
}

// readDefaults reads the defaults as the tools do: the last one of several counts.
func readDefaults(h host.Reader) (Defaults, error) {
	d := Defaults{Homes: "/home", Skeleton: "/etc/skel"}
	useradd, err := readLines(h, useraddFile)
	if err != nil {
		return d, err
	}
	for _, line := range useradd {
		if name, value, assigned := strings.Cut(line, "="); assigned {
			d.set(name, value)
		}
	}
	login, err := readLines(h, loginDefsFile)
	for _, line := range login {
		line = strings.TrimLeft(line, " \t")
		if i := strings.IndexAny(line, " \t"); i > 0 && line[:i] == "USERGROUPS_ENAB" {
			d.UserGroups = strings.EqualFold(strings.Trim(line[i:], " \t\""), "yes")
		}
	}
	return d, err
}

func (d *Defaults) set(name, value string) {
	switch name {
	case "HOME":
		d.Homes = value
	case "GROUP":
		d.Group = value
	case "SKEL":
		d.Skeleton = value
	}
}

func readLines(h host.Reader, file string) ([]string, error) {
	data, err := h.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Split(string(data), "\n"), err
}

// HomeOf returns the home of a new user.
func (a Accounts) HomeOf(want v1alpha1.UserAttributes) string {
	if want.Home != nil {
		return *want.Home
	}
	return path.Clean(a.Defaults.Homes + "/" + want.Name)
}

// defaultGroup returns the number of the primary group of a new user without one of its own.
func (a Accounts) defaultGroup() int64 {
	g, ok := a.Groups.Named(a.Defaults.Group)
	if n, number := accounts.Number(a.Defaults.Group); number {
		g, ok = a.Groups.Numbered(n)
	}
	if ok {
		return g.GID
	}
	return usersGroup
}
