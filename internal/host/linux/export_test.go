package linux

import "github.com/fettle-dev/fettle/internal/host"

// HoldWatch keeps a watch from reading events until the returned function is called.
func HoldWatch(w host.Watch) (release func()) {
	own := w.(*watch)
	own.mu.Lock()
	return own.mu.Unlock
}

// Closed is an access list as a staged file has it until its mode is set.
func Closed(list []byte) []byte { return closed(list) }
