// Package selection finds the kinds and resources named by command-line arguments.
package selection

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// Kind finds a kind by its name in any case, or by its plural: File, file, files.
func Kind(kinds []resource.Kind, name string) (resource.Kind, error) {
	for _, k := range kinds {
		if strings.EqualFold(k.Name(), name) || strings.EqualFold(k.Name()+"s", name) {
			return k, nil
		}
	}
	return nil, fmt.Errorf("unknown kind %q: use one of %s", name, KindNames(kinds))
}

// KindNames lists the names of kinds.
func KindNames(kinds []resource.Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name())
	}
	return strings.Join(names, ", ")
}
