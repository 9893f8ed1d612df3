package v1alpha1

import "fmt"

// selectByNode converts the field selectors of NodeReports.
func selectByNode(label, value string) (field, converted string, err error) {
	switch label {
	case FieldNode, "metadata.name":
		return label, value, nil
	}
	return "", "", fmt.Errorf("field %q cannot be selected: use %s=NAME", label, FieldNode)
}
