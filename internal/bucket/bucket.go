// Package bucket stores the replaced files of a host by their content, like Puppet's filebucket.
//
// A content is stored in <two digits>/<sum>/contents below the bucket's directory. The file paths
// beside it lists where the content was found, the latest path last. Equal contents are stored once.
// Only root may read any of it. A bucket with a limit removes the contents that were replaced
// longest ago to stay within it. Directories of sums may also be removed by hand at any time.
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

// The defaults of a bucket; the limit is in bytes.
const (
	DefaultDir         = "/var/lib/fettle/bucket"
	DefaultLimit int64 = 1 << 30
)

// A Bucket is a directory of a host. The files may come from another host, such as a directory of
// the machine that has the bucket. Safe for concurrent use.
type Bucket struct {
	host  host.Host
	dir   string
	limit int64

	mu      sync.Mutex
	weighed time.Time // when the bucket was weighed
	weight  int64     // in bytes, without contents that others saved since
	known   secrets   // the secrets as of read
	read    version
}

// New returns the bucket in a directory of a host. The directory is created by the first Save. Its
// contents have at most limit bytes together; 0 means no limit.
func New(h host.Host, dir string, limit int64) *Bucket {
	return &Bucket{host: h, dir: dir, limit: limit}
}

// Save stores the content of an open regular file, found at a path, and returns its SHA-256 in
// hexadecimal. It reads the file twice and never loads it as a whole. A damaged copy is replaced.
// It returns an error, and stores nothing, if the file changes meanwhile or is larger than the
// limit, and ErrSecret if the content is secret.
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

// Backup saves content that is about to be replaced or removed, as Save does. It skips secret content
// without an error.
func (b *Bucket) Backup(ctx context.Context, file host.Handle, path string) error {
	if _, err := b.Save(ctx, file, path); !errors.Is(err, ErrSecret) {
		return err
	}
	return nil
}

// Path returns the path of the content with this sum on the bucket's host, whether it is stored or
// not.
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

// maxPaths is the maximum number of paths per content: an empty file may have been anywhere.
const maxPaths = 100

// note records where a content was found. The modification time of the list of paths is the time of
// the last Save.
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

// makeAll creates the missing directories. Those of the bucket, and the state directory around it,
// are accessible to root only.
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

// intact reports whether the content of a sum is stored and has that sum.
func (b *Bucket) intact(ctx context.Context, sum string) bool {
	f, err := b.Open(sum)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, host.ContextReader(ctx, f))
	return err == nil
}

func sumOf(ctx context.Context, file host.Handle) (sum string, size int64, err error) {
	f, err := file.Open()
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	hash := sha256.New()
	if size, err = io.Copy(hash, host.ContextReader(ctx, host.BoundedReader(f, file.Info().Size))); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(hash.Sum(nil)), size, nil
}
