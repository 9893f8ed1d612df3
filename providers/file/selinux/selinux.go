// Package selinux reads and changes the SELinux labels of files.
package selinux

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// attribute is the extended attribute in which the kernel stores the label of a file.
const attribute = "security.selinux"

// A Label is the label of a file, or the managed parts of one. A part is nil if the file
// lacks it, or if it is not managed.
type Label struct{ User, Role, Type, Range *string }

// A part is a part of a label with the name of its attribute.
type part struct {
	name  string
	value *string
}

func (l Label) parts() [4]part {
	return [4]part{{"seluser", l.User}, {"selrole", l.Role}, {"seltype", l.Type}, {"selrange", l.Range}}
}

// Managed reports whether any part of the label is managed.
func (l Label) Managed() bool { return l != Label{} }

// Read returns the label of a file. It is empty where the file has none.
func Read(file host.Handle) (Label, error) {
	var l Label
	raw, err := file.Xattr(attribute)
	if err != nil {
		return l, fmt.Errorf("cannot read label: %w", err)
	}
	parts := strings.SplitN(strings.TrimRight(string(raw), "\x00"), ":", 4)
	for i, part := range []**string{&l.User, &l.Role, &l.Type, &l.Range} {
		if i < len(parts) && parts[i] != "" {
			*part = &parts[i]
		}
	}
	return l, nil
}

// Apply sets the parts of want and preserves the rest of the file's label.
func Apply(file host.WritableHandle, want Label) error {
	if !want.Managed() {
		return nil
	}
	is, err := Read(file)
	if err != nil || want.in(is) {
		return err
	}
	label, err := merge(is, want)
	if err != nil {
		return err
	}
	return file.SetXattr(attribute, append([]byte(label), 0))
}

// in reports whether a label has all managed parts of l.
func (l Label) in(is Label) bool {
	present := is.parts()
	for i, p := range l.parts() {
		if p.value != nil && (present[i].value == nil || *present[i].value != *p.value) {
			return false
		}
	}
	return true
}

// merge returns the text of is with the parts of want. Only the range is optional.
func merge(is, want Label) (string, error) {
	var texts []string
	present := is.parts()
	for i, p := range want.parts() {
		switch {
		case p.value != nil:
			texts = append(texts, *p.value)
		case present[i].value != nil:
			texts = append(texts, *present[i].value)
		case i < 3:
			return "", fmt.Errorf("the file has no label whose %s could stay: set seluser, selrole and seltype", p.name)
		}
	}
	return strings.Join(texts, ":"), nil
}
