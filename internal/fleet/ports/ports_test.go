package ports_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/fettle-dev/fettle/internal/fleet/ports"
)

func TestOnePeerCannotUseAllConnections(t *testing.T) {
	t.Parallel()

	l, err := ports.Listen(t.Context(), "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	var open, most atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			most.Store(max(most.Load(), open.Add(1)))
			go func() {
				_, _ = io.Copy(c, c) // until either side ends it
				open.Add(-1)
				_ = c.Close()
			}()
		}
	}()
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	echo := func(c net.Conn) error {
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	before := dial("127.0.0.2")
	must(t, echo(before))
	var flood []net.Conn
	for range 2 * ports.MaxConnections {
		flood = append(flood, dial("127.0.0.3"))
		must(t, echo(flood[len(flood)-1]))
	}
	must(t, echo(before))
	must(t, echo(dial("127.0.0.2")))
	if err := echo(flood[0]); err == nil {
		t.Error("the oldest of too many connections is open")
	}
	if n := most.Load(); n > ports.MaxConnections+10 { // those that are about to end
		t.Errorf("%d connections were open at a time", n)
	}
	// What ends makes room.
	for _, c := range flood {
		must(t, c.Close())
	}
	must(t, echo(before))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
