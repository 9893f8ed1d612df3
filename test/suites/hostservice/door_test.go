package hostservice_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/thread"
)

// A door is the way from a machine to the API server: it listens at the server's address in the machine's network, so
// that its certificate is valid there.
type door struct {
	t       *testing.T
	pid     int
	address string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newDoor(t *testing.T, pid int, address string) *door {
	t.Helper()
	d := &door{t: t, pid: pid, address: address}
	d.open()
	t.Cleanup(d.shut)
	return d
}

// open lets connections in.
func (d *door) open() {
	d.t.Helper()
	listener, err := listenIn(d.pid, d.address)
	must(d.t, err)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listener = listener
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go d.forward(conn)
		}
	}()
}

// shut ends all connections and accepts no others.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener != nil {
		_ = d.listener.Close()
	}
	for _, c := range d.conns {
		_ = c.Close()
	}
	d.conns = nil
}

func (d *door) forward(from net.Conn) {
	to, err := net.Dial("tcp", d.address)
	if err != nil {
		_ = from.Close()
		return
	}
	d.mu.Lock()
	d.conns = append(d.conns, from, to)
	d.mu.Unlock()
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.Close()
		_ = from.Close()
	}
	go pipe(to, from)
	pipe(from, to)
}

// listenIn listens in the network of a process.
func listenIn(pid int, address string) (listener net.Listener, err error) {
	err = thread.Run(func() error {
		namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			return err
		}
		defer namespace.Close()
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		listener, err = net.Listen("tcp", address)
		return err
	})
	return listener, err
}
