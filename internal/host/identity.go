package host

import "fmt"

// Identity tells a name in a directory from all others of a host, whatever path leads to it.
func Identity(dir FileInfo, name string) string {
	return fmt.Sprintf("%d:%d/%s", dir.Dev, dir.Ino, name)
}
