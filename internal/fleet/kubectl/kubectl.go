// Package kubectl writes commands that messages tell people to run.
package kubectl

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Annotate returns the command that sets an annotation of a resource.
func Annotate(ref v1alpha1.ResourceRef, annotation, value string) string {
	kind, name, _ := strings.Cut(string(ref), "/")
	return fmt.Sprintf("kubectl annotate %s.%s %s %s=%s", strings.ToLower(kind), v1alpha1.GroupVersionOf(kind).Group, name, annotation, value)
}
