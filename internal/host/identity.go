package host

import "fmt"

// Identity identifies a name in a directory of a host, whatever path leads to it.
func Identity(dir FileInfo, name string) string {
	return fmt.Sprintf("%d:%d/%s", dir.Dev, dir.Ino, name)
}
