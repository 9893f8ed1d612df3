// Package confirm requires a confirmation of changes that destroy data.
package confirm

import (
	"fmt"
	"path"
	"slices"
)

// systemDirectories are the directories without which a host does not work.
var systemDirectories = []string{
	"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/proc", "/root", "/run", "/sbin", "/sys",
	"/usr", "/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/sbin", "/usr/share", "/var", "/var/lib",
}

// IsSystemDirectory reports whether removing a directory or its contents destroys a host.
func IsSystemDirectory(dir string) bool { return slices.Contains(systemDirectories, path.Clean(dir)) }

// Check returns nil if confirm repeats the name of the object that would be destroyed. Otherwise the
// error begins with harm, a clause that describes the damage, and ends with how to confirm it.
func Check(confirm *string, name, harm string) error {
	if confirm != nil && *confirm == name {
		return nil
	}
	return fmt.Errorf("%s if that is intended, set confirm: %s", harm, name)
}
