package state

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// A Store has the values that runs last observed and the pending refreshes, of objects by their kind
// and namevar. It implements engine.Store. While it is open, no one else can open the same
// directory for writing. The zero Store is empty, and Arm returns an error. Not safe for concurrent
// use.
type Store struct {
	db       *bbolt.DB // nil when read only
	source   []byte
	warnings []string

	armed map[resource.Ref]int
	// Saved by the next Commit.
	observed table[observation]
	audited  table[texts]
	checked  table[time.Time]
	claims   table[claim.Claim]
	key      []byte // nil until it is needed
	keyIsNew bool
}

// Options configure how to open a store. The zero value does not wait for a lock.
type Options struct {
	// Source is the origin of the catalogs that are run. Each source has state of its own, since
	// two sources may use the same names for different things. They share the lock.
	Source Source
	// Wait is the time to wait for another run to end.
	Wait time.Duration
	// Now returns the time for the names of files that are set aside; time.Now by default.
	Now func() time.Time
}

// A Source is an origin of catalogs.
type Source string

// The sources. Manifests, the host's own manifests, is the default.
const (
	Manifests Source = "manifests"
	Cluster   Source = "cluster"
)

// Open opens the store in a directory and creates both if they are missing. An unreadable store is
// set aside and replaced by a new one, with a warning in [Store.Warnings]. The error is a
// *LockedError if another process has the store open. The caller closes the store.
func Open(dir string, opts Options) (*Store, error) {
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("cannot make the state directory %s: %w", dir, err)
	}
	file := filepath.Join(dir, dbName)
	before, _ := os.Stat(file)
	s, err := load(dir, opts)
	if err == nil || !errors.Is(err, errCorrupt) {
		return s, err
	}
	aside, asideErr := setAsideFile(file, before, opts.now())
	if asideErr != nil {
		return nil, errors.Join(err, asideErr)
	}
	s, fresh := load(dir, opts)
	if fresh != nil {
		return nil, fresh
	}
	s.warnings = append(s.warnings, fmt.Sprintf("the state could not be read (%v): it was set aside as %s and forgotten", err, aside))
	return s, nil
}

// OpenReadOnly reads the store in a directory and closes it at once. It locks no one out and saves
// nothing. A missing or unreadable store is empty. So is one that this user may not read, with a warning that says what is
// unknown. The error is a *LockedError while a run is in progress.
func OpenReadOnly(dir string, opts Options) (*Store, error) {
	s := newStore(opts)
	db, err := openDB(dir, bbolt.Options{ReadOnly: true, Timeout: timeout(opts.Wait)})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err == nil:
		err = errors.Join(s.read(db), db.Close())
	}
	switch {
	case errors.Is(err, errCorrupt):
		return empty(opts, fmt.Sprintf("the state in %s could not be read: %v", dir, err)), nil
	case errors.Is(err, fs.ErrPermission):
		return empty(opts, fmt.Sprintf("the state in %s cannot be read by this user: it is unknown which refreshes are pending, which drift is "+
			"corrective, what was audited before and which contents are secrets, so no content is shown; root can read it", dir)), nil
	}
	return s, err
}

func empty(opts Options, warning string) *Store {
	s := newStore(opts)
	s.warnings = []string{warning}
	return s
}

func newStore(opts Options) *Store {
	return &Store{
		source:   []byte(cmp.Or(opts.Source, Manifests)),
		armed:    map[resource.Ref]int{},
		observed: newObservations("properties"),
		audited:  newTexts("audit"),
		checked:  newTable[time.Time]("looks"),
		claims:   newTable[claim.Claim]("claims"),
	}
}

func load(dir string, opts Options) (*Store, error) {
	if err := create(filepath.Join(dir, dbName)); err != nil {
		return nil, fmt.Errorf("cannot make the state in %s: %w", dir, freeSpace(dir, err))
	}
	db, err := openDB(dir, bbolt.Options{Timeout: timeout(opts.Wait)})
	if err != nil {
		return nil, err
	}
	s := newStore(opts)
	s.db = db
	if err := s.read(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// timeout returns a timeout for bbolt, to which 0 means forever; it tries once in any case.
func timeout(wait time.Duration) time.Duration { return max(wait, time.Nanosecond) }

// Warnings returns problems that were found when the store was opened. There are usually none.
func (s *Store) Warnings() []string { return s.warnings }

// Close closes the store and releases the lock. Uncommitted changes are lost.
func (s *Store) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// Observed returns the values that a run last observed or set, or nil. Do not modify them.
func (s *Store) Observed(object resource.Ref) map[string]string {
	return s.observed.get(object).values
}

// SetObserved replaces the observed values. The next Commit makes that durable.
func (s *Store) SetObserved(object resource.Ref, values map[string]string) {
	if o := s.observed.get(object); s.db != nil && !maps.Equal(o.values, values) {
		o.values = maps.Clone(values)
		s.observed.set(object, o)
	}
}

// Completed returns the digest of the catalog with which all that an object's resource generates was in sync last, or "".
func (s *Store) Completed(object resource.Ref) string { return s.observed.get(object).completed }

// SetCompleted replaces that digest. The next Commit makes that durable.
func (s *Store) SetCompleted(object resource.Ref, digest string) {
	if o := s.observed.get(object); s.db != nil && o.completed != digest {
		o.completed = digest
		if o.values == nil {
			o.values = texts{} // something is known of the object
		}
		s.observed.set(object, o)
	}
}

// Audited returns the values of audited properties that a run last observed, or nil. Do not modify
// them.
func (s *Store) Audited(object resource.Ref) map[string]string { return s.audited.get(object) }

// SetAudited replaces the audited values. The next Commit makes that durable.
func (s *Store) SetAudited(object resource.Ref, values map[string]string) {
	if s.db != nil && !maps.Equal(s.audited.get(object), values) {
		s.audited.set(object, maps.Clone(values))
	}
}

// Checked returns the time when a run last checked an object, zero for never.
func (s *Store) Checked(object resource.Ref) time.Time { return s.checked.get(object) }

// SetChecked replaces that time. The next Commit makes that durable.
func (s *Store) SetChecked(object resource.Ref, at time.Time) {
	if s.db != nil && !at.Equal(s.checked.get(object)) {
		s.checked.set(object, at)
	}
}

// Key returns the key for digests of sensitive values, a secret of this store. It is created when
// it is first needed, and saved by the next Commit.
func (s *Store) Key() []byte {
	if s.key == nil {
		s.key, s.keyIsNew = make([]byte, keySize), true
		_, _ = rand.Read(s.key) // never fails
	}
	return s.key
}

// Armed returns the objects with a pending refresh and their numbers of events.
func (s *Store) Armed() map[resource.Ref]int { return maps.Clone(s.armed) }

// Arm makes a refresh pending, with one event for every time an object is named. It is on disk when
// Arm returns.
func (s *Store) Arm(refs []resource.Ref) error {
	if s.db == nil {
		return errReadOnly
	}
	armed := maps.Clone(s.armed)
	for _, ref := range refs {
		armed[ref]++
	}
	return s.setArmed(armed, refs)
}

// Disarm removes pending refreshes. That is on disk when Disarm returns.
func (s *Store) Disarm(refs []resource.Ref) error {
	if s.db == nil {
		return errReadOnly
	}
	armed := maps.Clone(s.armed)
	for _, ref := range refs {
		delete(armed, ref)
	}
	return s.setArmed(armed, refs)
}

func (s *Store) cannotWrite(err error) error {
	return fmt.Errorf("cannot write the state: %w", freeSpace(filepath.Dir(s.db.Path()), err))
}

func (s *Store) setArmed(armed map[resource.Ref]int, refs []resource.Ref) error {
	if maps.Equal(armed, s.armed) {
		return nil
	}
	if err := s.writeArmed(armed, refs); err != nil {
		return s.cannotWrite(err)
	}
	s.armed = armed
	return nil
}

// Retain removes the values of objects for which keep is false. The next Commit makes that durable.
// Pending refreshes stay until a resource manages the object again.
func (s *Store) Retain(keep func(object resource.Ref) bool) {
	if s.db == nil {
		return
	}
	s.observed.retain(keep)
	s.audited.retain(keep)
	s.checked.retain(keep)
}

// Claims returns the claims on objects of the host, by kind and namevar. Do not modify them.
func (s *Store) Claims() map[resource.Ref]claim.Claim { return s.claims.values }

// Claim adds claims and replaces others on the same objects. They are on disk when Claim returns.
func (s *Store) Claim(claims []claim.Claim) error {
	if s.db == nil {
		return errReadOnly
	}
	for _, c := range claims {
		s.claims.set(c.Key(), c)
	}
	if err := s.writeClaims(); err != nil {
		return s.cannotWrite(err)
	}
	clear(s.claims.dirty)
	return nil
}

// SetClaim adds or replaces a claim. The next Commit makes that durable.
func (s *Store) SetClaim(c claim.Claim) {
	if s.db != nil {
		s.claims.set(c.Key(), c)
	}
}

// DropClaim removes the claim on an object. The next Commit makes that durable.
func (s *Store) DropClaim(key resource.Ref) {
	if s.db != nil {
		s.claims.drop(key)
	}
}

// Commit makes changes durable. Without changes it writes nothing.
func (s *Store) Commit() error {
	changed := len(s.observed.dirty) + len(s.audited.dirty) + len(s.checked.dirty) + len(s.claims.dirty)
	if s.db == nil || changed == 0 {
		return nil
	}
	if err := s.writeAll(); err != nil {
		return s.cannotWrite(err)
	}
	clear(s.observed.dirty)
	clear(s.audited.dirty)
	clear(s.checked.dirty)
	clear(s.claims.dirty)
	s.keyIsNew = false
	return nil
}
