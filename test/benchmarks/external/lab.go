package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/sdk"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

const (
	programs = "/opt/bench" // on the machine, with all programs
	zoneURL  = "/api/v1/servers/localhost/zones"
	config   = `launch=gsqlite3
gsqlite3-database=/var/lib/powerdns/zones.db
local-address=127.0.0.1
local-port=5300
api=yes
api-key=benchmark
webserver-loglevel=normal
loglevel=5
`
	// start starts the server, and waits until its API answers.
	start = `sqlite3 /var/lib/powerdns/zones.db < /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql
chown -R pdns:pdns /var/lib/powerdns; systemctl restart pdns
for i in $(seq 100); do python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8081))' 2>/dev/null && exit 0; sleep 0.1; done; exit 1`
)

// A lab is a machine with PowerDNS and Puppet.
type lab struct {
	options
	machine *debian.Machine
	host    *linux.Host
}

func newLab(ctx context.Context, o options) (*lab, error) {
	layer, err := debian.Layer{Install: []string{"pdns-server", "pdns-backend-sqlite3", "python3", "sqlite3", "puppet-agent", "ruby-puppet-resource-api"}}.Build(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	files, err := o.files()
	if err != nil {
		return nil, err
	}
	prepare := func(root string) error { return write(root, files) }
	m, err := debian.Start(ctx, debian.Spec{Layers: []string{layer}, Prepare: prepare}, os.Stderr)
	if err != nil {
		return nil, err
	}
	l := &lab{options: o, machine: m}
	if err := l.fill(ctx); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	if l.host, err = linux.Open(linux.Options{PID: m.PID()}); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	return l, nil
}

func (l *lab) close() error { return errors.Join(l.host.Close(), l.machine.Stop()) }

// files returns the files of the machine by path.
func (o options) files() (map[string]string, error) {
	all := map[string]string{
		"/etc/powerdns/pdns.conf": config, "/etc/fettle/powerdns.key": "benchmark\n",
		programs + "/" + sdk.PythonFile: sdk.Files()[sdk.PythonFile], programs + "/" + sdk.PuppetFile: sdk.Files()[sdk.PuppetFile],
		programs + "/records.pp": o.manifest(),
	}
	program, err := os.ReadFile(filepath.Join(o.types, "powerdns.py"))
	if err != nil {
		return nil, err
	}
	all[programs+"/powerdns.py"] = string(program)
	module := os.DirFS(o.module)
	return all, fs.WalkDir(module, "lib", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(module, name)
		all[programs+"/"+name] = string(text)
		return err
	})
}

func write(root string, files map[string]string) error {
	for name, text := range files {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, []byte(text), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// record returns the name and the address of a record.
func record(i int) (name, address string) {
	return fmt.Sprintf("h%d.example.org", i), fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)
}

// manifest is the state in Puppet's language.
func (o options) manifest() string {
	var b strings.Builder
	for i := range o.records {
		name, address := record(i)
		fmt.Fprintf(&b, "dns_record { '%s': ensure => present, values => ['%s'] }\n", name, address)
	}
	return b.String()
}

// fill starts the server, and creates the records with the program of the example.
func (l *lab) fill(ctx context.Context) error {
	if _, err := l.machine.Run(ctx, "sh", "-ec", start); err != nil {
		return err
	}
	if _, err := l.machine.Run(ctx, "pdnsutil", "create-zone", "example.org", "ns1.example.org"); err != nil {
		return err
	}
	cmd := l.machine.Command(ctx, programs+"/powerdns.py")
	cmd.Stdin = strings.NewReader(requests("set", l.resources()))
	out, err := cmd.Output()
	if err == nil && strings.Count(string(out), "\n") != l.records+1 || strings.Contains(string(out), `"error"`) {
		err = fmt.Errorf("cannot create the records: %.500s", out)
	}
	return err
}

// resources are the desired records in the words of Fettle/1.
func (o options) resources() []map[string]any {
	var all []map[string]any
	for i := range o.records {
		name, address := record(i)
		all = append(all, map[string]any{"name": name + "/A", "should": map[string]any{
			"name": name, "type": "A", "zone": "example.org", "values": []string{address}, "ttl": 3600, "ensure": "present",
		}})
	}
	return all
}

// requests returns the input of a process that handles one request.
func requests(request string, resources []map[string]any) string {
	hello, _ := json.Marshal(map[string]any{"request": "hello", "protocol": "Fettle/1", "kind": "DNSRecord"}) //nolint:errchkjson // text
	about, _ := json.Marshal(map[string]any{"request": request, "resources": resources})                      //nolint:errchkjson // text
	return string(hello) + "\n" + string(about) + "\n"
}

// read runs a program like the agent, in a sandbox, and returns the number of its answers that are not errors.
func (l *lab) read(ctx context.Context, command []string, stdin string) (int, error) {
	const output, memory, tasks = 8 << 20, 512 << 20, 256
	res, err := l.host.Query(ctx, host.Cmd{
		Args: command, Dir: programs, Stdin: []byte(stdin), MaxOutput: output,
		Confinement: &host.Confinement{ReadOnly: true, Network: true, Memory: memory, Tasks: tasks},
	})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("%s exited with %d: %s", command[0], res.ExitCode, res.Stderr)
	}
	return strings.Count(string(res.Stdout), `"state":{`), err
}

// gets returns how many requests the server has answered.
func (l *lab) gets(ctx context.Context) (int, error) {
	out, err := l.machine.Run(ctx, "journalctl", "--unit=pdns", "--output=cat")
	return strings.Count(out, zoneURL), err
}
