package file

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/filemode"
)

// properties in the order of need: a file is there before it has an owner, and its
// mode comes last because a change of owner clears the set-ID bits.
func properties() []resource.Property[Attributes] {
	return []resource.Property[Attributes]{
		ensureProperty(),
		contentProperty(),
		targetProperty(),
		idProperty("owner", "The user that it belongs to, by name or number; of a link, the link's own.",
			func(a Attributes) *intstr.IntOrString { return a.Owner }),
		idProperty("group", "The group that it belongs to, by name or number; of a link, the link's own.",
			func(a Attributes) *intstr.IntOrString { return a.Group }),
		modeProperty(),
		labelProperty("seluser", "The user of its SELinux label.", func(a *Attributes) *string { return a.Seluser }),
		labelProperty("selrole", "The role of its SELinux label.", func(a *Attributes) *string { return a.Selrole }),
		labelProperty("seltype", "The type of its SELinux label.", func(a *Attributes) *string { return a.Seltype }),
		labelProperty("selrange", "The level of its SELinux label, or the range of them.", func(a *Attributes) *string { return a.Selrange }),
	}
}

func ensureProperty() resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name:    resource.Ensure,
		Doc:     "What is at the path: file, directory, link, absent, or present for anything. content implies file, target implies link.",
		Managed: func(want Attributes) bool { return want.Ensure != nil },
		InSync:  func(is, want Attributes) bool { return ensured(is.found.what, want) },
		Show: func(a Attributes) string {
			if a.found.what != "" {
				return string(a.found.what)
			}
			return wants(a)
		},
	}
}

// ensured takes anything for present, and for a file that is not to be replaced.
func ensured(is entry, want Attributes) bool {
	switch {
	case wants(want) == resource.Absent:
		return is == absent
	case wants(want) == resource.Present || !replaces(want):
		return is != absent
	}
	return string(is) == wants(want)
}

func replaces(want Attributes) bool { return want.Replace == nil || *want.Replace }

func contentProperty() resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name: "content",
		Doc:  "The whole content of the file. It is compared and shown by its SHA-256, or as checksum says when it comes from a source.",
		Managed: func(want Attributes) bool {
			return (want.Content != nil || want.Source != nil && !recurses(want)) && replaces(want)
		},
		InSync: func(is, want Attributes) bool {
			if want.Source != nil {
				return sourced(is)
			}
			return is.found.size == int64(len(*want.Content)) && is.found.sum == want.contentSum
		},
		Show: showContent,
		ShowShould: func(is, want Attributes) string {
			if want.Source != nil {
				return is.found.origin.show()
			}
			return showContent(want)
		},
		Sensitive: func(want Attributes) bool { return want.secret },
		WasSecret: func(is Attributes) bool { return is.found.secret },
		Token:     func(is Attributes) string { return cmp.Or(is.found.sum, is.found.showContent()) },
		Diff:      diff,
	}
}

// showContent never shows the content itself. What has none shows as what it is.
func showContent(a Attributes) string {
	switch {
	case a.found.what == regular:
		return a.found.showContent()
	case a.found.what != "" && a.found.what != absent:
		return string(a.found.what)
	case a.found.what == "" && a.Content != nil:
		return "{sha256}" + a.contentSum
	}
	return ""
}

// showContent is by what the content was compared.
func (f found) showContent() string {
	switch {
	case f.sum == "" && !f.origin.modified.IsZero():
		return showTime(f.info.ModTime)
	case f.sum == "" && f.size > maxUnequal:
		return fmt.Sprintf("{size}%d", f.size)
	case f.sum == "":
		return ""
	case f.origin.sum != "":
		return "{" + f.origin.algorithm + "}" + f.sum
	}
	return "{sha256}" + f.sum
}

func targetProperty() resource.Property[Attributes] {
	p := resource.Field("target", "The text of the link: what it leads to, which need not be there.",
		func(a *Attributes) *string { return a.Target })
	p.Managed = func(want Attributes) bool { return want.Target != nil && replaces(want) }
	return p
}

// idProperty compares what Read put in the form of want: names with names.
func idProperty(name, doc string, field func(Attributes) *intstr.IntOrString) resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name: name, Doc: doc,
		Managed: func(want Attributes) bool { return field(want) != nil },
		InSync: func(is, want Attributes) bool {
			id := field(is)
			return id != nil && *id == *field(want)
		},
		Show: func(a Attributes) string {
			if id := field(a); id != nil {
				return id.String()
			}
			return ""
		},
	}
}

func modeProperty() resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name: "mode",
		Doc: "Permissions, octal (0644) or symbolic (u=rw,go=r). An octal mode of a directory also grants x wherever it grants r; " +
			"a symbolic one leaves alone what it does not name. A link has none.",
		Managed: func(want Attributes) bool { return want.Mode != nil && wants(want) != string(link) },
		InSync: func(is, want Attributes) bool {
			return is.found.what == link || is.found.mode == desiredMode(want, is.found.base(), is.found.what == directory)
		},
		Show: func(a Attributes) string {
			if a.Mode != nil {
				return *a.Mode
			}
			return ""
		},
		ShowShould: func(is, want Attributes) string {
			return filemode.Format(desiredMode(want, is.found.base(), is.found.what == directory))
		},
	}
}

// desiredMode is what the mode comes to where these bits are: the same bits if it is
// not managed. validate has seen to it that it parses.
func desiredMode(want Attributes, bits uint32, dir bool) uint32 {
	if want.Mode == nil {
		return bits
	}
	mode, err := filemode.Apply(*want.Mode, bits, dir)
	if err != nil {
		return bits
	}
	return mode
}

// base is the bits that a symbolic mode starts with.
func (f found) base() uint32 {
	if f.what != regular {
		return f.mode
	}
	return f.mode&^filemode.SetIDs | f.setIDs
}
