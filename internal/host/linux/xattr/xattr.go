// Package xattr reads extended attributes and carries them over from a file to the one that replaces it.
package xattr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// The attributes that hold access lists: of a file, and for new files in a directory.
const (
	AccessACL  = "system.posix_acl_access"
	DefaultACL = "system.posix_acl_default"
)

// Get reads an attribute through an O_PATH descriptor. It is nil if the file has none or its file
// system does not support it.
func Get(fd int, name string) ([]byte, error) {
	return sized(func(buf []byte) (int, error) { return unix.Getxattr(descriptor.Path(fd), name, buf) })
}

// Remove removes an attribute if the file has it.
func Remove(fd int, name string) error {
	return ignoreNone(unix.Removexattr(descriptor.Path(fd), name))
}

func ignoreNone(err error) error { return descriptor.Ignore(err, unix.ENODATA, unix.ENOTSUP) }

// RemoveLists removes the access lists of a file or a directory. Its group then has what the list gave it: without a list, the
// mode of the group would be the list's mask.
func RemoveLists(fd int) error {
	list, err := Get(fd, AccessACL)
	if err == nil && list != nil {
		err = unix.Setxattr(descriptor.Path(fd), AccessACL, asMode(list), 0)
	}
	if err != nil {
		return fmt.Errorf("cannot remove its access list: %w", err)
	}
	if err := Remove(fd, DefaultACL); err != nil {
		return fmt.Errorf("cannot remove the access list that it gives to new files: %w", err)
	}
	return nil
}

// Parts of an access list.
const (
	listHeader, listEntry                         = 4, 8
	tagOwner, tagGroup, tagMask, tagOthers uint16 = 0x01, 0x04, 0x10, 0x20
)

// entries calls visit with the tag and the permissions of each entry of an access list.
func entries(list []byte, visit func(tag uint16, entry []byte)) {
	for e := listHeader; e+listEntry <= len(list); e += listEntry {
		visit(binary.LittleEndian.Uint16(list[e:]), list[e:e+listEntry])
	}
}

// asMode returns an access list of owner, group and others alone, which the kernel keeps as a mode.
func asMode(list []byte) []byte {
	mask := ^uint16(0)
	entries(list, func(tag uint16, e []byte) {
		if tag == tagMask {
			mask = binary.LittleEndian.Uint16(e[2:])
		}
	})
	basic := slices.Clone(list[:listHeader])
	entries(list, func(tag uint16, e []byte) {
		switch tag {
		case tagGroup:
			e = slices.Clone(e)
			binary.LittleEndian.PutUint16(e[2:], binary.LittleEndian.Uint16(e[2:])&mask)
		case tagOwner, tagOthers:
		default:
			return
		}
		basic = append(basic, e...)
	})
	return basic
}

// sized makes a call that first returns the size of its result, which may change until the next call.
func sized(call func([]byte) (int, error)) (data []byte, err error) {
	for range descriptor.MaxRetries {
		n, err := call(nil)
		if err != nil || n == 0 {
			return nil, ignoreNone(err)
		}
		data = make([]byte, n)
		if n, err = call(data); !errors.Is(err, unix.ERANGE) {
			return data[:max(n, 0)], ignoreNone(err)
		}
	}
	return nil, err
}

// An Attribute is one extended attribute of a file.
type Attribute struct {
	Name  string
	Value []byte
}

// maxLasting is how many bytes of attributes are kept. On some file systems, a user's file can have hundreds of megabytes of them.
const maxLasting = 1 << 20

var errTooLarge = fmt.Errorf("its extended attributes have more than %d bytes: remove some with setfattr -x", maxLasting)

// Lasting returns the attributes of an open file that stay when its content is replaced.
func Lasting(fd int) ([]Attribute, error) {
	list, err := sized(func(buf []byte) (int, error) { return unix.Listxattr(descriptor.Path(fd), buf) })
	if err != nil {
		return nil, fmt.Errorf("cannot list extended attributes: %w", err)
	}
	var all []Attribute
	size := 0
	for name := range strings.SplitSeq(string(list), "\x00") {
		if !outlives(name) {
			continue
		}
		value, err := Get(fd, name)
		if err != nil {
			return nil, fmt.Errorf("cannot read extended attribute %s: %w", name, err)
		}
		if size += len(name) + len(value); size > maxLasting {
			return nil, errTooLarge
		}
		if name == AccessACL {
			value = WithoutMask(value)
		}
		all = append(all, Attribute{name, value})
	}
	return all, nil
}

// outlives reports whether an attribute describes the file rather than its content. Capabilities,
// which the kernel drops at every write too, and signatures vouch for the content.
func outlives(name string) bool {
	return strings.HasPrefix(name, "user.") || name == AccessACL || name == "security.selinux" ||
		strings.HasPrefix(name, "trusted.") && !strings.HasPrefix(name, "trusted.overlay.")
}

// WithoutMask returns an access list that grants nothing by its mask and nothing to all others. The mode of
// the file sets both again, and may allow less than before.
func WithoutMask(list []byte) []byte {
	list = slices.Clone(list)
	entries(list, func(tag uint16, e []byte) {
		if tag == tagMask || tag == tagOthers {
			binary.LittleEndian.PutUint16(e[2:], 0)
		}
	})
	return list
}

// Replace gives a new file these attributes, and removes the access list that it got from its directory.
func Replace(fd int, all []Attribute) error {
	if !slices.ContainsFunc(all, func(x Attribute) bool { return x.Name == AccessACL }) {
		if err := ignoreNone(unix.Fremovexattr(fd, AccessACL)); err != nil {
			return fmt.Errorf("cannot remove the access list that the directory gives: %w", err)
		}
	}
	for _, x := range all {
		// Setting a label needs permission, also where it is right already.
		is, err := sized(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, x.Name, buf) })
		if err == nil && is != nil && bytes.Equal(is, x.Value) {
			continue
		}
		if err := unix.Fsetxattr(fd, x.Name, x.Value, 0); err != nil {
			return fmt.Errorf("cannot keep extended attribute %s: %w", x.Name, err)
		}
	}
	return nil
}
