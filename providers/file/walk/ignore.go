package walk

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// ValidateIgnore rejects patterns that are not shell globs of base names. It repeats the schema's rule about slashes, because such a
// pattern would match nothing, and a purge remove what it was meant to spare.
func ValidateIgnore(patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(glob(p), ""); err != nil || strings.Contains(p, "/") {
			return fmt.Errorf("ignore %q is not a shell glob for base names: write it as *.swp or [._]*", p)
		}
	}
	return nil
}

// ignored reports whether a base name matches a pattern. As in a shell, a leading dot must be
// matched explicitly.
func ignored(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(p, ".") && !strings.HasPrefix(p, `\.`) {
			return false
		}
		matches, err := path.Match(glob(p), name)
		return matches && err == nil
	})
}

// glob replaces the shell's [!a] by [^a], which [path.Match] understands.
func glob(pattern string) string { return strings.ReplaceAll(pattern, "[!", "[^") }
