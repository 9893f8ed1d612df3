// Package contents lists, prints, compares and restores the contents in a host's bucket.
package contents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// A content is an entry of the bucket as JSON. Paths are encoded by [text.Encode].
type content struct {
	Sum   string    `json:"sum"` // SHA-256
	Saved time.Time `json:"saved"`
	Size  int64     `json:"size"`
	Paths []string  `json:"paths"` // the latest last
}

// List prints the contents of a bucket, only those of one path unless it is "". As text, each path of
// a content has its own line.
func List(b *bucket.Bucket, p *output.Printer, path string, as flags.Output) error {
	all, err := b.List()
	if err != nil {
		return fmt.Errorf("cannot read the bucket: %w", err)
	}
	return as.Print(p, encodable(all, path), func() { p.Table(rowsOf(all, p, path)) })
}

// rowsOf returns a row for each path of a content.
func rowsOf(all []bucket.Entry, p *output.Printer, path string) (rows [][]string) {
	for _, e := range all {
		for _, at := range e.Paths {
			if path == "" || path == at {
				rows = append(rows, []string{shown(p, e.Sum), e.Saved.UTC().Format(time.RFC3339), strconv.FormatInt(e.Size, 10), at})
			}
		}
	}
	return rows
}

// shown returns a sum as people pass it to the other commands.
func shown(p *output.Printer, sum string) string {
	if p.OutTerminal {
		return sum[:12]
	}
	return sum
}

func encodable(all []bucket.Entry, path string) []content {
	out := []content{}
	for _, e := range all {
		if path != "" && !slices.Contains(e.Paths, path) {
			continue
		}
		c := content{e.Sum, e.Saved.UTC().Truncate(time.Second), e.Size, []string{}}
		for _, at := range e.Paths {
			c.Paths = append(c.Paths, text.Encode(at))
		}
		out = append(out, c)
	}
	return out
}

// find returns a content by the prefix of its sum, or the last one of an absolute path, and the path where it was found last; "" if
// that is unknown.
func find(b *bucket.Bucket, what string) (e bucket.Entry, at string, err error) {
	if path.IsAbs(what) {
		e, err = b.Last(path.Clean(what))
		return e, path.Clean(what), err
	}
	if e, err = b.Find(what); err == nil && len(e.Paths) > 0 {
		at = e.Paths[len(e.Paths)-1]
	}
	return e, at, err
}

// Get copies a content, after it has verified its sum.
func Get(b *bucket.Bucket, to io.Writer, what string) error {
	e, _, err := find(b, what)
	if err != nil {
		return err
	}
	if err := b.Verify(e.Sum); err != nil { // first, because output can't be undone
		return fmt.Errorf("cannot read from the bucket: %w", err)
	}
	f, err := b.Open(e.Sum)
	if err != nil {
		return fmt.Errorf("cannot read from the bucket: %w", err)
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}

// A Restored content was written to a path.
type Restored struct {
	Path, Sum string
	Saved     time.Time // when it was last replaced
	// Replaced is the sum of the content that it replaced, which is in the bucket now; "" if there was none or it is a secret,
	// which is lost.
	Replaced string
	Lost     bool
}

// Unchanged reports whether the content was there already.
func (r Restored) Unchanged() bool { return r.Replaced == r.Sum }

// Restore writes a content to a path, or where it was last found if that is "".
func Restore(ctx context.Context, h host.Host, b *bucket.Bucket, what, to string) (Restored, error) {
	e, at, err := find(b, what)
	if err != nil {
		return Restored{}, err
	}
	r := Restored{Path: cmp.Or(to, at), Sum: e.Sum, Saved: e.Saved}
	if r.Path == "" {
		return Restored{}, fmt.Errorf("the path of %s is unknown: give --to PATH", e.Sum)
	}
	f, err := b.Open(e.Sum)
	if err != nil {
		return Restored{}, fmt.Errorf("cannot read from the bucket: %w", err)
	}
	defer f.Close()
	if err := r.write(ctx, h, b, f); err != nil && !r.Unchanged() {
		return Restored{}, fmt.Errorf("cannot restore %s: %w", r.Path, err)
	}
	return r, nil
}

// errUnchanged ends the replacement of content by itself.
var errUnchanged = errors.New("the content is the same")

// write writes the content. It records what it replaces.
func (r *Restored) write(ctx context.Context, h host.Host, b *bucket.Bucket, from io.Reader) error {
	to := r.Path
	dir, name, err := h.EditParent(to, host.Links{})
	if err != nil {
		return err
	}
	defer dir.Close()
	f := host.NewFile{Content: from, UID: -1, GID: -1, Was: &host.FileInfo{}}
	file, err := dir.Child(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		defer file.Close()
		f.Was = new(file.Info())
	}
	if file != nil && f.Was.IsRegular() {
		f.Check = func(ctx context.Context, _ string) error { return r.backUp(ctx, b, file) }
	} else {
		f.Mode = new(uint32(0o600))
	}
	_, err = dir.WriteFile(ctx, name, f)
	return err
}

// backUp saves the content that is about to be replaced.
func (r *Restored) backUp(ctx context.Context, b *bucket.Bucket, file host.Handle) (err error) {
	r.Replaced, err = b.Save(ctx, file, r.Path)
	switch {
	case errors.Is(err, bucket.ErrSecret):
		r.Lost = true
		return nil
	case err == nil && r.Unchanged():
		return errUnchanged
	}
	return err
}
