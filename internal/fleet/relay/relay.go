// Package relay lets several managers serve what only the leader can answer.
//
// A manager that does not lead passes connections on to the leader, byte by byte. It sees nothing of them: their encryption and the
// identity of the client are between the client and the leader.
package relay

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Limits of a Listener.
const (
	dialTimeout = 5 * time.Second
	// leaderTTL is how long the address of the leader is used before it is read again.
	leaderTTL = 2 * time.Second
)

// A Listener accepts connections while this manager leads, and passes them on to the leader while it does not. Leads and Leader are
// required and called concurrently. The listener below it bounds the number of connections.
type Listener struct {
	net.Listener
	Leads func() bool
	// Leader returns the address and port of the leader. It is not called more often than every two seconds.
	Leader func(ctx context.Context) (netip.AddrPort, error)
	Log    *slog.Logger // nil logs nothing

	finding sync.Mutex
	leader  netip.AddrPort
	readAt  time.Time
}

// Accept returns the next connection for this manager.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || l.Leads() {
			return conn, err
		}
		go func() {
			defer func() { _ = conn.Close() }() // the copying has ended
			if err := l.forward(conn); err != nil && l.Log != nil {
				l.Log.Debug("cannot pass a connection on to the leader", "error", err)
			}
		}()
	}
}

// address returns the address of the leader.
func (l *Listener) address(ctx context.Context) (netip.AddrPort, error) {
	l.finding.Lock()
	defer l.finding.Unlock()
	if l.leader.IsValid() && time.Since(l.readAt) < leaderTTL {
		return l.leader, nil
	}
	leader, err := l.Leader(ctx)
	if err == nil {
		l.leader, l.readAt = leader, time.Now()
	}
	return leader, err
}

// forward passes a connection on to the leader, until either side ends it.
func (l *Listener) forward(conn net.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	to, err := l.address(ctx)
	if err != nil {
		return fmt.Errorf("cannot find the leader: %w", err)
	}
	if to.String() == conn.LocalAddr().String() {
		return fmt.Errorf("no manager leads: %s is the address of this one, which led before", to)
	}
	leader, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
	if err != nil {
		return fmt.Errorf("cannot reach the leader: %w", err)
	}
	defer func() { _ = leader.Close() }() // the copying has ended
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{conn, leader}, {leader, conn}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // an error ends the connection, as its end does
			done <- struct{}{}
		}()
	}
	<-done
	return nil
}

// Label encodes an address as the value of a label, which has no colons.
func Label(a netip.Addr) string {
	return strings.ReplaceAll(a.Unmap().WithZone("").StringExpanded(), ":", "-")
}

// ParseLabel is the reverse of Label.
func ParseLabel(value string) (netip.Addr, error) {
	a, err := netip.ParseAddr(strings.ReplaceAll(value, "-", ":"))
	if err != nil {
		return a, fmt.Errorf("%q is not the address of a leader: %w", value, err)
	}
	return a, nil
}
