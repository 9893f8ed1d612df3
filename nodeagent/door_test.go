package nodeagent_test

import (
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
)

// A door forwards connections to another address while it is open. While it is shut, connections are refused, as
// during an API server outage.
type door struct {
	t       *testing.T
	address string
	to      string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
}

func newDoor(t *testing.T, to string) *door {
	t.Helper()
	d := &door{t: t, to: to, address: "127.0.0.1:0", open: map[net.Conn]bool{}}
	d.unlock()
	t.Cleanup(d.shut)
	return d
}

// unlock accepts connections again, at the same address.
func (d *door) unlock() {
	d.t.Helper()
	l, err := net.Listen("tcp", d.address)
	must(d.t, err)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listener, d.address = l, l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go d.pass(c)
		}
	}()
}

// shut closes all connections and refuses new ones.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.listener.Close()
	for c := range d.open {
		_ = c.Close()
	}
	clear(d.open)
}

func (d *door) pass(in net.Conn) {
	out, err := net.Dial("tcp", d.to)
	if err != nil {
		_ = in.Close()
		return
	}
	d.mu.Lock()
	d.open[in], d.open[out] = true, true
	d.mu.Unlock()
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
