package sandbox

import "golang.org/x/sys/unix"

// deniedHere are further system calls that are denied, which only this architecture has.
func deniedHere() []uint32 { return []uint32{unix.SYS_INOTIFY_INIT} }
