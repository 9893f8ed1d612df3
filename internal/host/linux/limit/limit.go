// Package limit limits the memory and the number of tasks of a command.
package limit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/thread"
)

// Limits of a command and the processes that it starts. 0 is no limit.
type Limits struct {
	Memory int64             // in bytes; without a scope, of each process, and only what it has for itself
	Tasks  int               // processes and threads; without a scope there is no limit
	Scope  string            // name of a transient scope unit, such as "fettle-x.scope"; "" is none
	Run    string            // the host's /run, which has the sockets of its systemd and D-Bus
	As     *host.Credentials // the user of the process; nil is the user of this one
	// Depth is how many pid namespaces the command is below the host's systemd.
	Depth int
}

// Apply limits a process, which must have no children yet.
func Apply(ctx context.Context, pid int, l Limits) error {
	if err := thread.Run(func() error { return l.setResources(pid) }); err != nil {
		return fmt.Errorf("cannot limit the resources of the process: %w", err)
	}
	if l.Scope == "" || l.Memory <= 0 && l.Tasks <= 0 {
		return nil
	}
	if err := startScope(ctx, pid, l); err != nil {
		return fmt.Errorf("cannot limit the command in a scope of systemd: %w", err)
	}
	return nil
}

// setResources limits a process on a thread that is thrown away. As the user of the process, it needs no capability.
func (l Limits) setResources(pid int) error {
	if l.As != nil {
		if err := become(*l.As); err != nil {
			return err
		}
	}
	// With this limit, the kernel does not start the program in its core_pattern, which would run on the host.
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}, nil); err != nil {
		return err
	}
	if l.Memory <= 0 {
		return nil
	}
	most := uint64(l.Memory)
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
		return err
	}
	return limitStack(pid, most)
}

// limitStack limits the stack of the first thread, which RLIMIT_DATA does not count. It raises no limit.
func limitStack(pid int, most uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_STACK, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_STACK, &unix.Rlimit{Cur: min(now.Cur, most), Max: min(now.Max, most)}, nil)
}

// become changes the user of the calling thread. The functions of Go would change it for all threads.
func become(who host.Credentials) error {
	gid, uid := uintptr(who.GID), uintptr(who.UID)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid); errno != 0 {
		return errno
	}
	return nil
}

// startScope returns when the process is in the scope, which ends with its last process.
func startScope(ctx context.Context, pid int, l Limits) error {
	pid, err := pidAbove(pid, l.Depth)
	if err != nil {
		return err
	}
	conn, err := dbus.NewConnection(func() (*godbus.Conn, error) { return dial(ctx, l.Run) })
	if err != nil {
		return err
	}
	defer conn.Close()
	ended := make(chan string, 1)
	if _, err := conn.StartTransientUnitContext(ctx, l.Scope, "fail", l.properties(pid), ended); err != nil {
		return err
	}
	select {
	case result := <-ended:
		if result != "done" {
			return fmt.Errorf("the start of %s ended with %q", l.Scope, result)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l Limits) properties(pid int) []dbus.Property {
	all := []dbus.Property{
		dbus.PropDescription("A command of Fettle"),
		dbus.PropPids(uint32(pid)), //nolint:gosec // numbers of processes are positive
		property("CollectMode", "inactive-or-failed"),
	}
	if l.Memory > 0 {
		all = append(all, property("MemoryMax", uint64(l.Memory)), property("MemorySwapMax", uint64(0)))
	}
	if l.Tasks > 0 {
		all = append(all, property("TasksMax", uint64(l.Tasks)))
	}
	return all
}

func property(name string, value any) dbus.Property {
	return dbus.Property{Name: name, Value: godbus.MakeVariant(value)}
}

// dial connects to systemd itself, since a host need not have D-Bus. systemd refuses processes that it can't see, outside
// its pid namespace; they use D-Bus.
func dial(ctx context.Context, run string) (*godbus.Conn, error) {
	conn, err := authenticate(ctx, run+"/systemd/private")
	if err == nil {
		return conn, nil
	}
	conn, busErr := authenticate(ctx, run+"/dbus/system_bus_socket")
	if busErr == nil {
		busErr = conn.Hello()
	}
	if busErr != nil {
		return nil, errors.Join(err, busErr)
	}
	return conn, nil
}

func authenticate(ctx context.Context, socket string) (*godbus.Conn, error) {
	conn, err := godbus.Dial("unix:path="+socket, godbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	if err := conn.Auth([]godbus.Auth{godbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// pidAbove returns the number of a process in a pid namespace that is some levels above its own.
func pidAbove(pid, levels int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			all := strings.Fields(numbers) // the innermost namespace is the last one
			if levels >= len(all) {
				return 0, fmt.Errorf("process %d is not in a pid namespace of the host", pid)
			}
			return strconv.Atoi(all[len(all)-1-levels])
		}
	}
	return 0, errors.New("the kernel does not report the numbers of a process in pid namespaces: use one with CONFIG_PID_NS")
}
