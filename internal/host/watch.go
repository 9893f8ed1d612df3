package host

// A Watcher is a host that reports changes as they happen. It is an optional interface: other hosts have to be
// checked at intervals.
type Watcher interface {
	// Watch starts a watch of no paths. The caller closes it.
	Watch() (Watch, error)
}

// A Watch reports which paths may have changed. It is a hint to check them: there may be no change, or only the
// caller's own. Writes to a file are reported when its writer closes it. Changes through another hard link, and renames
// of directories further up, are missed. It is safe for concurrent use.
type Watch interface {
	// Follow watches these paths and no others. A path need not exist; one that ends in a
	// slash includes the files directly in that directory. A symlink at the end of a path is
	// not followed. If directories above a path appear or disappear, the path is reported as changed,
	// and the caller calls Follow again. The error names the paths that can't be watched; the
	// others are watched.
	Follow(paths []string) error
	// Ready receives when Take has something to return.
	Ready() <-chan struct{}
	// Take returns the paths, sorted, that may have changed between the last call and
	// this one.
	Take() []string
	// Begun returns, of the paths of the last call of Take, the ones whose latest event is their creation: who created a file may
	// still be writing it. What is written in one step, such as a link, is among them.
	Begun() map[string]bool
	// Authors returns, by path, the last process that changed it since the previous call, as far as such a process is known. Neither
	// this process nor what it started is an author.
	Authors() map[string]*Author
	Close() error
}
