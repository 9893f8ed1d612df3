// Package bucket keeps the files of a host that were replaced, by their content.
//
// A content lies on the host itself in <two digits>/<sum>/contents below [Dir], and
// beside it paths has where it was found, the latest last. Equal contents are kept
// once. Only root may read any of it. Nothing is ever thrown away: whoever needs the
// room removes directories of sums, and nothing else must be told.
package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// Dir is the bucket of a host.
const Dir = "/var/lib/fettle/bucket"

// Save keeps what a regular file holds now and returns its SHA-256 in hexadecimal.
// It reads the file twice and never as a whole. A copy that is there but damaged is
// written anew. A file that changes meanwhile is an error, and nothing of it is kept.
func Save(ctx context.Context, h host.Host, file string) (sum string, err error) {
	if sum, err = sumOf(ctx, h, file); err != nil {
		return "", err
	}
	if err := makeAll(h, dirOf(sum)); err != nil {
		return "", err
	}
	if err := keep(ctx, h, file, sum); err != nil {
		return "", err
	}
	return sum, note(ctx, h, file, sum)
}

// keep copies the content unless an intact copy is there.
func keep(ctx context.Context, h host.Host, file, sum string) error {
	kept := path.Join(dirOf(sum), contentsName)
	if is, err := sumOf(ctx, h, kept); err == nil && is == sum {
		return nil
	}
	from, err := h.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	return write(ctx, h, kept, &verified{
		r: from, hash: sha256.New(), sum: sum,
		wrong: fmt.Errorf("%s changes while it is read: try again when nothing writes to it", file),
	})
}

// note remembers where a content was found, and by the time of paths when.
func note(ctx context.Context, h host.Host, file, sum string) error {
	paths, err := readPaths(h, sum)
	if err != nil {
		return err
	}
	paths = append(slices.DeleteFunc(paths, func(p string) bool { return p == file }), file)
	var text strings.Builder
	for _, p := range paths {
		text.WriteString(strconv.Quote(p) + "\n")
	}
	return write(ctx, h, path.Join(dirOf(sum), pathsName), strings.NewReader(text.String()))
}

func write(ctx context.Context, h host.Host, file string, content io.Reader) error {
	_, err := h.WriteFile(ctx, file, host.NewFile{Content: content, Mode: new(uint32(0o600))})
	return err
}

// The files of a content.
const (
	contentsName = "contents"
	pathsName    = "paths"
)

func dirOf(sum string) string { return path.Join(Dir, sum[:2], sum) }

// makeAll makes the directories that are missing: those of the bucket for root alone.
func makeAll(h host.Host, dir string) error {
	if _, err := h.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeAll(h, path.Dir(dir)); err != nil {
		return err
	}
	mode := uint32(0o755)
	if strings.HasPrefix(dir, path.Dir(Dir)) {
		mode = 0o700
	}
	if err := h.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func sumOf(ctx context.Context, h host.Reader, file string) (string, error) {
	f, err := h.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, contextReader{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// A contextReader ends a long read with its context.
type contextReader struct {
	ctx context.Context // lives as long as one read
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
