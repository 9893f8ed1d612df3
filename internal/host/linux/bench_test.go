package linux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

const benchFiles = 1000

func benchRoot(b *testing.B) (h *linux.Host, dir string) {
	b.Helper()
	h, dir = tempRoot(b)
	for i := range benchFiles {
		put(b, filepath.Join(dir, name(i)), "# managed\nkey = value\n")
	}
	return h, dir
}

func name(i int) string { return fmt.Sprintf("/etc/app/conf.d/%04d.conf", i) }

func BenchmarkReadAndLstat1000Files(b *testing.B) {
	b.Run("through the door", func(b *testing.B) {
		h, _ := benchRoot(b)
		b.ReportAllocs()
		for b.Loop() {
			for i := range benchFiles {
				if _, err := h.Lstat(name(i)); err != nil {
					b.Fatal(err)
				}
				if _, err := h.ReadFile(name(i)); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		_, dir := benchRoot(b)
		b.ReportAllocs()
		for b.Loop() {
			for i := range benchFiles {
				if _, err := os.Lstat(filepath.Join(dir, name(i))); err != nil {
					b.Fatal(err)
				}
				if _, err := os.ReadFile(filepath.Join(dir, name(i))); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkCommand(b *testing.B) {
	h := open(b, linux.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Query(b.Context(), sh("exit 0")); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkQuery shows what a Confinement costs.
func BenchmarkQuery(b *testing.B) {
	debian.Require(b)
	hosts := map[string]*linux.Host{
		"root":    open(b, linux.Options{Root: debian.Root(b)}),
		"machine": open(b, linux.Options{PID: debian.Boot(b).PID(), Transient: true}),
	}
	for name, confinement := range map[string]*host.Confinement{
		"unconfined":            nil,
		"read-only":             {ReadOnly: true},
		"read-only and network": {ReadOnly: true, Network: true},
		"read-only and limited": {ReadOnly: true, Memory: 512 << 20, Tasks: 256},
	} {
		for where, h := range hosts {
			b.Run(where+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if _, err := h.Query(b.Context(), host.Cmd{Args: []string{"/bin/true"}, Confinement: confinement}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
