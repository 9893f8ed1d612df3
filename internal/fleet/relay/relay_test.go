package relay_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/fleet/relay"
)

// serve answers each line of each connection with a name, until the test ends.
func serve(t *testing.T, name string, l net.Listener) {
	t.Helper()
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					fmt.Fprintf(conn, "%s: %s\n", name, lines.Text())
				}
				_ = conn.Close()
			}()
		}
	}()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// say returns the answer to a line.
func say(t *testing.T, to net.Addr, line string) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, line)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return "nothing"
	}
	return answer
}

func TestStandbyForwardsConnectionsUntilItLeads(t *testing.T) {
	t.Parallel()
	leader, standby := listen(t), listen(t)
	serve(t, "leader", leader)
	var leads atomic.Bool
	var known atomic.Pointer[netip.AddrPort]
	serve(t, "standby", &relay.Listener{Listener: standby, Leads: leads.Load, Leader: func(context.Context) (netip.AddrPort, error) {
		if a := known.Load(); a != nil {
			return *a, nil
		}
		return netip.AddrPort{}, fmt.Errorf("nobody leads")
	}})
	got := []string{say(t, standby.Addr(), "a")}
	known.Store(new(netip.MustParseAddrPort(leader.Addr().String())))
	got = append(got, say(t, standby.Addr(), "b"))
	leads.Store(true)
	got = append(got, say(t, standby.Addr(), "c"))
	if diff := cmp.Diff([]string{"nothing", "leader: b\n", "standby: c\n"}, got); diff != "" {
		t.Error(diff)
	}
}

// counting counts the connections of a listener.
type counting struct {
	net.Listener

	accepted atomic.Int32
}

func (l *counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return conn, err
}

// A manager whose container was started again is the leader for others, until its lease expires.
func TestFormerLeaderForwardsNoConnectionsToItself(t *testing.T) {
	t.Parallel()
	former := &counting{Listener: listen(t)}
	serve(t, "former", &relay.Listener{Listener: former, Leads: func() bool { return false }, Leader: func(context.Context) (netip.AddrPort, error) {
		if former.accepted.Load() > 10 {
			return netip.AddrPort{}, fmt.Errorf("this goes on for ever")
		}
		return netip.MustParseAddrPort(former.Addr().String()), nil
	}})
	if got := say(t, former.Addr(), "a"); got != "nothing" || former.accepted.Load() != 1 {
		t.Errorf("got %q by %d connections", got, former.accepted.Load())
	}
}

func TestAddressesAreValidLabels(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"10.0.0.5":        "10.0.0.5",
		"::ffff:10.0.0.5": "10.0.0.5",
		"fd00::1%eth0":    "fd00-0000-0000-0000-0000-0000-0000-0001",
	} {
		a := netip.MustParseAddr(address)
		label := relay.Label(a)
		back, err := relay.ParseLabel(label)
		if label != want || err != nil || back != a.Unmap().WithZone("") {
			t.Errorf("%s: label %s, back %s, %v", address, label, back, err)
		}
	}
	if _, err := relay.ParseLabel(""); err == nil {
		t.Error("no label is an address")
	}
}
