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

// A proxy forwards connections from a machine to the API server. It listens at the server's address in the machine's network,
// so that the server's certificate is valid there.
type proxy struct {
	t       *testing.T
	pid     int
	address string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newProxy(t *testing.T, pid int, address string) *proxy {
	t.Helper()
	p := &proxy{t: t, pid: pid, address: address}
	p.listen()
	t.Cleanup(p.close)
	return p
}

// listen accepts connections.
func (p *proxy) listen() {
	p.t.Helper()
	listener, err := listenIn(p.pid, p.address)
	must(p.t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = listener
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(conn)
		}
	}()
}

// close ends all connections and accepts no more.
func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
	}
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

func (p *proxy) forward(from net.Conn) {
	to, err := net.Dial("tcp", p.address)
	if err != nil {
		_ = from.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, from, to)
	p.mu.Unlock()
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
