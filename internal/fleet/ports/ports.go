// Package ports bounds what anyone who can connect to a manager takes of its memory.
//
// Every pod of a cluster can connect unless network policies are in force, and the header of a request comes before anyone knows who
// sends it.
package ports

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
)

const (
	// MaxHeaderBytes is the size of the largest header of a request. API servers add the groups of users to it.
	MaxHeaderBytes = 64 << 10
	// MaxConnections is the number of connections that a port has at a time. API servers, kubelets and scrapers of metrics need a few.
	MaxConnections = 256
)

// Listen listens on an address. For each connection beyond MaxConnections, the oldest one of the peer with the most connections is
// closed, so that no peer keeps others out.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return &listener{Listener: l, peers: map[netip.Addr][]*conn{}}, nil
}

type listener struct {
	net.Listener

	mu    sync.Mutex
	count int
	peers map[netip.Addr][]*conn // their open connections, the oldest first
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	peer, _ := netip.ParseAddrPort(accepted.RemoteAddr().String()) // of TCP, it is one
	c := &conn{Conn: accepted, of: l, peer: peer.Addr().Unmap()}
	if surplus := l.add(c); surplus != nil {
		_ = surplus.Close() // nobody needs its error
	}
	return c, nil
}

// add adds a connection, and returns the one to close; nil if there is none.
func (l *listener) add(c *conn) (surplus *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.peers[c.peer] = append(l.peers[c.peer], c)
	if l.count++; l.count <= MaxConnections {
		return nil
	}
	var most []*conn
	for _, all := range l.peers {
		if len(all) > len(most) {
			most = all
		}
	}
	return most[0]
}

func (l *listener) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.peers[c.peer]
	i := slices.Index(all, c)
	if i < 0 {
		return // it is closed already
	}
	l.count--
	if l.peers[c.peer] = slices.Delete(all, i, i+1); len(l.peers[c.peer]) == 0 {
		delete(l.peers, c.peer)
	}
}

type conn struct {
	net.Conn

	of   *listener
	peer netip.Addr
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.of.remove(c)
	return c.Conn.Close()
}
