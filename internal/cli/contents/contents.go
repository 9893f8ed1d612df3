// Package contents lists, prints, compares and restores the contents in a host's bucket.
package contents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/fettle-dev/fettle/internal/bucket"
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
func List(b *bucket.Bucket, p *output.Printer, path, format string) error {
	all, err := b.List()
	if err != nil {
		return fmt.Errorf("cannot read the bucket: %w", err)
	}
	if format != "text" {
		return p.Encode(encodable(all, path), format)
	}
	var rows [][]string
	for _, e := range all {
		for _, at := range e.Paths {
			if path == "" || path == at {
				rows = append(rows, []string{e.Sum, e.Saved.UTC().Format(time.RFC3339), strconv.FormatInt(e.Size, 10), at})
			}
		}
	}
	p.Table(rows)
	return nil
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

// Get copies a content, after it has verified its sum.
func Get(b *bucket.Bucket, to io.Writer, sum string) error {
	e, err := b.Find(sum)
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

// Restore writes a content to a path, or where it was last found if that is "". It returns the path and the
// full sum.
func Restore(ctx context.Context, h host.Host, b *bucket.Bucket, sum, to string) (path, full string, err error) {
	e, err := b.Find(sum)
	if err != nil {
		return "", "", err
	}
	if to == "" && len(e.Paths) > 0 {
		to = e.Paths[len(e.Paths)-1]
	}
	if to == "" {
		return "", "", fmt.Errorf("the path of %s is unknown: give --to PATH", e.Sum)
	}
	f, err := b.Open(e.Sum)
	if err != nil {
		return "", "", fmt.Errorf("cannot read from the bucket: %w", err)
	}
	defer f.Close()
	if err := restore(ctx, h, b, to, f); err != nil {
		return "", "", fmt.Errorf("cannot restore %s: %w", to, err)
	}
	return to, e.Sum, nil
}

func restore(ctx context.Context, h host.Host, b *bucket.Bucket, to string, from io.Reader) error {
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
		f.Check = func(ctx context.Context, _ string) error { return b.Backup(ctx, file, to) }
	} else {
		f.Mode = new(uint32(0o600))
	}
	_, err = dir.WriteFile(ctx, name, f)
	return err
}
