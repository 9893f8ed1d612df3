package facts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host"
)

const ipOutput = `[
{"ifname":"lo","link_type":"loopback","address":"00:00:00:00:00:00","mtu":65536,"addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8}]},
{"ifname":"eth0","link_type":"ether","address":"52:54:00:12:34:56","mtu":1500,"addr_info":[
 {"family":"inet","local":"10.1.2.3","prefixlen":20},
 {"family":"inet","local":"10.9.9.9","prefixlen":32},
 {"family":"inet6","local":"fe80::1","prefixlen":64},
 {"family":"inet6","local":"2001:db8::aaaa","prefixlen":64,"temporary":true},
 {"family":"inet6","local":"2001:db8::3","prefixlen":64}]},
{"ifname":"eth1","link_type":"ether","address":"52:54:00:00:00:01","mtu":1500,"addr_info":[]},
{"ifname":"cali12345","link_type":"ether","address":"ee:ee:ee:ee:ee:ee","mtu":1500,"addr_info":[]},
{}]`

const routes = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth1	00000000	0101010A	0003	0	0	200	00000000	0	0	0
eth0	00000000	0101010A	0003	0	0	100	00000000	0	0	0
eth0	0000010A	00000000	0001	0	0	0	00F0FFFF	0	0	0
`

func TestNetworkFacts(t *testing.T) {
	h := withFiles(t, map[string]string{
		"/etc/hostname":     "# a comment\nweb-1\n",
		"/etc/hosts":        "127.0.0.1 localhost\n10.1.2.3 web-1.example.org web-1 # us\n",
		"/etc/resolv.conf":  "search other.example\n",
		"/proc/1/net/route": routes,
	})
	h.Handle("ip", func(host.Cmd) host.Result { return host.Result{Stdout: []byte(ipOutput)} })
	got, errs := facts.Gather(t.Context(), h)
	if len(errs) > 0 {
		t.Error(errs)
	}
	four := []any{
		map[string]any{"address": "10.1.2.3", "netmask": "255.255.240.0", "network": "10.1.0.0"},
		map[string]any{"address": "10.9.9.9", "netmask": "255.255.255.255", "network": "10.9.9.9"},
	}
	six := []any{
		map[string]any{"address": "fe80::1", "netmask": "ffff:ffff:ffff:ffff::", "network": "fe80::"},
		map[string]any{"address": "2001:db8::3", "netmask": "ffff:ffff:ffff:ffff::", "network": "2001:db8::"},
	}
	want := map[string]any{
		"hostname": "web-1", "domain": "example.org", "fqdn": "web-1.example.org",
		"primary": "eth0", "ip": "10.1.2.3", "netmask": "255.255.240.0", "network": "10.1.0.0",
		"ip6": "2001:db8::3", "netmask6": "ffff:ffff:ffff:ffff::", "network6": "2001:db8::",
		"mac": "52:54:00:12:34:56", "mtu": 1500.0,
		"interfaces": map[string]any{
			"lo": map[string]any{
				"ip": "127.0.0.1", "netmask": "255.0.0.0", "network": "127.0.0.0", "mtu": 65536.0,
				"bindings": []any{map[string]any{"address": "127.0.0.1", "netmask": "255.0.0.0", "network": "127.0.0.0"}},
			},
			"eth0": map[string]any{
				"ip": "10.1.2.3", "netmask": "255.255.240.0", "network": "10.1.0.0", "mac": "52:54:00:12:34:56", "mtu": 1500.0,
				"ip6": "2001:db8::3", "netmask6": "ffff:ffff:ffff:ffff::", "network6": "2001:db8::", "bindings": four, "bindings6": six,
			},
			"eth1": map[string]any{"mac": "52:54:00:00:00:01", "mtu": 1500.0},
		},
	}
	if diff := cmp.Diff(want, got["networking"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"? ip -j addr show"}, h.Transcript()); diff != "" {
		t.Error(diff)
	}
}

func TestInterfacesHaveNoAddressesWithoutIPCommand(t *testing.T) {
	h := withFiles(t, map[string]string{"/sys/class/net/eth0/address": "52:54:00:12:34:56\n", "/sys/class/net/eth0/mtu": "9000\n", "/sys/class/net/veth1/address": "1\n"})
	h.Handle("ip", func(host.Cmd) host.Result { return host.Result{ExitCode: 255, Stderr: []byte("unknown option")} })
	h.Handle("uname", func(host.Cmd) host.Result { return host.Result{Stdout: []byte("asked.example.org\n")} })
	got, errs := facts.Gather(t.Context(), h)
	if len(errs) > 0 {
		t.Error(errs)
	}
	want := map[string]any{
		"hostname": "asked", "domain": "example.org", "fqdn": "asked.example.org",
		"interfaces": map[string]any{"eth0": map[string]any{"mac": "52:54:00:12:34:56", "mtu": 9000.0}},
	}
	if diff := cmp.Diff(want, got["networking"]); diff != "" {
		t.Error(diff)
	}
}

func TestDomainAndPrimaryInterface(t *testing.T) {
	const (
		eth0    = `{"ifname":"eth0","link_type":"ether","addr_info":[{"local":"fe80::1","prefixlen":64}]}`
		eth1    = `{"ifname":"eth1","link_type":"ether","addr_info":[{"local":"2001:db8::3","prefixlen":64}]}`
		nowhere = "00000000000000000000000000000000"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]string // by fact
	}{
		"splits a hostname with a domain": {
			map[string]string{"/etc/hostname": "web-1.example.org\n", "/etc/resolv.conf": "domain other.example\n"},
			map[string]string{"networking.hostname": "web-1", "networking.domain": "example.org"},
		},
		"prefers domain over search in resolv.conf": {
			map[string]string{"/etc/hostname": "web-1\n", "/etc/resolv.conf": "search one.example two.example\ndomain example.org.\n"},
			map[string]string{"networking.fqdn": "web-1.example.org"},
		},
		"uses the first search domain": {
			map[string]string{"/etc/hostname": "web-1\n", "/etc/hosts": "127.0.1.1 web-1.localdomain web-1\n", "/etc/resolv.conf": "search one.example two.example\n"},
			map[string]string{"networking.fqdn": "web-1.one.example"},
		},
		"takes the primary interface from the IPv6 default route": {
			map[string]string{"/proc/1/net/ipv6_route": nowhere + " 00 " + nowhere + " 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth0\n"},
			map[string]string{"networking.primary": "eth0", "networking.ip6": "fe80::1"},
		},
		"without a route, takes the first interface with a global address": {
			map[string]string{"/proc/1/net/ipv6_route": nowhere + " 00 " + nowhere + " 00 " + nowhere + " ffffffff 00000001 00000000 00200200 lo\n"},
			map[string]string{"networking.primary": "eth1", "networking.ip6": "2001:db8::3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := withFiles(t, c.files)
			h.Handle("ip", func(host.Cmd) host.Result { return host.Result{Stdout: []byte("[" + eth0 + "," + eth1 + "]")} })
			h.Handle("uname", func(host.Cmd) host.Result { return host.Result{} })
			got, errs := facts.Gather(t.Context(), h)
			if len(errs) > 0 {
				t.Error(errs)
			}
			for fact, want := range c.want {
				if is := got.String(fact); is != want {
					t.Errorf("%s is %q, want %q", fact, is, want)
				}
			}
		})
	}
}
