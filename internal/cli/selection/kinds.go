// Package selection finds the kinds and resources named by command-line arguments.
package selection

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/puppet"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Kind finds a kind by its name in any case, or by its plural: File, file, files. The error suggests a similar name, or what Fettle has for a
// type of Puppet.
func Kind(kinds []resource.Kind, name string) (resource.Kind, error) {
	for _, k := range kinds {
		if strings.EqualFold(k.Name(), name) || strings.EqualFold(k.Name()+"s", name) {
			return k, nil
		}
	}
	if said := puppet.Kind(name); said != "" {
		return nil, fmt.Errorf("unknown kind %q; %s", name, said)
	}
	if similar := DidYouMean(name, names(kinds)); similar != "" {
		return nil, fmt.Errorf("unknown kind %q%s", name, similar)
	}
	return nil, fmt.Errorf("unknown kind %q: use one of %s", name, KindNames(kinds))
}

// KindNames lists the names of kinds.
func KindNames(kinds []resource.Kind) string { return strings.Join(names(kinds), ", ") }

func names(kinds []resource.Kind) []string {
	var all []string
	for _, k := range kinds {
		all = append(all, k.Name())
	}
	return all
}
