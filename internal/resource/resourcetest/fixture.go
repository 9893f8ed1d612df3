package resourcetest

import (
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Bind makes a resource from its attributes in JSON, with the provider that the host gives
// it. What can't be is the end of the test.
func Bind[A any](t *testing.T, typ *resource.Type[A], h host.Reader, name, attributes string) resource.Resource {
	t.Helper()
	r, err := typ.Erase().Bind(resource.Ref{Kind: typ.Name, Name: name}, json.RawMessage(attributes))
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

// Change reads a resource, makes the changes that it needs, and returns them. It does not
// look whether they had an effect: that is for a host to show.
func Change(t *testing.T, r resource.Resource, h host.Host) []resource.Change {
	t.Helper()
	if err := r.Read(t.Context(), struct{ host.Reader }{h}); err != nil {
		t.Fatal(err)
	}
	changes := r.Compare().Changes
	if len(changes) == 0 {
		return nil
	}
	if err := r.Write(t.Context(), h, changes); err != nil {
		t.Fatal(err)
	}
	return changes
}
