package pkg

import (
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
)

// installed reports whether the package is there and works.
func (r record) installed() bool {
	switch r.state {
	case "installed", "triggers-awaited", "triggers-pending":
		return true
	}
	return false
}

// unfinished reports whether dpkg stopped amid installing the package, which leaves its files
// there and the package not working.
func (r record) unfinished() bool {
	switch r.state {
	case "half-installed", "unpacked", "half-configured":
		return true
	}
	return false
}

// held reports whether someone keeps the package at its version.
func (r record) held() bool { return r.want == hold }

// ensure is the state in the words of the property.
func (r record) ensure() string {
	switch {
	case r.damage() != nil:
		return damaged
	case r.installed():
		return r.version
	case r.unfinished():
		return r.state
	case r.state == "not-installed":
		return purged
	default:
		return resource.Absent
	}
}

// damage is what dpkg says is wrong with the package, nil if nothing.
func (r record) damage() error {
	if r.flag == "" || r.flag == "ok" {
		return nil
	}
	return fmt.Errorf("package %q is damaged, dpkg calls it %s: mend it with apt-get install --reinstall %s", r.name, r.flag, r.name)
}

// mark is the property's value. What is not there is not held, whatever dpkg was told
// to do once it comes.
func (r record) mark() string {
	if r.held() && r.installed() {
		return hold
	}
	return none
}

// attributes are the state of the package under the name that it was asked by.
func (r record) attributes(name string) Attributes {
	var a Attributes
	a.Name = name
	a.Ensure = new(r.ensure())
	a.Mark = new(r.mark())
	a.found.damage = r.damage()
	a.found.unfinished = r.unfinished()
	return a
}
