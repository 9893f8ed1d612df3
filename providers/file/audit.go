package file

import (
	"context"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
)

// auditOnly are what a file is beside what can be wanted of it.
func auditOnly() []resource.Property[Attributes] {
	return []resource.Property[Attributes]{
		resource.Audited("type", "What is at the path: file, directory, link, fifo, socket, device or absent.",
			func(is Attributes) string { return string(is.found.what) }),
		resource.Audited("mtime", "When the content was last changed.",
			func(is Attributes) string { return timestamp(is.found.info.ModTime) }),
		resource.Audited("ctime", "When anything of it was last changed.",
			func(is Attributes) string { return timestamp(is.found.info.ChangeTime) }),
	}
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// ReadAudited reads what Read leaves out where it is not managed.
func (p posix) ReadAudited(ctx context.Context, h resource.Reader, want Attributes, audited []string) (Attributes, error) {
	want.audited = audited
	return p.Read(ctx, h, want)
}

// asksFor tells whether any of these properties is to be read though it is not managed:
// one that is audited, or any where nothing is managed, which is merely a look at a file.
func asksFor(want Attributes, properties ...string) bool {
	if want.audited != nil {
		return slices.ContainsFunc(properties, func(p string) bool { return slices.Contains(want.audited, p) })
	}
	return want.Ensure == nil && !asksForChildren(want) && !want.child
}
