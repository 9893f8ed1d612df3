package host

// A Watcher is a host that can tell of changes as they happen. It is an optional
// ability: one that lacks it is looked at from time to time.
type Watcher interface {
	// Watch begins a watch of nothing yet. The caller closes it.
	Watch() (Watch, error)
}

// A Watch tells which of some paths may have changed. That is a hint to look: a change
// may be none, or one's own. What is done to a file's content counts once its writer
// closes it, and a change by another hard link, or of a directory further up that is
// renamed, goes unnoticed. Safe for concurrent use.
type Watch interface {
	// Follow makes it a watch of these paths and of no others. A path is what has that
	// name, whether or not it exists yet; one that ends in a slash is also what is
	// directly in that directory. A symlink is not followed at the end of a path. Where
	// directories above a path come and go, it is told as changed and is to be followed
	// again. What can't be watched is an error that names it; the rest is watched all
	// the same.
	Follow(paths []string) error
	// Ready receives when there is something to take.
	Ready() <-chan struct{}
	// Take returns the paths, sorted, that may have changed since it was last asked, up
	// to the very moment.
	Take() []string
	Close() error
}
