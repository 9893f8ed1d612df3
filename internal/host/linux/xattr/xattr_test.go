package xattr_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/fettle-dev/fettle/internal/host/linux/xattr"
)

// A staged file already has the new content, so it must not grant access that the new mode denies.
func TestWithoutMaskGrantsNothingBeforeModeIsSet(t *testing.T) {
	want := acl(6, 6, 4, 0, 0)
	if got := xattr.WithoutMask(acl(6, 6, 4, 7, 5)); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	for n := range want {
		xattr.WithoutMask(want[:n]) // a truncated list must not panic
	}
}

// acl returns an access list in the kernel's format.
func acl(owner, user, group, mask, other uint16) []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, owner, 1<<32 - 1}, {2, user, 1234}, {4, group, 1<<32 - 1}, {16, mask, 1<<32 - 1}, {32, other, 1<<32 - 1}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return list
}
