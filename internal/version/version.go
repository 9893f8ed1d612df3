// Package version knows which Fettle this binary is.
//
// `make build` links the version in. A binary built in any other way (go install,
// go test) falls back to what the Go toolchain recorded, so that String is never empty.
package version

import (
	"cmp"
	"runtime/debug"
)

// linked is set with -ldflags "-X github.com/fettle-dev/fettle/internal/version.linked=v1.2.3".
var linked string

// unknown is what a binary calls itself that carries no version at all.
const unknown = "devel"

// String returns the version of this binary, such as "v1.2.3" or "v1.2.3-4-gab12cd3-dirty";
// "devel" when nothing is known. It never fails and is safe for concurrent use.
func String() string {
	info, _ := debug.ReadBuildInfo()
	return pick(linked, info)
}

// pick prefers the linked version, then the module's, then the commit it was built from.
// A nil info is one that says nothing.
func pick(linked string, info *debug.BuildInfo) string {
	if linked != "" || info == nil {
		return cmp.Or(linked, unknown)
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return cmp.Or(commit(info.Settings), unknown)
}

// commit returns the first 12 digits of the recorded revision, with "-dirty" if the tree
// was changed; "" if none was recorded.
func commit(settings []debug.BuildSetting) string {
	var revision, suffix string
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			suffix = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + suffix
}
