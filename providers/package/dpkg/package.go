package dpkg

import "fmt"

const notInstalled = "not-installed"

// A Package is the state of one package in dpkg's database.
type Package struct {
	Name, Arch, Version string
	Want, Flag, State   string // the three words of Status
	provides            string // as in the control file
}

// Installed reports whether the package is installed and works.
func (p Package) Installed() bool {
	switch p.State {
	case "installed", "triggers-awaited", "triggers-pending":
		return true
	}
	return false
}

// Unfinished reports whether dpkg was interrupted while it installed the package: its files are
// there, but it does not work.
func (p Package) Unfinished() bool {
	switch p.State {
	case "half-installed", "unpacked", "half-configured":
		return true
	}
	return false
}

// Purged reports whether not even the configuration of the package is there.
func (p Package) Purged() bool { return p.State == notInstalled }

// Held reports whether the package is held at its version.
func (p Package) Held() bool { return p.Want == "hold" }

// Damage returns an error if dpkg has flagged the package as damaged.
func (p Package) Damage() error {
	if p.Flag == "" || p.Flag == "ok" {
		return nil
	}
	return fmt.Errorf("package %q is damaged, dpkg calls it %s: repair it with apt-get install --reinstall %s", p.Name, p.Flag, p.Name)
}

// versionOfFiles returns the version whose files are present; "" without files.
func (p Package) versionOfFiles() string {
	if p.Installed() || p.Unfinished() {
		return p.Version
	}
	return ""
}
