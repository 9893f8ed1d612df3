package nodeagent_test

import (
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
)

// A door forwards connections to another address while it is open. While it is shut, connections end at once, as during
// an API server outage. It listens all the time, because a port on which nobody listens may be taken.
type door struct {
	address string
	to      string

	mu   sync.Mutex
	shut bool
	open map[net.Conn]bool
}

func newDoor(t *testing.T, to string) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	d := &door{to: to, address: l.Addr().String(), open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = l.Close()
		d.lock()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go d.pass(c)
		}
	}()
	return d
}

// unlock lets connections pass again.
func (d *door) unlock() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = false
}

// lock ends all connections, and new ones at once.
func (d *door) lock() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
	for c := range d.open {
		_ = c.Close()
	}
	clear(d.open)
}

// enter reports whether the door was open, for the two connections of a way through.
func (d *door) enter(conns ...net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return false
	}
	for _, c := range conns {
		d.open[c] = true
	}
	return true
}

func (d *door) pass(in net.Conn) {
	out, err := net.Dial("tcp", d.to)
	if err != nil {
		_ = in.Close()
		return
	}
	if !d.enter(in, out) {
		_ = in.Close()
		_ = out.Close()
		return
	}
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
			_ = way[1].Close()
		}()
	}
}

func logger(to io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level}))
}
