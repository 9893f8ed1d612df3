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

// A Store remembers what runs last saw and which refreshes are due, of things by their kind
// and namevar; it is an engine.Store. While it is open nobody else can open the same directory to write. The
// zero Store remembers nothing and refuses to arm. Not safe for concurrent use.
type Store struct {
	db       *bbolt.DB // nil when read only
	source   []byte
	warnings []string

	armed map[resource.Ref]int
	// What is kept with the next Commit.
	observed, audited table[texts]
	checked           table[time.Time]
	claims            table[claim.Claim]
	key               []byte // nil until it is asked for
	keyIsNew          bool
}

// Options say how to open a store. The zero value waits for nobody.
type Options struct {
	// Source is where the catalogs come from that are run. What runs of one source
	// remember, those of another neither see nor forget: they may well name other things
	// alike. They still keep each other out.
	Source Source
	// Wait is how long to wait for another run to end.
	Wait time.Duration
	// Now dates what is set aside; time.Now by default.
	Now func() time.Time
}

// A Source is one of those that catalogs come from.
type Source string

// The sources. A host's own manifests are that of an Options that names none.
const (
	Manifests Source = "manifests"
	Cluster   Source = "cluster"
)

// A LockedError says that another process has the store open: a run is under way.
type LockedError struct{ Dir string }

// Error names the directory.
func (e *LockedError) Error() string {
	return fmt.Sprintf("another run is under way on this host, it holds the state in %s: wait for it to end and try again", e.Dir)
}

// Open opens the store in a directory and makes both if they are missing. A store that
// can't be read is set aside, which [Store.Warnings] tells, and a new one begun. When
// another process has it open the error is a *LockedError. The caller closes it.
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

// OpenReadOnly reads the store in a directory and lets go of it at once: it keeps
// nobody out, and nothing that is set is kept. A store that is missing or can't be
// read is empty. While a run is under way the error is a *LockedError.
func OpenReadOnly(dir string, opts Options) (*Store, error) {
	s := newStore(opts)
	db, err := openDB(dir, bbolt.Options{ReadOnly: true, Timeout: timeout(opts.Wait)})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err == nil:
		err = errors.Join(s.read(db), db.Close())
	}
	if errors.Is(err, errCorrupt) {
		empty := newStore(opts)
		empty.warnings = []string{fmt.Sprintf("the state in %s could not be read: %v", dir, err)}
		return empty, nil
	}
	return s, err
}

func newStore(opts Options) *Store {
	return &Store{
		source:   []byte(cmp.Or(opts.Source, Manifests)),
		armed:    map[resource.Ref]int{},
		observed: newTexts("properties"),
		audited:  newTexts("audit"),
		checked:  newTable[time.Time]("looks"),
		claims:   newTable[claim.Claim]("claims"),
	}
}

func load(dir string, opts Options) (*Store, error) {
	_, missing := os.Stat(filepath.Join(dir, dbName))
	db, err := openDB(dir, bbolt.Options{Timeout: timeout(opts.Wait)})
	if err != nil {
		return nil, err
	}
	s := newStore(opts)
	s.db = db
	if err := s.read(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if missing == nil {
		return s, nil
	}
	if err := syncDir(dir); err != nil { // what is written to it is only as durable as its name
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

// timeout is for bbolt, to which 0 is for ever; it tries once in any case.
func timeout(wait time.Duration) time.Duration { return max(wait, time.Nanosecond) }

// Warnings are what a person should know of how it was opened; none as a rule.
func (s *Store) Warnings() []string { return s.warnings }

// Close lets the next run have it. What was not committed is lost.
func (s *Store) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// Observed are the values that a run last saw or set, nil where there are none. Not to
// be changed.
func (s *Store) Observed(thing resource.Ref) map[string]string { return s.observed.values[thing] }

// SetObserved replaces them, durably with the next Commit.
func (s *Store) SetObserved(thing resource.Ref, values map[string]string) {
	s.setValues(s.observed, thing, values)
}

// Audited are the values of audited properties that a run last saw, nil where there are
// none. Not to be changed.
func (s *Store) Audited(thing resource.Ref) map[string]string { return s.audited.values[thing] }

// SetAudited replaces them, durably with the next Commit.
func (s *Store) SetAudited(thing resource.Ref, values map[string]string) {
	s.setValues(s.audited, thing, values)
}

func (s *Store) setValues(t table[texts], thing resource.Ref, values map[string]string) {
	if s.db != nil && !maps.Equal(t.values[thing], values) {
		t.set(thing, maps.Clone(values))
	}
}

// Checked is when a run last looked at a thing, zero for never.
func (s *Store) Checked(thing resource.Ref) time.Time { return s.checked.values[thing] }

// SetChecked replaces it, durably with the next Commit.
func (s *Store) SetChecked(thing resource.Ref, at time.Time) {
	if s.db != nil && !at.Equal(s.checked.values[thing]) {
		s.checked.set(thing, at)
	}
}

// Key is what sensitive values are digested with before they are remembered: a secret
// of this store. It is made when it is first asked for, and kept with the next Commit.
func (s *Store) Key() []byte {
	if s.key == nil {
		s.key, s.keyIsNew = make([]byte, keySize), true
		_, _ = rand.Read(s.key) // never fails
	}
	return s.key
}

// Armed are the things that a refresh is due to, with the number of events.
func (s *Store) Armed() map[resource.Ref]int { return maps.Clone(s.armed) }

// Arm makes a refresh due, once for every time a thing is named. It is on disk when
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

// Disarm strikes refreshes off. That is on disk when it returns.
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

func (s *Store) setArmed(armed map[resource.Ref]int, refs []resource.Ref) error {
	if maps.Equal(armed, s.armed) {
		return nil
	}
	if err := s.writeArmed(armed, refs); err != nil {
		return fmt.Errorf("cannot write the state: %w", err)
	}
	s.armed = armed
	return nil
}

// Retain forgets what is remembered of things for which keep is false, durably with the next
// Commit. A refresh that is due stays due, until a resource is about the thing again.
func (s *Store) Retain(keep func(thing resource.Ref) bool) {
	if s.db == nil {
		return
	}
	s.observed.retain(keep)
	s.audited.retain(keep)
	s.checked.retain(keep)
}

// Claims are what hosts are to do about things that no resource is about any more, by kind
// and namevar. Not to be changed.
func (s *Store) Claims() map[resource.Ref]claim.Claim { return s.claims.values }

// Claim notes claims, instead of others on the same things. They are on disk when it
// returns.
func (s *Store) Claim(claims []claim.Claim) error {
	if s.db == nil {
		return errReadOnly
	}
	for _, c := range claims {
		s.claims.set(c.Key(), c)
	}
	if err := s.writeClaims(); err != nil {
		return fmt.Errorf("cannot write the state: %w", err)
	}
	clear(s.claims.dirty)
	return nil
}

// SetClaim notes a claim, durably with the next Commit.
func (s *Store) SetClaim(c claim.Claim) {
	if s.db != nil {
		s.claims.set(c.Key(), c)
	}
}

// DropClaim forgets the claim on a thing, durably with the next Commit.
func (s *Store) DropClaim(key resource.Ref) {
	if s.db != nil {
		s.claims.drop(key)
	}
}

// Commit makes what was set durable. Where nothing was, it writes nothing.
func (s *Store) Commit() error {
	changed := len(s.observed.dirty) + len(s.audited.dirty) + len(s.checked.dirty) + len(s.claims.dirty)
	if s.db == nil || changed == 0 {
		return nil
	}
	if err := s.writeAll(); err != nil {
		return fmt.Errorf("cannot write the state: %w", err)
	}
	clear(s.observed.dirty)
	clear(s.audited.dirty)
	clear(s.checked.dirty)
	clear(s.claims.dirty)
	s.keyIsNew = false
	return nil
}
