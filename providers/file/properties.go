package file

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/content"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/filemode"
	"github.com/fettle-dev/fettle/providers/file/source"
)

// properties are in the order in which they are changed: a file exists before it has an owner,
// and its mode follows because a change of owner clears the set-ID bits.
func properties() []resource.Property[Attributes] {
	return []resource.Property[Attributes]{
		ensureProperty(),
		contentProperty(),
		targetProperty(),
		idProperty("owner", "The user that owns it, by name or number; of a link, the owner of the link itself.",
			func(a Attributes) *intstr.IntOrString { return a.Owner }),
		idProperty("group", "The group that owns it, by name or number; of a link, the group of the link itself.",
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
		InSync:  func(is, want Attributes) bool { return ensured(is.found.kind, want) },
		Show: func(a Attributes) string {
			return cmp.Or(string(a.found.kind), ensure(a))
		},
		Detail: secretMode,
	}
}

// secretMode reports the mode of a secret that is created without one, because other files get another mode.
func secretMode(is, want Attributes) string {
	creates := ensure(want) == string(entry.Regular) || ensure(want) == resource.Present && is.found.kind == entry.Absent
	if want.Mode != nil || !creates || !want.secret && !is.found.secret {
		return ""
	}
	return "with mode " + filemode.Format(newFileMode(is, want))
}

// ensured accepts any kind if present is desired, or if nothing is to be replaced.
func ensured(is entry.Kind, want Attributes) bool {
	switch {
	case ensure(want) == resource.Absent:
		return is == entry.Absent
	case ensure(want) == resource.Present || !replaces(want):
		return is != entry.Absent
	}
	return string(is) == ensure(want)
}

func contentProperty() resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name:    "content",
		Doc:     "The whole content of the file. It is compared and shown by its SHA-256, or as checksum says when it comes from a source.",
		Managed: managesContent,
		InSync: func(is, want Attributes) bool {
			if want.Source != nil {
				return is.found.matchesSource()
			}
			return is.found.size == int64(len(*want.Content)) && is.found.sum == want.contentSum
		},
		Show: showContent,
		ShowShould: func(is, want Attributes) string {
			if want.Source != nil {
				return is.found.source.String()
			}
			return showContent(want)
		},
		Sensitive: func(want Attributes) bool { return want.secret },
		WasSecret: func(is Attributes) bool { return is.found.secret },
		Private:   hidesContent,
		Token:     func(is Attributes) string { return cmp.Or(is.found.sum, is.found.showContent()) },
		Diff:      diff,
		Same:      func(was, is Attributes) bool { return was.found.sameContent(is.found) },
	}
}

func managesContent(want Attributes) bool {
	return (want.Content != nil || want.Source != nil && !ptr.Deref(want.Recurse, false)) && replaces(want)
}

// matchesSource compares a file with its source.
func (f found) matchesSource() bool {
	switch v := f.source; {
	case f.kind != entry.Regular:
		return false
	case v.Sum != "":
		return f.sum == v.Sum
	default:
		return !f.info.ModTime.Before(v.Modified)
	}
}

// sameContent reports whether a file still has the content that it had. A content that is compared by time was written if
// the time differs.
func (f found) sameContent(is found) bool {
	timed := is.source.Sum == "" && !is.source.Modified.IsZero()
	return f.kind == is.kind && f.size == is.size && f.sum == is.sum && (!timed || f.info.ModTime.Equal(is.info.ModTime))
}

// showContent never shows the content itself. An entry without content shows as its kind.
func showContent(a Attributes) string {
	switch kind := a.found.kind; {
	case kind == entry.Regular:
		return a.found.showContent()
	case kind != "" && kind != entry.Absent:
		return string(kind)
	case kind == "" && a.Content != nil:
		return "{sha256}" + a.contentSum
	}
	return ""
}

// showContent shows the checksum or the time by which the content was compared.
func (f found) showContent() string {
	switch {
	case f.sum == "" && !f.source.Modified.IsZero():
		return source.ShowTime(f.info.ModTime)
	case f.sum == "" && f.size > maxUnequal:
		return fmt.Sprintf("{size}%d", f.size)
	case f.sum == "":
		return ""
	case f.source.Sum != "":
		return "{" + f.source.Algorithm + "}" + f.sum
	}
	return "{sha256}" + f.sum
}

// diff returns "" if there is no diff to show.
func diff(is, want Attributes) string {
	text := want.Content
	if text == nil && is.found.source.File != nil {
		text = is.found.source.File.Text
	}
	if text == nil || hidesContent(want) || is.found.kind != entry.Regular {
		return ""
	}
	return content.Diff(is.Path, content.Content{Text: is.Content, Size: is.found.size}, *text)
}

func targetProperty() resource.Property[Attributes] {
	p := resource.Field("target", "The text of the link: the path that it leads to, which need not exist.",
		func(a *Attributes) *string { return a.Target })
	p.Managed = managesTarget
	return p
}

func managesTarget(want Attributes) bool { return want.Target != nil && replaces(want) }

// idProperty compares names with names: Read returns an account in the form of want.
func idProperty(name, doc string, field func(Attributes) *intstr.IntOrString) resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name: name, Doc: doc,
		Managed: func(want Attributes) bool { return field(want) != nil },
		InSync:  func(is, want Attributes) bool { return inSyncID(field(is), field(want)) },
		Show: func(a Attributes) string {
			if id := field(a); id != nil {
				return id.String()
			}
			return ""
		},
	}
}

func inSyncID(is, want *intstr.IntOrString) bool { return want == nil || is != nil && *is == *want }

func modeProperty() resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name: "mode",
		Doc: "Permissions, octal (0644) or symbolic (u=rw,go=r). An octal mode of a directory also grants x wherever it grants r; " +
			"a symbolic one changes only what it names. A link has no mode.",
		Managed: func(want Attributes) bool { return want.Mode != nil && ensure(want) != string(entry.Link) },
		InSync: func(is, want Attributes) bool {
			return is.found.kind == entry.Link || is.found.info.Mode == desiredMode(want, is.found.base(), is.found.kind == entry.Directory)
		},
		Show: func(a Attributes) string { return ptr.Deref(a.Mode, "") },
		ShowShould: func(is, want Attributes) string {
			return filemode.Format(desiredMode(want, is.found.base(), is.found.kind == entry.Directory))
		},
	}
}

func labelProperty(name, doc string, field func(*Attributes) *string) resource.Property[Attributes] {
	p := resource.Field(name, doc, field)
	p.Feature = labels
	return p
}

// auditOnly returns the properties that can only be audited.
func auditOnly() []resource.Property[Attributes] {
	return []resource.Property[Attributes]{
		resource.Audited("type", "What is at the path: file, directory, link, fifo, socket, device or absent.",
			func(is Attributes) string { return string(is.found.kind) }),
		resource.Audited("mtime", "When the content was last changed.",
			func(is Attributes) string { return timestamp(is.found.info.ModTime) }),
		resource.Audited("ctime", "When the content or the metadata was last changed.",
			func(is Attributes) string { return timestamp(is.found.info.ChangeTime) }),
	}
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
