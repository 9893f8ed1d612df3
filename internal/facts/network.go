package facts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// commandLimit bounds commands that normally finish at once.
const commandLimit = 10 * time.Second

func (g *gatherer) networking() map[string]any {
	facts := g.names()
	interfaces := g.interfaces()
	all := map[string]any{}
	for _, i := range interfaces {
		all[i.name] = i.facts()
	}
	set(facts, "interfaces", all)
	primary := primaryInterface(interfaces, g.text("/proc/1/net/route"), g.text("/proc/1/net/ipv6_route"))
	if i := slices.IndexFunc(interfaces, func(i netInterface) bool { return i.name == primary }); i >= 0 {
		facts["primary"] = primary
		for name, v := range interfaces[i].facts() {
			if name != "bindings" && name != "bindings6" {
				facts[name] = v
			}
		}
	}
	return facts
}

// names are hostname, domain and fqdn.
func (g *gatherer) names() map[string]any {
	hostname, domain, _ := strings.Cut(g.hostname(), ".")
	if hostname == "" {
		return map[string]any{}
	}
	domain = cmp.Or(domain, domainInHosts(g.text("/etc/hosts"), hostname), domainInResolver(g.text("/etc/resolv.conf")))
	facts := map[string]any{"hostname": hostname, "fqdn": hostname}
	if domain != "" {
		facts["domain"], facts["fqdn"] = domain, hostname+"."+domain
	}
	return facts
}

// hostname returns the configured host name. The kernel returns the reader's own name, so it is the last resort.
func (g *gatherer) hostname() string {
	for line := range strings.Lines(g.text("/etc/hostname")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	if out, ok := g.query("uname", "-n"); ok {
		return strings.TrimSpace(string(out))
	}
	return g.line("/proc/sys/kernel/hostname")
}

// query runs a command that the host may not have.
func (g *gatherer) query(args ...string) (stdout []byte, ok bool) {
	if _, err := g.LookPath(args[0]); err != nil {
		return nil, false
	}
	res, err := g.Query(g.ctx, host.Cmd{Args: args, Timeout: commandLimit})
	if errors.Is(err, fs.ErrNotExist) || g.failed(err, "run "+args[0]) {
		return nil, false
	}
	return res.Stdout, res.ExitCode == 0
}

func domainInHosts(hosts, hostname string) string {
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) < 2 || !slices.Contains(f[1:], hostname) {
			continue
		}
		for _, name := range f[1:] {
			if domain, ok := strings.CutPrefix(name, hostname+"."); ok && domain != "localdomain" {
				return domain
			}
		}
	}
	return ""
}

func domainInResolver(conf string) string {
	search := ""
	for line := range strings.Lines(conf) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		switch f[0] {
		case "domain":
			return strings.TrimSuffix(f[1], ".")
		case "search":
			search = cmp.Or(search, strings.TrimSuffix(f[1], "."))
		}
	}
	return search
}

// netInterface is one network interface.
type netInterface struct {
	name, mac string
	mtu       int
	addresses []netip.Prefix // with the host's bits
}

// interfaces runs ip, because containers can't read the host's addresses from files. Without an ip that supports JSON,
// interfaces have no addresses.
func (g *gatherer) interfaces() []netInterface {
	if out, ok := g.query("ip", "-j", "addr", "show"); ok {
		if list, err := parseIP(out); err == nil {
			return list
		}
	}
	names, err := g.ReadDir("/sys/class/net")
	if g.failed(err, "list network interfaces") {
		return nil
	}
	var list []netInterface
	for _, n := range names {
		if containers(n) {
			continue
		}
		i := netInterface{name: n, mac: realMAC(g.line("/sys/class/net/" + n + "/address"))}
		i.mtu, _ = strconv.Atoi(g.line("/sys/class/net/" + n + "/mtu"))
		list = append(list, i)
	}
	return list
}

// ipLink is an interface in the output of `ip -j addr`.
type ipLink struct {
	Name      string `json:"ifname"`
	Type      string `json:"link_type"`
	MAC       string `json:"address"`
	MTU       int    `json:"mtu"`
	Addresses []struct {
		Local     string `json:"local"`
		Prefix    int    `json:"prefixlen"`
		Temporary bool   `json:"temporary"`
	} `json:"addr_info"`
}

func parseIP(text []byte) ([]netInterface, error) {
	var links []ipLink
	if err := json.Unmarshal(text, &links); err != nil {
		return nil, fmt.Errorf("cannot read the output of ip: %w", err)
	}
	var list []netInterface
	for _, l := range links {
		if l.Name == "" || containers(l.Name) {
			continue
		}
		i := netInterface{name: l.Name, mtu: l.MTU}
		if l.Type == "ether" {
			i.mac = realMAC(l.MAC)
		}
		for _, a := range l.Addresses {
			if ip, err := netip.ParseAddr(a.Local); err == nil && !a.Temporary {
				if p := netip.PrefixFrom(ip, a.Prefix); p.IsValid() {
					i.addresses = append(i.addresses, p)
				}
			}
		}
		list = append(list, i)
	}
	return list, nil
}

// realMAC returns a MAC address, or "" for that of the loopback interface.
func realMAC(mac string) string {
	if mac == "00:00:00:00:00:00" {
		return ""
	}
	return mac
}

// containers reports whether container networks create interfaces with this name.
func containers(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.ContainsFunc([]string{
		"br-", "cali", "cbr", "cilium", "cni", "dummy", "docker", "flannel", "gre0", "gretap0", "erspan0", "ifb", "kube-", "lxc", "nodelocaldns",
		"podman", "sit0", "tunl0", "ve-", "vb-", "veth", "virbr", "vxlan.calico", "vxlan_sys", "weave", "ovn-", "ovs-", "genev_sys", "ip6tnl0", "ip6_vti0", "ip6gre0", "ip_vti0",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func (i netInterface) facts() map[string]any {
	facts := map[string]any{}
	set(facts, "mac", i.mac)
	if i.mtu > 0 {
		facts["mtu"] = float64(i.mtu)
	}
	var four, six []any
	for _, a := range i.addresses {
		b := binding(a)
		ip, netmask, network := "ip", "netmask", "network"
		if a.Addr().Is6() {
			ip, netmask, network = "ip6", "netmask6", "network6"
			six = append(six, b)
		} else {
			four = append(four, b)
		}
		if is, ok := facts[ip]; !ok || linkLocal(is) && !a.Addr().IsLinkLocalUnicast() {
			facts[ip], facts[netmask], facts[network] = b["address"], b["netmask"], b["network"]
		}
	}
	set(facts, "bindings", four)
	set(facts, "bindings6", six)
	return facts
}

func linkLocal(ip any) bool {
	s, _ := ip.(string)
	a, err := netip.ParseAddr(s)
	return err == nil && a.IsLinkLocalUnicast()
}

func binding(p netip.Prefix) map[string]any {
	return map[string]any{"address": p.Addr().String(), "netmask": mask(p), "network": p.Masked().Addr().String()}
}

// mask returns the length of a prefix as an address.
func mask(p netip.Prefix) string {
	ones := make([]byte, p.Addr().BitLen()/8)
	for i := range p.Bits() {
		ones[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(ones)
	return a.String()
}

// primaryInterface is the interface of the default route, of IPv4 or else IPv6; without a
// route, the first interface with a global address.
func primaryInterface(list []netInterface, route, route6 string) string {
	if name := cmp.Or(defaultRoute(route), defaultRoute6(route6)); name != "" {
		return name
	}
	for _, i := range list {
		if slices.ContainsFunc(i.addresses, func(p netip.Prefix) bool { return p.Addr().IsGlobalUnicast() }) {
			return i.name
		}
	}
	return ""
}

// defaultRoute returns the interface of the default route with the lowest metric in /proc/net/route.
func defaultRoute(table string) string {
	best, metric := "", 0
	for line := range strings.Lines(table) {
		f := strings.Fields(line) // Iface Destination Gateway Flags RefCnt Use Metric Mask
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		if m, err := strconv.Atoi(f[6]); err == nil && (best == "" || m < metric) {
			best, metric = f[0], m
		}
	}
	return best
}

// defaultRoute6 returns the interface of the first default route in /proc/net/ipv6_route.
func defaultRoute6(table string) string {
	zero := func(hex string) bool { return strings.Trim(hex, "0") == "" }
	for line := range strings.Lines(table) {
		f := strings.Fields(line) // destination, its length, source, its length, next hop, metric, ..., device
		if len(f) == 10 && zero(f[0]) && zero(f[1]) && !zero(f[4]) {
			return f[9]
		}
	}
	return ""
}
