package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are system calls that reach past the namespaces, or past this filter, or use up what all processes of root share.
func denied() []uint32 {
	return append([]uint32{
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, // the keyrings of root
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, // the kernel
		unix.SYS_OPEN_BY_HANDLE_AT,                     // any file of a file system, also outside the root, with the capability to read all files
		unix.SYS_IO_URING_SETUP,                        // sockets without the system call socket
		unix.SYS_PIDFD_GETFD,                           // descriptors of other processes
		unix.SYS_INOTIFY_INIT1, unix.SYS_FANOTIFY_INIT, // root has only so many watches
	}, deniedHere()...)
}

// missing are system calls to keep memory that no limit of a process counts. Programs know kernels without them.
func missing() []uint32 {
	return []uint32{unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET}
}

// families are the address families of sockets, beside AF_NETLINK for questions about the network. Namespaces do not separate
// others, such as AF_VSOCK. Nor do they separate the Unix sockets in the file system, which may be anywhere.
func families(sockets bool) []uint32 {
	all := []uint32{unix.AF_INET, unix.AF_INET6}
	if sockets {
		all = append(all, unix.AF_UNIX)
	}
	return all
}

// Offsets in struct seccomp_data.
const (
	numberOffset = 0
	archOffset   = 4
)

// argument is the offset of the low half of an argument, counted from 0, on a little-endian machine.
func argument(n uint32) uint32 { return 16 + 8*n }

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
	for _, number := range missing() {
		program = append(program, when(number, failure(unix.ENOSYS))...)
	}
	for _, rule := range []struct {
		number uint32
		checks []unix.SockFilter
	}{
		{unix.SYS_SOCKET, socketChecks(sockets)}, {unix.SYS_SOCKETPAIR, pairChecks()}, {unix.SYS_FCNTL, leaseChecks()}, {unix.SYS_MMAP, mapChecks()},
	} {
		program = append(program, jumpUnless(rule.number, len(rule.checks)))
		program = append(program, rule.checks...)
	}
	return append(program, returned(unix.SECCOMP_RET_ALLOW))
}

// The checks of a system call's arguments. They return in any case.

func socketChecks(sockets bool) []unix.SockFilter {
	checks := load(argument(0))
	for _, family := range families(sockets) {
		checks = append(checks, when(family, unix.SECCOMP_RET_ALLOW)...)
	}
	checks = append(checks, unless(unix.AF_NETLINK, failure(unix.EAFNOSUPPORT))...)
	checks = append(checks, load(argument(2))...)
	checks = append(checks, unless(unix.NETLINK_ROUTE, failure(unix.EPROTONOSUPPORT))...)
	return append(checks, returned(unix.SECCOMP_RET_ALLOW))
}

// pairChecks leave only pairs of sockets that stay connected to each other: a socket for datagrams sends to any address.
func pairChecks() []unix.SockFilter {
	const types = 0xf // the others are flags
	return slices.Concat(
		load(argument(1)), masked(types), when(unix.SOCK_STREAM, unix.SECCOMP_RET_ALLOW), when(unix.SOCK_SEQPACKET, unix.SECCOMP_RET_ALLOW),
		[]unix.SockFilter{returned(failure(unix.EPROTONOSUPPORT))},
	)
}

// leaseChecks prevent leases, which hold up others who open a file.
func leaseChecks() []unix.SockFilter {
	return slices.Concat(
		load(argument(1)), when(unix.F_SETLEASE, failure(unix.EPERM)), when(unix.F_NOTIFY, failure(unix.EPERM)),
		[]unix.SockFilter{returned(unix.SECCOMP_RET_ALLOW)},
	)
}

// mapChecks prevent memory that the limit of a process does not count: what processes share without a file, and stacks.
func mapChecks() []unix.SockFilter {
	const shared, stack = unix.MAP_SHARED | unix.MAP_ANONYMOUS, unix.MAP_GROWSDOWN
	return slices.Concat(
		load(argument(3)), masked(unix.MAP_TYPE|unix.MAP_ANONYMOUS), when(shared, failure(unix.EPERM)),
		load(argument(3)), masked(stack), when(stack, failure(unix.EPERM)),
		[]unix.SockFilter{returned(unix.SECCOMP_RET_ALLOW)},
	)
}

func load(offset uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}}
}

// when returns an action if the loaded value is equal to another one.
func when(value, action uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: value}, returned(action)}
}

// jumpUnless skips instructions if the loaded value differs from another one.
func jumpUnless(value uint32, instructions int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: uint8(instructions), K: value} //nolint:gosec // a few
}

// masked leaves only some bits of the loaded value.
func masked(bits uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: bits}}
}

// unless returns an action if the loaded value differs from another one.
func unless(value, action uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, Jf: 0, K: value}, returned(action)}
}

func returned(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

func failure(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
