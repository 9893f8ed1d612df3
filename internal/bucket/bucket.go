// Package bucket keeps the files of a host that were replaced, by their content.
//
// A content lies in <two digits>/<sum>/contents below the bucket's directory, and beside
// it paths has where it was found, the latest last. Equal contents are kept once. Only
// root may read any of it. A bucket that has a limit throws away what was replaced
// longest ago before it would take more; anyone who else needs the room removes directories
// of sums, and nothing else must be told.
package bucket

import (
	"cmp"
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
	"sync"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// What a bucket is where nobody says otherwise.
const (
	DefaultDir         = "/var/lib/fettle/bucket"
	DefaultLimit int64 = 1 << 30
)

// A Bucket is a directory of a host, which may be another one than the files come from:
// the machine, where those are of a directory of it. It is safe for concurrent use.
type Bucket struct {
	host  host.Host
	dir   string
	limit int64

	mu      sync.Mutex
	weighed time.Time // when all of it was
	weight  int64     // in bytes; what others saved since it was weighed is not in it
	known   secrets   // as of read
	read    version
}

// New is the bucket in a directory of a host, which is made when something is saved.
// Its contents have at most limit bytes together; 0 is any number.
func New(h host.Host, dir string, limit int64) *Bucket {
	return &Bucket{host: h, dir: dir, limit: limit}
}

// Save keeps what an open regular file holds now, as found at a path, and returns its
// SHA-256 in hexadecimal. It reads the file twice and never as a whole. A copy that is there
// but damaged is written again. A file that changes meanwhile is an error, and nothing of it
// is kept; so is one that is larger than the limit. The error is ErrSecret for what is never
// kept.
func (b *Bucket) Save(ctx context.Context, file host.Handle, path string) (sum string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.Fits(path, file.Info().Size); err != nil {
		return "", err
	}
	sum, size, err := sumOf(ctx, file)
	if err != nil {
		return "", err
	}
	if known, err := b.secrets(); err != nil || known.has(path, sum) {
		return "", cmp.Or(err, ErrSecret)
	}
	if err := b.keep(ctx, file, path, sum, size); err != nil {
		return "", err
	}
	return sum, b.note(ctx, path, sum)
}

// Backup saves content that is about to be replaced or removed, except for content that is never saved.
func (b *Bucket) Backup(ctx context.Context, file host.Handle, path string) error {
	if _, err := b.Save(ctx, file, path); !errors.Is(err, ErrSecret) {
		return err
	}
	return nil
}

// Path is where the bucket's host has the content of this sum, if it is kept.
func (b *Bucket) Path(sum string) string { return path.Join(b.dirOf(sum), contentsName) }

// keep copies the content unless an intact copy is there.
func (b *Bucket) keep(ctx context.Context, node host.Handle, file, sum string, size int64) error {
	kept := b.Path(sum)
	if b.intact(ctx, sum) {
		return nil
	}
	if err := b.makeRoom(file, size); err != nil {
		return err
	}
	if err := b.makeAll(b.dirOf(sum)); err != nil {
		return err
	}
	from, err := node.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	return b.write(ctx, kept, &verified{
		r: from, hash: sha256.New(), sum: sum,
		wrong: fmt.Errorf("%s changes while it is read: try again when nothing writes to it", file),
	})
}

// maxPaths is how many paths of one content are remembered: an empty file may have been
// anywhere.
const maxPaths = 100

// note remembers where a content was found, and by the time of paths when.
func (b *Bucket) note(ctx context.Context, file, sum string) error {
	paths, err := b.readPaths(sum)
	if err != nil {
		return err
	}
	paths = append(slices.DeleteFunc(paths, func(p string) bool { return p == file }), file)
	var text strings.Builder
	for _, p := range paths[max(0, len(paths)-maxPaths):] {
		text.WriteString(strconv.Quote(p) + "\n")
	}
	return b.write(ctx, path.Join(b.dirOf(sum), pathsName), strings.NewReader(text.String()))
}

func (b *Bucket) write(ctx context.Context, file string, content io.Reader) error {
	_, err := b.host.WriteFile(ctx, file, host.NewFile{Content: content, Mode: new(uint32(0o600))})
	return err
}

// The files of a content.
const (
	contentsName = "contents"
	pathsName    = "paths"
)

func (b *Bucket) dirOf(sum string) string { return path.Join(b.dir, sum[:2], sum) }

// makeAll makes the directories that are missing: those of the bucket, and the one of
// state that it is in, for root alone.
func (b *Bucket) makeAll(dir string) error {
	if _, err := b.host.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := b.makeAll(path.Dir(dir)); err != nil {
		return err
	}
	mode := uint32(0o755)
	if strings.HasPrefix(dir, path.Dir(b.dir)) {
		mode = 0o700
	}
	if err := b.host.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// intact reports whether the content of a sum is kept and has that sum.
func (b *Bucket) intact(ctx context.Context, sum string) bool {
	f, err := b.Open(sum)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, host.EndingWith(ctx, f))
	return err == nil
}

func sumOf(ctx context.Context, file host.Handle) (sum string, size int64, err error) {
	f, err := file.Open()
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	hash := sha256.New()
	if size, err = io.Copy(hash, host.EndingWith(ctx, host.NoLongerThan(f, file.Info().Size))); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(hash.Sum(nil)), size, nil
}
