package resource

import (
	"context"
	"errors"
	"sync"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Reader is a host that a provider reads in one call, together with the context of that call. It
// can't be turned into a Writer. Made by [Call.Reader].
type Reader interface {
	host.Reader
	// Note adds a line to the report of the resource, such as the output of a command. It must
	// hold no secret. Only notes of Write, Refresh and Generate reach the report.
	Note(text string)
	// IsSecret reports whether the content of a file must not be shown or saved. The sum is its
	// SHA-256 in hexadecimal; see [Bucket].
	IsSecret(path, sum string) (bool, error)
	// FitsBucket returns an error if a file of this size, in bytes, can't be saved in the bucket of the run; see [Bucket].
	FitsBucket(path string, size int64) error

	call() *Call
}

// A Writer is a Reader that can also change the host. Made by [Call.Writer].
type Writer interface {
	Reader
	host.Host
	// Bucket keeps the contents of files before they are replaced or removed.
	Bucket() Bucket
	// Stopped returns why the run has to stop, or nil. A provider with many things to do then
	// starts no more of them; see [ErrNotBegun].
	Stopped() error
	// Job identifies the Detached commands of this call; see [Resumer].
	Job() host.Job
}

// ErrNotBegun is the error that a [BatchWriter] returns for each resource that it did not start
// because the run has to stop.
var ErrNotBegun = errors.New("not started")

// A Bucket stores the contents of files, each under its SHA-256 in hexadecimal, and records which
// contents are secret. It never stores secret contents. Safe for concurrent use.
type Bucket interface {
	// Fits returns an error if a file of this size, in bytes, can't be saved.
	Fits(path string, size int64) error
	// Save stores the content of an open regular file. It returns an error if the content is
	// secret.
	Save(ctx context.Context, file host.Handle, path string) (sum string, err error)
	// Backup is Save, but skips secret contents without an error.
	Backup(ctx context.Context, file host.Handle, path string) error
	// Path returns the path on the host of the content with this sum.
	Path(sum string) string
	// RecordSecrets records contents, keyed by the paths of their files, as secret.
	RecordSecrets(ctx context.Context, contents map[string]string) error
	// ForgetPath records that a file no longer contains a secret.
	ForgetPath(ctx context.Context, path string) error
	// IsSecret reports whether a content, or the file that has it, is recorded as secret.
	IsSecret(path, sum string) (bool, error)
	// HoldsSecret is IsSecret for the current content of an open regular file.
	HoldsSecret(ctx context.Context, file host.Handle, path string) (bool, error)
}

// A Call is the context of one call of a provider. With the zero value nothing is shared between
// calls, notes are dropped, and operations on the bucket fail.
type Call struct {
	// Bucket is the bucket of the run.
	Bucket Bucket
	// Memo is shared by calls between which nothing is written.
	Memo *Memo
	// Run is shared by all calls of a run: see [Remember].
	Run *Memo
	// Note receives the provider's notes.
	Note func(text string)
	// Stopped returns why the run has to stop, or nil.
	Stopped func() error
	// Job identifies the Detached commands of the call that have no job of their own.
	Job host.Job
	// Planned returns what a plan would have changed by now; see [Planned].
	Planned func() []any
	// PlannedNames returns of a kind what that is; see [PlannedNames].
	PlannedNames func(kind string) map[string]bool
	// Trace keeps each state as it was read, before normalization, for [Resource.PropertyStates].
	Trace bool
}

// IsTraced reports whether states are kept as they were read; see [Call].Trace.
func IsTraced(h Reader) bool { return h.call().Trace }

// Reader returns h for a call that only reads.
func (c Call) Reader(h host.Reader) Reader { return reader{h, &scope{c}} }

// Writer returns h for a call that may also write.
func (c Call) Writer(h host.Host) Writer { return writer{h, &scope{c}} }

type reader struct {
	host.Reader
	*scope
}

type writer struct {
	host.Host
	*scope
}

// scope implements the methods that a Reader adds to those of a host.
type scope struct{ c Call }

func (s *scope) call() *Call { return &s.c }

func (s *scope) Note(text string) {
	if s.c.Note != nil {
		s.c.Note(text)
	}
}

func (s *scope) IsSecret(path, sum string) (bool, error) { return s.bucket().IsSecret(path, sum) }

// FitsBucket implements [Reader]. Where there is no bucket, nothing is saved.
func (s *scope) FitsBucket(path string, size int64) error {
	if s.c.Bucket == nil {
		return nil
	}
	return s.c.Bucket.Fits(path, size)
}

func (s *scope) bucket() Bucket {
	if s.c.Bucket == nil {
		return noBucket{}
	}
	return s.c.Bucket
}

func (w writer) Bucket() Bucket { return w.bucket() }

func (w writer) Stopped() error {
	if w.c.Stopped == nil {
		return nil
	}
	return w.c.Stopped()
}

func (w writer) Job() host.Job { return w.c.Job }

// Run implements [host.Host].
func (w writer) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	if cmd.Detached && cmd.Job == (host.Job{}) {
		cmd.Job = w.c.Job
	}
	return w.Host.Run(ctx, cmd)
}

// A Memo caches results of reads while nothing is written. See [Once]. Safe for concurrent use.
type Memo struct {
	mu      sync.Mutex
	results map[any]*result
}

type result struct {
	mu    sync.Mutex
	known bool
	value any
}

// NewMemo returns an empty Memo.
func NewMemo() *Memo { return &Memo{results: map[any]*result{}} }

// Once calls read and caches its result under the key in the Memo of h. Without a Memo it calls
// read every time. Errors are not cached. Each package uses a key type of its own. Safe for
// concurrent use.
func Once[T any](h Reader, key any, read func() (T, error)) (T, error) {
	memo := h.call().Memo
	if memo == nil {
		return read()
	}
	r := memo.result(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known {
		value, err := read()
		if err != nil {
			return value, err
		}
		r.value, r.known = value, true
	}
	return r.value.(T), nil
}

// Remember keeps a value under the key until the end of the run, for [Remembered]. Without a run it does nothing. Each package uses
// a key type of its own. Safe for concurrent use.
func Remember(h Reader, key, value any) {
	if memo := h.call().Run; memo != nil {
		r := memo.result(key)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.value, r.known = value, true
	}
}

// Remembered returns the value that was remembered under the key in this run; ok is false if none was. Safe for concurrent use.
func Remembered[T any](h Reader, key any) (value T, ok bool) {
	memo := h.call().Run
	if memo == nil {
		return value, false
	}
	r := memo.result(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	value, ok = r.value.(T)
	return value, ok && r.known
}

func (m *Memo) result(key any) *result {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.results[key]
	if !ok {
		r = &result{}
		m.results[key] = r
	}
	return r
}

// noBucket is the Bucket of a Call without one.
type noBucket struct{}

var errNoBucket = errors.New("there is no bucket: set Transaction.Bucket or Call.Bucket")

func (noBucket) Fits(string, int64) error                               { return errNoBucket }
func (noBucket) Backup(context.Context, host.Handle, string) error      { return errNoBucket }
func (noBucket) Path(string) string                                     { return "" }
func (noBucket) RecordSecrets(context.Context, map[string]string) error { return errNoBucket }
func (noBucket) ForgetPath(context.Context, string) error               { return errNoBucket }
func (noBucket) IsSecret(string, string) (bool, error)                  { return false, errNoBucket }

func (noBucket) Save(context.Context, host.Handle, string) (string, error) {
	return "", errNoBucket
}

func (noBucket) HoldsSecret(context.Context, host.Handle, string) (bool, error) {
	return false, errNoBucket
}
