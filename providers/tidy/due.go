package tidy

import (
	"path"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// What an age counts from.
const (
	mtime = "mtime"
	ctime = "ctime"
)

// due reports whether what has this base name is to go: what matches, and is old enough
// or large enough where that is asked for.
func due(a Attributes, name string, info host.FileInfo, now time.Time) bool {
	switch {
	case info.IsDir() && !isTrue(a.RmDirs), !matches(a.Matches, name):
		return false
	case a.AgeSeconds == nil && a.Size == nil:
		return true
	}
	return isOld(a, info, now) || a.Size != nil && a.Size.CmpInt64(info.Size) <= 0
}

func isOld(a Attributes, info host.FileInfo, now time.Time) bool {
	if a.AgeSeconds == nil {
		return false
	}
	return now.Sub(since(a, info)) >= seconds(*a.AgeSeconds)
}

// seconds is a duration; one that is too long for the type is longer than any age.
func seconds(n int64) time.Duration {
	const most = (1<<63 - 1) / int64(time.Second)
	return time.Duration(min(n, most)) * time.Second
}

// since is when the age began. To look into a directory is to read it, so the directory's
// atime would never be old: when something in it last came or went counts for it.
func since(a Attributes, info host.FileInfo) time.Time {
	switch {
	case a.Type != nil && *a.Type == ctime:
		return info.ChangeTime
	case a.Type != nil && *a.Type == mtime, info.IsDir():
		return info.ModTime
	}
	return info.AccessTime
}

// matches reports whether a base name matches one of the patterns, a dot at the beginning
// like any other letter. No patterns match all names.
func matches(patterns []string, name string) bool {
	return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(glob(p), name)
		return ok && err == nil
	})
}
