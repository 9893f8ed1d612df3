package debian

// The decisions that hide behind the doors of this package, for their tables.
var (
	DebianMirror   = debianMirror
	SystemdCgroups = systemdCgroups
)
