package walk

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// ValidateIgnore rejects patterns that are not shell globs of base names.
func ValidateIgnore(patterns []string) error {
	for _, p := range patterns {
		switch _, err := path.Match(glob(p), ""); {
		case err != nil || p == "":
			return fmt.Errorf("ignore %q is not a valid shell glob: write it as *.swp or [._]*", p)
		case strings.Contains(p, "/"):
			return fmt.Errorf("ignore %q contains a /, but is matched against base names: remove it, as in *.swp", p)
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
