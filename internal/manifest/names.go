package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/structural"
	"github.com/fettle-dev/fettle/internal/text"
)

// rewordMetadata rewords an API server's error about metadata. If metadata.name has the name of a user or file, the error says where that
// belongs, because users and files do not follow the rules for names of objects.
func (k kindSchema) rewordMetadata(f *field.Error, object map[string]any) fieldError {
	name, isText := f.BadValue.(string)
	if f.Field != "metadata.name" || f.Type != field.ErrorTypeInvalid || !isText || len(name) > validation.DNS1123SubdomainMaxLength {
		return fieldError{f.Field, structural.Message(f)}
	}
	said := fmt.Sprintf("Invalid value: %q: the name of an object has lower-case letters, digits, - and ., and begins and ends with a letter or digit", name)
	return fieldError{f.Field, said + k.remedyForName(name, object)}
}

// remedyForName proposes a valid name, and the attribute for the invalid one.
func (k kindSchema) remedyForName(name string, object map[string]any) string {
	valid := objectName(name)
	if valid == "" {
		return ""
	}
	remedy := ": write metadata.name: " + valid
	if k.namevar == "" {
		return remedy
	}
	if _, set := lookup(object, k.namevar); set || text.Line(name) != name { // nothing on a host has a name of several lines
		return remedy
	}
	return fmt.Sprintf("%s and %s: %s", remedy, k.namevar, name)
}

// notInNames matches what labels of an object's name can't contain. It is never changed.
var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// objectName is the valid name of an object that is similar to a name: /etc/motd becomes etc-motd. It is "" if there is none.
func objectName(name string) string {
	var labels []string
	for label := range strings.SplitSeq(strings.ToLower(name), ".") {
		if label = strings.Trim(notInNames.ReplaceAllString(label, "-"), "-"); label != "" {
			labels = append(labels, label)
		}
	}
	valid := strings.Join(labels, ".")
	if len(apivalidation.NameIsDNSSubdomain(valid, false)) > 0 {
		return ""
	}
	return valid
}

// namevarOf returns the field of a built-in kind for the name on the host; "" if a kind has none.
func (k kindSchema) namevarOf() string {
	if k.at("spec.name") != nil {
		return "spec.name"
	}
	// An Exec has a path, too, for its commands.
	if of := k.at("spec"); of != nil && of.ValueValidation != nil && slices.Contains(of.ValueValidation.Required, "path") {
		return "spec.path"
	}
	return ""
}

// externalNamevar returns the field of an external type for the name on the host; "" if several make the name.
func externalNamevar(d *definition.Definition) string {
	if all := d.Namevars(); len(all) == 1 {
		return "spec.properties." + all[0].Name
	}
	return ""
}
