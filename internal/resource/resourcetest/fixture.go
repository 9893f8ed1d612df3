package resourcetest

import (
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// Reader returns a host for a provider that reads, with the host's default bucket.
func Reader(h host.Reader) resource.Reader { return call(h).Reader(h) }

// Writer returns a host for a provider that writes, with the host's default bucket.
func Writer(h host.Host) resource.Writer { return call(h).Writer(h) }

func call(h host.Reader) resource.Call {
	on, writable := h.(host.Host)
	if !writable {
		on = readOnly{from: h}
	}
	return resource.Call{Bucket: bucket.New(on, bucket.DefaultDir, bucket.DefaultLimit)}
}

// readOnly is the host of a bucket whose records are only read.
type readOnly struct {
	host.Host // nil
	from      host.Reader
}

func (r readOnly) Lstat(path string) (host.FileInfo, error) { return r.from.Lstat(path) }
func (r readOnly) ReadFile(path string) ([]byte, error)     { return r.from.ReadFile(path) }

// Bind makes a resource from attributes in JSON and chooses the host's default provider. An error
// fails the test.
func Bind[A any](t *testing.T, typ *resource.Type[A], h host.Reader, name, attributes string) resource.Resource {
	t.Helper()
	r, err := bound.Kind(typ).Bind(resource.Ref{Kind: typ.Name, Name: name}, json.RawMessage(attributes))
	if err == nil {
		err = r.Choose(nil, h, "")
	}
	if err == nil {
		err = r.Unsupported()
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Change reads a resource, makes the necessary changes, and returns them. It does not check their
// effect; inspect the host for that.
func Change(t *testing.T, r resource.Resource, h host.Host) []resource.Change {
	t.Helper()
	if err := r.Read(t.Context(), Reader(h)); err != nil {
		t.Fatal(err)
	}
	changes := r.Compare().Changes
	if len(changes) == 0 {
		return nil
	}
	if err := r.Write(t.Context(), Writer(h), changes); err != nil {
		t.Fatal(err)
	}
	return changes
}
