package file

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// labels is the feature of managing SELinux labels.
const labels resource.Feature = "manages_selinux"

// labelName is the extended attribute in which the kernel keeps the label of a file.
const labelName = "security.selinux"

// FeaturesWhere implements [resource.Conditional]. Without SELinux in the kernel nothing
// checks a label: whatever were set would be in sync and mean nothing.
func (posix) FeaturesWhere() map[resource.Feature]resource.Where {
	return map[resource.Feature]resource.Where{labels: {"os.selinux.enabled": {"true"}}}
}

// The parts of a label.
var (
	labelPart  = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	labelRange = regexp.MustCompile(`^[A-Za-z0-9_.,:-]+$`)
)

func validateLabel(a Attributes) error {
	check := func(name string, value *string, valid *regexp.Regexp) error {
		if value == nil || valid.MatchString(*value) {
			return nil
		}
		return fmt.Errorf("%s %q is no part of an SELinux label: write it as in system_u:object_r:etc_t:s0", name, *value)
	}
	return errors.Join(
		check("seluser", a.Seluser, labelPart), check("selrole", a.Selrole, labelPart),
		check("seltype", a.Seltype, labelPart), check("selrange", a.Selrange, labelRange),
	)
}

func asksForLabel(a Attributes) bool {
	return a.Seluser != nil || a.Selrole != nil || a.Seltype != nil || a.Selrange != nil
}

func labelProperty(name, doc string, field func(*Attributes) *string) resource.Property[Attributes] {
	p := resource.Field(name, doc, field)
	p.Feature = labels
	return p
}

// readLabel leaves the parts nil that the file does not have.
func readLabel(n host.Handle, is *Attributes, want Attributes) error {
	if !asksForLabel(want) && !asksFor(want, "seluser", "selrole", "seltype", "selrange") {
		return nil
	}
	raw, err := n.Xattr(labelName)
	parts := strings.SplitN(strings.TrimRight(string(raw), "\x00"), ":", 4)
	for i, part := range []**string{&is.Seluser, &is.Selrole, &is.Seltype, &is.Selrange} {
		if i < len(parts) && parts[i] != "" {
			*part = &parts[i]
		}
	}
	return cannot("read label", err)
}

// relabel sets what the resource says, and leaves the rest of the label as it is.
func (w *write) relabel(file host.WritableHandle) error {
	if !asksForLabel(w.want) {
		return nil
	}
	is := Attributes{}
	if err := readLabel(file, &is, w.want); err != nil {
		return err
	}
	label, err := mix(is, w.want)
	if err != nil || sameLabel(is, w.want) {
		return w.blameLabel(err)
	}
	return w.blameLabel(file.SetXattr(labelName, append([]byte(label), 0)))
}

// mix is the label that a file should have which has this one.
func mix(is, want Attributes) (string, error) {
	var parts []string
	for _, p := range []struct {
		name       string
		is, want   *string
		isOptional bool
	}{
		{"seluser", is.Seluser, want.Seluser, false},
		{"selrole", is.Selrole, want.Selrole, false},
		{"seltype", is.Seltype, want.Seltype, false},
		{"selrange", is.Selrange, want.Selrange, true},
	} {
		switch {
		case p.want != nil:
			parts = append(parts, *p.want)
		case p.is != nil:
			parts = append(parts, *p.is)
		case !p.isOptional:
			return "", fmt.Errorf("the file has no label whose %s could stay: say seluser, selrole and seltype", p.name)
		}
	}
	return strings.Join(parts, ":"), nil
}

func sameLabel(is, want Attributes) bool {
	for _, p := range [][2]*string{{is.Seluser, want.Seluser}, {is.Selrole, want.Selrole}, {is.Seltype, want.Seltype}, {is.Selrange, want.Selrange}} {
		if p[1] != nil && (p[0] == nil || *p[0] != *p[1]) {
			return false
		}
	}
	return true
}

// blameLabel makes an error that of each part that is to change: they are one label.
func (w *write) blameLabel(err error) error {
	if err == nil {
		return nil
	}
	var errs []error
	for _, part := range []string{"seluser", "selrole", "seltype", "selrange"} {
		if w.changes.has(part) {
			errs = append(errs, &resource.PropertyError{Property: part, Err: err})
		}
	}
	if errs == nil {
		return cannot("set label", err)
	}
	return errors.Join(errs...)
}
