package resource_test

import (
	"errors"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// sharing returns a reader with a Memo.
func sharing() resource.Reader { return resource.Call{Memo: resource.NewMemo()}.Reader(nil) }

func TestCallsThatShareAMemoReadOnce(t *testing.T) {
	reads := 0
	read := func(h resource.Reader, key any) int {
		t.Helper()
		n, err := resource.Once(h, key, func() (int, error) { reads++; return reads, nil })
		must(t, err)
		return n
	}
	memo := resource.NewMemo()
	one, other := resource.Call{Memo: memo}.Reader(nil), resource.Call{Memo: memo}.Reader(nil)
	if a, b := read(one, "users"), read(other, "users"); a != 1 || b != 1 {
		t.Errorf("reads with one memo gave %d and %d", a, b)
	}
	if n := read(one, "groups"); n != 2 {
		t.Errorf("another key gave %d", n)
	}
	if n := read(sharing(), "users"); n != 3 {
		t.Errorf("another memo gave %d", n)
	}
	none := resource.Call{}.Reader(nil)
	if a, b := read(none, "users"), read(none, "users"); a != 4 || b != 5 {
		t.Errorf("reads without a memo gave %d and %d", a, b)
	}
}

func TestMemoDoesNotRememberErrors(t *testing.T) {
	h := sharing()
	_, err := resource.Once(h, "users", func() (int, error) { return 0, errors.New("not yet") })
	wantError(t, err, "not yet")
	n, err := resource.Once(h, "users", func() (int, error) { return 7, nil })
	if must(t, err); n != 7 {
		t.Errorf("got %d", n)
	}
}

func TestReaderCannotWrite(t *testing.T) {
	h := resource.Call{}.Reader(struct{ host.Host }{})
	if _, ok := h.(host.Host); ok {
		t.Error("a reader is a host that can be changed")
	}
	if _, ok := h.(interface{ Bucket() resource.Bucket }); ok {
		t.Error("a reader hands out the bucket")
	}
}

func TestCallWithoutBucketReturnsErrors(t *testing.T) {
	h := resource.Call{}.Writer(nil)
	const none = "there is no bucket: set Transaction.Bucket or Call.Bucket"
	_, err := h.IsSecret("/f", "00")
	wantError(t, err, none)
	_, err = h.Bucket().Save(t.Context(), nil, "/f")
	wantError(t, err, none)
	wantError(t, h.Bucket().Backup(t.Context(), nil, "/f"), none)
	wantError(t, h.Bucket().RecordSecrets(t.Context(), nil), none)
}
