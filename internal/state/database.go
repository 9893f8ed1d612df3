package state

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/fettle-dev/fettle/internal/resource"
)

const dbName = "state.db"

var (
	errCorrupt  = errors.New("the database is corrupt")
	errReadOnly = errors.New("cannot write the state: it is open for reading only")
)

// Buckets within the bucket of a source, besides those of tables: the numbers of events by Kind/name,
// and the key.
var (
	armedBucket = []byte("armed")
	keyBucket   = []byte("key")
	keyName     = []byte("digest")
)

// outdated returns the buckets of earlier versions, which stored values under the names of
// resources or in another encoding. Their content is dropped.
func outdated() [][]byte {
	return [][]byte{[]byte("observed"), []byte("audited"), []byte("checked"), []byte("values"), []byte("audits")}
}

// keySize is the size of the key in bytes.
const keySize = 32

// create makes an empty database unless there is a file. Nobody ever finds half of it, not even if the disk is full.
func create(file string) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return nil // if there is another error, opening it tells
	}
	temp := filepath.Join(filepath.Dir(file), tempPrefix+rand.Text())
	defer func() { _ = os.Remove(temp) }() // there may be none
	db, err := bbolt.Open(temp, 0o600, nil)
	if err == nil {
		err = db.Close()
	}
	if err == nil {
		err = os.Link(temp, file)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
		return err
	}
	return syncDir(filepath.Dir(file)) // a new file is only durable once its directory entry is
}

// openDB opens the database of a directory. It returns errCorrupt for a file that is not a
// database.
func openDB(dir string, opts bbolt.Options) (db *bbolt.DB, err error) {
	err = guarded(func() error {
		db, err = bbolt.Open(filepath.Join(dir, dbName), 0o600, &opts)
		return err
	})
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, berrors.ErrTimeout):
		return nil, &LockedError{Dir: dir, Holder: holderOfLock(filepath.Join(dir, dbName))}
	case isSystem(err):
		return nil, fmt.Errorf("cannot open the state in %s: %w", dir, freeSpace(dir, err))
	case errors.Is(err, errCorrupt):
		return nil, err
	}
	return nil, fmt.Errorf("%w: %w", errCorrupt, err)
}

// isSystem reports whether the file system returned the error.
func isSystem(err error) bool {
	var path *os.PathError
	var number syscall.Errno
	return errors.As(err, &path) || errors.As(err, &number)
}

// guarded turns the effects of a damaged file into an error: bbolt panics, and reading mapped pages
// beyond the end of a truncated file faults.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errCorrupt, p)
		}
	}()
	return f()
}

// read loads everything into memory. That is little data, and reading it reveals damage before
// anything depends on the rest.
func (s *Store) read(db *bbolt.DB) error {
	err := guarded(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			source := tx.Bucket(s.source)
			if source == nil {
				return nil
			}
			if b := source.Bucket(keyBucket); b != nil {
				s.key = bytes.Clone(b.Get(keyName))
			}
			s.warnOfOutdated(source)
			return errors.Join(
				s.observed.read(source), s.audited.read(source), s.checked.read(source), s.claims.read(source),
				each(source, armedBucket, func(ref resource.Ref, v []byte) (err error) {
					s.armed[ref], err = strconv.Atoi(string(v))
					return err
				}))
		})
	})
	if err != nil && !errors.Is(err, errCorrupt) {
		err = fmt.Errorf("%w: %w", errCorrupt, err)
	}
	return err
}

func (s *Store) warnOfOutdated(source *bbolt.Bucket) {
	if slices.ContainsFunc(outdated(), func(b []byte) bool { return source.Bucket(b) != nil }) {
		s.warnings = append(s.warnings, "the state was written by an earlier version: its records of drift and audits are not used")
	}
}

func dropOutdated(source *bbolt.Bucket) error {
	for _, b := range outdated() {
		if err := source.DeleteBucket(b); err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
			return err
		}
	}
	return nil
}

func each(source *bbolt.Bucket, bucket []byte, f func(ref resource.Ref, value []byte) error) error {
	b := source.Bucket(bucket)
	if b == nil {
		return nil
	}
	return b.ForEach(func(k, v []byte) error {
		ref, err := resource.ParseRef(string(k))
		if err != nil {
			return err
		}
		return f(ref, v)
	})
}

// update changes a bucket of the source.
func (s *Store) update(bucket []byte, change func(*bbolt.Bucket) error) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		source, err := tx.CreateBucketIfNotExists(s.source)
		if err != nil {
			return err
		}
		b, err := source.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		return change(b)
	})
}

// writeAll writes all dirty tables to disk.
func (s *Store) writeAll() error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		source, err := tx.CreateBucketIfNotExists(s.source)
		if err != nil {
			return err
		}
		return errors.Join(dropOutdated(source), s.writeKey(source), s.observed.write(source), s.audited.write(source), s.checked.write(source), s.claims.write(source))
	})
}

func (s *Store) writeClaims() error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		source, err := tx.CreateBucketIfNotExists(s.source)
		if err != nil {
			return err
		}
		return s.claims.write(source)
	})
}

func (s *Store) writeKey(source *bbolt.Bucket) error {
	if !s.keyIsNew {
		return nil
	}
	b, err := source.CreateBucketIfNotExists(keyBucket)
	if err != nil {
		return err
	}
	return b.Put(keyName, s.key)
}

func (s *Store) writeArmed(armed map[resource.Ref]int, refs []resource.Ref) error {
	return s.update(armedBucket, func(b *bbolt.Bucket) error {
		for _, ref := range refs {
			if err := put(b, ref, []byte(strconv.Itoa(armed[ref])), armed[ref] > 0); err != nil {
				return err
			}
		}
		return nil
	})
}

func put(b *bbolt.Bucket, ref resource.Ref, value []byte, there bool) error {
	if !there {
		return b.Delete([]byte(ref.String()))
	}
	return b.Put([]byte(ref.String()), value)
}

// setAsideFile renames an unreadable file, unless another process has already replaced it. was
// identifies the unreadable file; nil skips that check.
func setAsideFile(file string, was os.FileInfo, now time.Time) (string, error) {
	is, err := os.Stat(file)
	if err != nil || was != nil && !os.SameFile(was, is) {
		return "(already set aside)", nil
	}
	aside := fmt.Sprintf("%s.bad-%s", file, now.UTC().Format("20060102T150405.000000000Z"))
	if err := os.Rename(file, aside); err != nil {
		return "", fmt.Errorf("cannot set aside %s: %w", file, err)
	}
	return aside, syncDir(filepath.Dir(file))
}
