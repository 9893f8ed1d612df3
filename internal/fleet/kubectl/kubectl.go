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

// AnnotateFleet is [Annotate] for the Fleet. Other programs have a kind Fleet, too, so the command names the group.
func AnnotateFleet(annotation, value string) string {
	return fmt.Sprintf("kubectl annotate fleet.%s %s %s=%s", v1alpha1.GroupVersion.Group, v1alpha1.FleetName, annotation, value)
}
