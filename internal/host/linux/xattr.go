package linux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// xattr reads an extended attribute through an O_PATH descriptor.
func xattr(fd int, name string) ([]byte, error) {
	return sized(func(buf []byte) (int, error) { return unix.Getxattr(fdPath(fd), name, buf) })
}

// sized makes a call that first tells how much room it needs, which may change meanwhile.
// It is nil where there is nothing, or can't be.
func sized(call func([]byte) (int, error)) (data []byte, err error) {
	for range maxRetries {
		n, err := call(nil)
		if err != nil || n == 0 {
			return nil, ignore(err, unix.ENODATA, unix.ENOTSUP)
		}
		data = make([]byte, n)
		if n, err = call(data); !errors.Is(err, unix.ERANGE) {
			return data[:max(n, 0)], ignore(err, unix.ENODATA, unix.ENOTSUP)
		}
	}
	return nil, err
}

// An extended attribute of a file.
type extended struct {
	name  string
	value []byte
}

const (
	accessACL  = "system.posix_acl_access"
	defaultACL = "system.posix_acl_default"
)

// outlives reports whether an extended attribute is about the file by its name, and so
// stays when another one takes its place. What vouches for its content is not: neither
// capabilities, which the kernel drops at every write too, nor signatures of it.
func outlives(name string) bool {
	return strings.HasPrefix(name, "user.") || name == accessACL || name == "security.selinux" ||
		strings.HasPrefix(name, "trusted.") && !strings.HasPrefix(name, "trusted.overlay.")
}

// closed is an access list without what a mode says of it too: the mask and what all
// others may. The mode that follows says it anew, and may allow less than the old one.
func closed(list []byte) []byte {
	const header, entry, mask, others = 4, 8, 0x10, 0x20
	list = slices.Clone(list)
	for e := header; e+entry <= len(list); e += entry {
		if tag := binary.LittleEndian.Uint16(list[e:]); tag == mask || tag == others {
			binary.LittleEndian.PutUint16(list[e+2:], 0)
		}
	}
	return list
}

// lasting are the extended attributes of an open file that outlive its content.
func lasting(fd int) ([]extended, error) {
	list, err := sized(func(buf []byte) (int, error) { return unix.Listxattr(fdPath(fd), buf) })
	if err != nil {
		return nil, fmt.Errorf("cannot list extended attributes: %w", err)
	}
	var all []extended
	for name := range strings.SplitSeq(string(list), "\x00") {
		if !outlives(name) {
			continue
		}
		value, err := xattr(fd, name)
		if err != nil {
			return nil, fmt.Errorf("cannot read extended attribute %s: %w", name, err)
		}
		if name == accessACL {
			value = closed(value)
		}
		all = append(all, extended{name, value})
	}
	return all, nil
}

// inherit gives a staged file the extended attributes of the one that it replaces, and
// takes those away that its directory gives to new files.
func inherit(fd int, all []extended) error {
	if !slices.ContainsFunc(all, func(x extended) bool { return x.name == accessACL }) {
		if err := unix.Fremovexattr(fd, accessACL); ignore(err, unix.ENODATA, unix.ENOTSUP) != nil {
			return fmt.Errorf("cannot remove the access list that the directory gives: %w", err)
		}
	}
	for _, x := range all {
		// A label that is right already needs nobody's leave to be set.
		is, err := sized(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, x.name, buf) })
		if err == nil && is != nil && bytes.Equal(is, x.value) {
			continue
		}
		if err := unix.Fsetxattr(fd, x.name, x.value, 0); err != nil {
			return fmt.Errorf("cannot keep extended attribute %s: %w", x.name, err)
		}
	}
	return nil
}
