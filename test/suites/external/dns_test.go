// Package external_test runs external types on disposable machines.
package external_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/cli/typetest"
	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/external/authoring"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/providers/external"
	"github.com/fettle-dev/fettle/providers/purge"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// apiKey is the key of the server's API.
const apiKey = "powerdns-api-key-marker"

// pdns is the configuration of PowerDNS: its journal has a line for each request to the API.
const pdns = `launch=gsqlite3
gsqlite3-database=/var/lib/powerdns/zones.db
local-address=127.0.0.1
local-port=5300
api=yes
api-key=` + apiKey + `
webserver-loglevel=normal
loglevel=5
`

// A dnsServer is a machine with PowerDNS, and the types of examples/dns.
type dnsServer struct {
	enginetest.Machine
	machine *debian.Machine
	counter *counter
}

// A counter is a host that counts the commands of programs.
type counter struct {
	host.Host
	mu            sync.Mutex
	queries, runs int
}

func (c *counter) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	c.mu.Lock()
	c.queries++
	c.mu.Unlock()
	return c.Host.Query(ctx, cmd)
}

func (c *counter) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	c.mu.Lock()
	c.runs++
	c.mu.Unlock()
	return c.Host.Run(ctx, cmd)
}

func startDNS(t *testing.T) *dnsServer {
	t.Helper()
	layer, err := debian.Layer{Install: []string{"pdns-server", "pdns-backend-sqlite3", "python3", "sqlite3"}}.Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	m, err := debian.Start(t.Context(), debian.Spec{Layers: []string{layer}, Prepare: prepareDNS}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &dnsServer{machine: m}
	s.run(t, "sh", "-ec", `sqlite3 /var/lib/powerdns/zones.db < /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql
		chown -R pdns:pdns /var/lib/powerdns; systemctl restart pdns
		for i in $(seq 100); do python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8081))' 2>/dev/null && exit 0; sleep 0.1; done; exit 1`)
	h, err := linux.Open(linux.Options{PID: m.PID(), Transient: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() }) // nothing is buffered
	s.counter = &counter{Host: h}
	s.Host = s.counter
	programs := store.New(h, "/var/lib/fettle/programs")
	s.Kinds = append(s.Kinds, bound.Kind(purge.Type()))
	for _, name := range []string{"dnszone", "dnsrecord"} {
		s.Kinds = append(s.Kinds, external.Kind(example(t, name), programs))
	}
	return s
}

func prepareDNS(root string) error {
	for name, text := range map[string]string{"etc/powerdns/pdns.conf": pdns, "etc/fettle/powerdns.key": apiKey + "\n"} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
			return err
		}
	}
	return nil
}

// example returns a type of examples/dns with its files.
func example(t *testing.T, name string) *definition.Definition {
	t.Helper()
	all, err := authoring.Read(t.Context(), "../../../examples/dns/"+name+".yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := definition.New(all[0])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s *dnsServer) run(t *testing.T, command ...string) string {
	t.Helper()
	out, err := s.machine.Run(t.Context(), command...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// records returns the records of the zone except its SOA, a line each.
func (s *dnsServer) records(t *testing.T) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(s.run(t, "pdnsutil", "list-zone", "example.org")) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[3] != "SOA" {
			all = append(all, strings.Join(slices.Delete(fields, 2, 3), " "))
		}
	}
	slices.Sort(all)
	return all
}

// requests returns the number of requests to the server's API so far.
func (s *dnsServer) requests(t *testing.T) int {
	t.Helper()
	return strings.Count(s.run(t, "journalctl", "--unit=pdns", "--output=cat"), "/api/v1/servers/localhost/zones")
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const zone = `DNSZone/example {name: example.org, nameservers: [ns1.example.org]}`

func record(name, kind, rest string) string {
	return fmt.Sprintf("DNSRecord/%s {name: %s.example.org, type: %s, zone: example.org, %s}", strings.ToLower(name+"-"+kind), name, kind, rest)
}

func TestZonesAndRecordsOfPowerDNS(t *testing.T) {
	s := startDNS(t)
	www, mail := record("www", "A", "values: [192.0.2.1, 192.0.2.2], ttl: 300"), record("mail", "TXT", `values: ['"v=spf1 -all"']`)

	equal(t, []string{"DNSZone/example: created", "DNSRecord/mail-txt: created", "DNSRecord/www-a: created"}, sorted(s.Apply(t, mail, www, zone)))
	want := []string{
		`example.org 3600 NS ns1.example.org.`, `mail.example.org 3600 TXT "v=spf1 -all"`,
		`www.example.org 300 A 192.0.2.1`, `www.example.org 300 A 192.0.2.2`,
	}
	equal(t, want, s.records(t))
	equal(t, []string(nil), s.Apply(t, zone, www, mail))

	s.run(t, "sh", "-ec", "pdnsutil delete-rrset example.org mail TXT; pdnsutil replace-rrset example.org www A 60 192.0.2.9; pdnsutil rectify-zone example.org")
	equal(t, []string{
		"DNSRecord/www-a: ttl changed 60 to 300", `DNSRecord/www-a: values changed ["192.0.2.9"] to ["192.0.2.1","192.0.2.2"]`, "DNSRecord/mail-txt: created",
	}, s.Apply(t, zone, www, mail))
	equal(t, want, s.records(t))

	t.Run("records are on the server of their zone", func(t *testing.T) {
		s.run(t, "mv", "/etc/fettle/powerdns.key", "/etc/fettle/other.key") // the default
		defer s.run(t, "mv", "/etc/fettle/other.key", "/etc/fettle/powerdns.key")
		const other = `DNSZone/other {name: example.net, nameservers: [ns1.example.org], server: "http://localhost:8081/", credentialsFile: /etc/fettle/other.key}`
		const www = "DNSRecord/www {name: www.example.net, type: A, zone: example.net, values: [192.0.2.7]}"
		equal(t, []string{"DNSZone/other: created", "DNSRecord/www: created"}, s.Apply(t, www, other))
		equal(t, []string(nil), s.Apply(t, www, other))
		lines := s.Apply(t, www)
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "DNSRecord/www: cannot read the present state: cannot read credentialsFile: ") {
			t.Errorf("without the zone, the report is %q", lines)
		}
		const absent = "{ensure: absent, "
		equal(t, []string{"DNSRecord/www: removed"}, s.Apply(t, strings.Replace(www, "{", absent, 1), other))
		equal(t, []string{"DNSZone/other: removed"}, s.Apply(t, strings.Replace(other, "{", absent, 1)))
	})
	t.Run("a refused record fails alone", func(t *testing.T) {
		bad := record("bad", "A", "values: [not-an-address]")
		lines := s.Apply(t, zone, www, bad, record("good", "A", "values: [192.0.2.3]"))
		if len(lines) != 2 || !strings.Contains(lines[0], "DNSRecord/bad-a: change of ensure from absent to present failed: the server answered 422") || lines[1] != "DNSRecord/good-a: created" {
			t.Errorf("the report is %q", lines)
		}
	})
	t.Run("each form of a value is in sync once it is written", func(t *testing.T) { s.forms(t) })
	t.Run("unmanaged records are purged", func(t *testing.T) {
		lines := s.Apply(t, zone, www, "Purge/records {kind: DNSRecord, confirm: DNSRecord}")
		equal(t, []string{"DNSRecord/good.example.org/A: removed", "DNSRecord/mail.example.org/TXT: removed"}, sorted(lines))
		equal(t, []string{want[0], want[2], want[3]}, s.records(t))
	})
	t.Run("records hold to the laws of type test", func(t *testing.T) { s.holds(t, "dnsrecord") })
	t.Run("a thousand records are read in one request", func(t *testing.T) { s.thousand(t) })
	t.Run("zones hold to the laws of type test", func(t *testing.T) { s.holds(t, "dnszone") })
}

// holds tests a type of examples/dns, whose example it removes.
func (s *dnsServer) holds(t *testing.T, name string) {
	t.Helper()
	all, err := authoring.Read(t.Context(), "../../../examples/dns/"+name+".yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func(context.Context) ([]byte, error) { return yaml.Marshal(all[0]) }
	types, faults := manifest.ReadTypes(t.Context(), []source.Source{{Name: name, Read: read}})
	if err := manifest.Join(faults); err != nil {
		t.Fatal(err)
	}
	results := typetest.Run(t.Context(), s.Host, providers.Kinds(), types, nil)
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Name, r.Err)
		}
	}
	if len(results) < 25 {
		t.Errorf("there were only %d checks", len(results))
	}
}

// forms applies records whose values can be written in several ways, all of which mean what a resolver is told.
func (s *dnsServer) forms(t *testing.T) {
	t.Helper()
	for kind, forms := range map[string][][2]string{
		"A":     {{`[192.0.2.9, " 192.0.2.9"]`, "192.0.2.9"}},
		"AAAA":  {{`["2001:DB8:0:0:0:0:0:1"]`, "2001:db8::1"}, {`["2001:db8::1", "2001:0db8::0001"]`, "2001:db8::1"}},
		"CNAME": {{"[Target.Example.ORG]", "target.example.org."}, {"[bücher.example]", "xn--bcher-kva.example."}},
		"MX":    {{"['10   Mail.example.org']", "10 mail.example.org."}},
		"SRV":   {{"['1 2  5060 Sip.example.org.']", "1 2 5060 sip.example.org."}},
		"TXT":   {{"[v=spf1 -all]", `"v=spf1 -all"`}, {`['"a"   "b"']`, `"a" "b"`}, {"[bü]", `"b\195\188"`}, {`['a\b']`, `"a\\b"`}},
		"CAA":   {{"[0  Issue letsencrypt.org]", `0 issue "letsencrypt.org"`}},
	} {
		for i, form := range forms {
			r := record(fmt.Sprintf("form%d", i), kind, "values: "+form[0])
			if lines := s.Apply(t, zone, r); len(lines) != 1 || !strings.HasSuffix(lines[0], ": created") {
				t.Errorf("%s: %q", r, lines)
				continue
			}
			equal(t, []string(nil), s.Apply(t, zone, r))
			if all := strings.Join(s.records(t), "\n"); !strings.Contains(all, fmt.Sprintf("form%d.example.org 3600 %s %s", i, kind, form[1])) {
				t.Errorf("%s: the server has %s", r, all)
			}
			equal(t, 1, len(s.Apply(t, zone, strings.Replace(r, "{", "{ensure: absent, ", 1))))
		}
	}
}

func sorted(lines []string) []string {
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, "DNSZone"), strings.TrimPrefix(b, "DNSZone"))
	})
	return lines
}

func (s *dnsServer) thousand(t *testing.T) {
	t.Helper()
	all := []string{zone}
	for i := range 1000 {
		all = append(all, record(fmt.Sprintf("h%d", i), "A", fmt.Sprintf("values: [10.0.%d.%d]", i/250, 1+i%250)))
	}
	if r := s.Report(t, all...); r.Counts.Changed != 1000 {
		t.Fatalf("%+v", r.Counts)
	}
	requests, queries, runs := s.requests(t), s.counter.queries, s.counter.runs
	equal(t, []string(nil), s.Apply(t, all...))
	// One of each is about the zone.
	equal(t, []int{2, 2, 0}, []int{s.requests(t) - requests, s.counter.queries - queries, s.counter.runs - runs})
}
