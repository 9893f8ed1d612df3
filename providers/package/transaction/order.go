package transaction

import (
	"fmt"

	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
)

// An Action is an operation of apt-get on a package.
type Action string

// The actions.
const (
	Install Action = "install"
	Remove  Action = "remove"
	Purge   Action = "purge"
)

// An Order is one package with the necessary action.
type Order struct {
	Index    int    // of the resource in its batch
	Name     string // as apt prints it
	Action   Action
	From     string // version before
	Version  string // to install; "" for any
	Pinned   bool   // apt-get gets the version, instead of choosing it
	File     string // to install; "" takes the package from the index
	Settings apt.Settings
}

// Done reports whether the order was carried out. The version that apt-get chose may be another
// one than the index promised, if its options say so.
func (o Order) Done(is dpkg.Package) bool {
	switch {
	case is.Damage() != nil:
		return false
	case o.Action == Remove:
		return !is.Installed() && !is.Unfinished()
	case o.Action == Purge:
		return is.Purged()
	case o.Pinned || is.Version == o.From:
		return is.Installed() && (o.Version == "" || is.Version == o.Version)
	default:
		return is.Installed()
	}
}

// Failed returns the error of an order that left the package in a state. why is the reason, if it
// is known.
func (o Order) Failed(why error, state string) error {
	if why == nil {
		return fmt.Errorf("cannot %s package %q: apt-get succeeded, but it is %s", o.verb(), o.Name, state)
	}
	return fmt.Errorf("cannot %s package %q: %w", o.verb(), o.argument(), why)
}

func (o Order) verb() string {
	if o.Settings.Reinstall {
		return "reinstall"
	}
	return string(o.Action)
}

func (o Order) argument() string {
	switch {
	case o.File != "":
		return o.File
	case o.Pinned:
		return o.Name + "=" + o.Version
	}
	return o.Name
}
