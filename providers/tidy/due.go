package tidy

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
)

// Values of type.
const (
	mtime = "mtime"
	ctime = "ctime"
)

// sizes matches a size: its number and the letter of its unit.
var sizes = regexp.MustCompile(`^([1-9][0-9]{0,17})(?:([bkmgtBKMGT])|([KMGT])i)$`)

// parseSize returns a size in bytes, or the largest one if it overflows.
func parseSize(size string) (int64, error) {
	m := sizes.FindStringSubmatch(size)
	if m == nil {
		return 0, fmt.Errorf("size %q must be a whole number above 0 and a unit, such as 512b, 100m or 1Gi", size)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	shift := 10 * strings.Index("bkmgt", strings.ToLower(m[2]+m[3]))
	if n > math.MaxInt64>>shift {
		return math.MaxInt64, err
	}
	return n << shift, err
}

// leastSize returns the desired size in bytes; nil if there is none.
func leastSize(a Attributes) (*int64, error) {
	if a.Size == nil {
		return nil, nil
	}
	n, err := parseSize(*a.Size)
	return &n, err
}

// due reports whether a file with this base name is to be removed: it matches, and is old or large
// enough if an age or size is set. least is the size in bytes, if there is one.
func due(a Attributes, least *int64, name string, info host.FileInfo, now time.Time) bool {
	switch {
	case info.IsDir() && !ptr.Deref(a.RmDirs, false), !matches(a.Matches, name):
		return false
	case a.AgeSeconds == nil && least == nil:
		return true
	}
	return isOld(a, info, now) || least != nil && info.Size >= *least
}

func isOld(a Attributes, info host.FileInfo, now time.Time) bool {
	if a.AgeSeconds == nil {
		return false
	}
	return now.Sub(since(a, info)) >= a.AgeSeconds.Duration()
}

// since returns the time when the age begins. Listing a directory updates its atime, so that it
// would never be old: its mtime counts in its place.
func since(a Attributes, info host.FileInfo) time.Time {
	switch {
	case a.Type != nil && *a.Type == ctime:
		return info.ChangeTime
	case a.Type != nil && *a.Type == mtime, info.IsDir():
		return info.ModTime
	}
	return info.AccessTime
}

// matches reports whether a base name matches one of the patterns, in which a leading dot is not
// special. No patterns match all names.
func matches(patterns []string, name string) bool {
	return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(glob(p), name)
		return ok && err == nil
	})
}
