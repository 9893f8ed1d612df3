package facts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// memory is a host of texts by path. One of them is the output of its ip command.
type memory map[string]string

func (m memory) ReadFile(path string) ([]byte, error) {
	if text, ok := m[path]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (m memory) Open(path string) (io.ReadCloser, error) {
	text, err := m.ReadFile(path)
	return io.NopCloser(bytes.NewReader(text)), err
}

func (m memory) Stat(path string) (host.FileInfo, error) {
	text, err := m.ReadFile(path)
	return host.FileInfo{Size: int64(len(text)), Mode: 0o644}, err
}

func (m memory) Lstat(path string) (host.FileInfo, error) { return m.Stat(path) }

func (m memory) LookupParent(string, host.Links) (host.Handle, string, error) {
	return nil, "", fs.ErrNotExist
}

func (m memory) Lookup(string, host.Links) (host.Handle, error) {
	return nil, fs.ErrNotExist
}

func (m memory) ReadDir(path string) ([]string, error) {
	if path != "/etc/fettle/facts.d" {
		return nil, fs.ErrNotExist
	}
	return []string{"a.txt", "b.yaml", "c.json"}, nil
}

func (m memory) Mounted(string) (bool, error) { return false, nil }

func (m memory) Xattr(string, string) ([]byte, error) { return nil, fs.ErrNotExist }

func (m memory) Readlink(string) (string, error) { return "", fs.ErrNotExist }

func (m memory) LookPath(name string) (string, error) {
	if name == "ip" {
		return "/sbin/ip", nil
	}
	return "", os.ErrNotExist
}

func (m memory) Query(context.Context, host.Cmd) (host.Result, error) {
	return host.Result{Stdout: []byte(m["ip"])}, nil
}

func (m memory) LookAs(host.Credentials) host.Reader { return m }

// Any file contents yield facts that can be encoded as JSON.
func FuzzGather(f *testing.F) {
	f.Add("ID=debian\nVERSION_ID=\"12\"", "processor: 0\nmodel name: x", "/dev/sda1 / ext4 rw 0 0", ipOutput, routes, "a=b", "a: [1, {b: c}]", `{"a": {"b": null}}`)
	f.Add("ID='\nNAME=\"", "flags:", `\040 \134 x y`, `[{"ifname":"x","addr_info":[{"local":"::1","prefixlen":999},{"local":"1.2.3.4","prefixlen":-1}]}]`, "a 0 0", "=", "- a", "[]")
	f.Add("=", "\x00", "a b c", "null", "", "\xff=\xff", "? x", "nan")
	f.Fuzz(func(t *testing.T, release, cpuinfo, mounts, ip, route, lines, yaml, text string) {
		got, _ := facts.Gather(t.Context(), memory{
			"/etc/os-release": release, "/proc/cpuinfo": cpuinfo, "/proc/meminfo": cpuinfo, "/proc/1/mounts": mounts, "ip": ip, "/proc/1/net/route": route,
			"/etc/hostname": release, "/etc/hosts": mounts, "/etc/resolv.conf": mounts,
			"/etc/fettle/facts.d/a.txt": lines, "/etc/fettle/facts.d/b.yaml": yaml, "/etc/fettle/facts.d/c.json": text,
		})
		raw, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var once, twice resource.Facts
		if err := json.Unmarshal(raw, &once); err != nil {
			t.Fatal(err)
		}
		raw, err = json.Marshal(once)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &twice); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Error(diff)
		}
	})
}
