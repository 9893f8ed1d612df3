package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are system calls that reach past the namespaces, or past this filter.
func denied() []uint32 {
	return []uint32{
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, // the keyrings of root
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, // the kernel
		unix.SYS_OPEN_BY_HANDLE_AT, // any file of a file system, also outside the root, with the capability to read all files
		unix.SYS_IO_URING_SETUP,    // sockets without the system call socket
	}
}

// families are the address families of sockets. Namespaces do not separate others, such as AF_VSOCK. Nor do they
// separate the Unix sockets in the file system, which may be anywhere.
func families(sockets bool) []uint32 {
	all := []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	if sockets {
		all = append(all, unix.AF_UNIX)
	}
	return all
}

// Offsets in struct seccomp_data.
const (
	numberOffset   = 0
	archOffset     = 4
	argumentOffset = 16 // the low half of the first argument, on a little-endian machine
)

// x32 is a bit in the numbers of an amd64 kernel's second table of system calls.
const x32 = 0x40000000

// installFilter limits the system calls of the calling thread and of all commands that it starts from now on.
func installFilter(sockets bool) error {
	arch, err := auditArch()
	if err != nil {
		return err
	}
	program := filter(arch, sockets)
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // a few instructions
	err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&p)), 0, 0)
	runtime.KeepAlive(program)
	if err != nil {
		return fmt.Errorf("cannot filter system calls: %w", err)
	}
	return nil
}

func auditArch() (uint32, error) {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64, nil
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64, nil
	}
	return 0, fmt.Errorf("cannot filter system calls on %s: use amd64 or arm64", runtime.GOARCH)
}

// filter kills programs of another architecture, which have other numbers.
func filter(arch uint32, sockets bool) []unix.SockFilter {
	program := slices.Concat(
		load(archOffset), unless(arch, unix.SECCOMP_RET_KILL_PROCESS),
		load(numberOffset), []unix.SockFilter{
			{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jt: 0, Jf: 1, K: x32}, returned(failure(unix.ENOSYS)),
		},
	)
	for _, number := range denied() {
		program = append(program, when(number, failure(unix.EPERM))...)
	}
	program = append(program, unless(unix.SYS_SOCKET, unix.SECCOMP_RET_ALLOW)...)
	program = append(program, load(argumentOffset)...)
	for _, family := range families(sockets) {
		program = append(program, when(family, unix.SECCOMP_RET_ALLOW)...)
	}
	return append(program, returned(failure(unix.EAFNOSUPPORT)))
}

func load(offset uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}}
}

// when returns an action if the loaded value is equal to another one.
func when(value, action uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: value}, returned(action)}
}

// unless returns an action if the loaded value differs from another one.
func unless(value, action uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, Jf: 0, K: value}, returned(action)}
}

func returned(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

func failure(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
