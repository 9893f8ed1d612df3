package revision

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/text"
)

// namePrefix precedes the hash in the name of a CatalogRevision.
const namePrefix = "sha256-"

// hash matches the beginning of a hash. It is never changed.
var hash = regexp.MustCompile(`^[0-9a-f]+$`)

// Find returns the name that a word stands for: itself, or the only one whose hash begins with it.
func Find(word string, names []string) (string, error) {
	start := strings.ToLower(strings.TrimPrefix(word, namePrefix))
	if !hash.MatchString(start) {
		return "", fmt.Errorf("%q is not a CatalogRevision: write its name, or the beginning of the hash in it", word)
	}
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, namePrefix+start) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no CatalogRevision begins with %q: see kubectl get catalogrevisions", word)
	case 1:
		return found[0], nil
	}
	slices.Sort(found)
	return "", fmt.Errorf("%q is the beginning of %s: write more of it", word, text.List(found))
}
