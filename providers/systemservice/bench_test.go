package systemservice_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// BenchmarkReadUnits compares the provider's complete read with
// reads over D-Bus: of the same properties of the same units, with a connection
// per check, as systemctl has, or with a persistent one; or of only the properties that a check
// needs.
func BenchmarkReadUnits(b *testing.B) {
	m := debian.Boot(b)
	h, err := linux.Open(linux.Options{PID: m.PID()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	text := "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
	names := make([]string, 100)
	for i := range names {
		names[i] = "bench" + strconv.Itoa(i)
		write(b, h, "/etc/systemd/system/"+names[i]+".service", text)
	}
	if _, err := m.Run(b.Context(), "systemctl", "daemon-reload"); err != nil {
		b.Fatal(err)
	}
	socket := filepath.Join("/proc", strconv.Itoa(m.PID()), "root/run/dbus/system_bus_socket")
	for _, n := range []int{1, 20, 100} {
		b.Run(fmt.Sprintf("systemctl/%d", n), func(b *testing.B) { readBySystemctl(b, h, names[:n]) })
		b.Run(fmt.Sprintf("dbus/%d", n), func(b *testing.B) {
			for b.Loop() {
				c := connect(b, socket)
				readByBus(b, c, names[:n])
				c.Close()
			}
		})
		b.Run(fmt.Sprintf("dbus-few/%d", n), func(b *testing.B) {
			c := connect(b, socket)
			defer c.Close()
			for b.Loop() {
				readFewByBus(b, c, names[:n])
			}
		})
		b.Run(fmt.Sprintf("dbus-kept/%d", n), func(b *testing.B) {
			c := connect(b, socket)
			defer c.Close()
			for b.Loop() {
				readByBus(b, c, names[:n])
			}
		})
	}
}

func readBySystemctl(b *testing.B, h host.Reader, names []string) {
	b.Helper()
	all := make([]resource.Resource, len(names))
	for i, name := range names {
		all[i] = bind(b, h, "{name: "+name+", ensure: running, enable: true}")
	}
	for b.Loop() {
		if err := errors.Join(all[0].Provider().ReadAll(b.Context(), resourcetest.Reader(h), all)...); err != nil {
			b.Fatal(err)
		}
	}
}

// connect uses the machine's bus: systemd's own socket is closed to other namespaces.
func connect(b *testing.B, socket string) *sdbus.Conn {
	b.Helper()
	c, err := sdbus.NewConnection(func() (*dbus.Conn, error) {
		conn, err := dbus.Dial("unix:path="+socket, dbus.WithContext(context.WithoutCancel(b.Context())))
		if err != nil {
			return nil, err
		}
		if err := conn.Auth([]dbus.Auth{dbus.AuthExternal("0")}); err != nil {
			return nil, err
		}
		return conn, conn.Hello()
	})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// readFewByBus queries the necessary properties one by one: systemd computes all
// properties of a unit, including the costly ones, if all are queried.
func readFewByBus(b *testing.B, c *sdbus.Conn, names []string) {
	b.Helper()
	for _, name := range names {
		for _, property := range []string{"LoadState", "ActiveState", "UnitFileState", "NeedDaemonReload", "Names"} {
			if _, err := c.GetUnitPropertyContext(b.Context(), name+".service", property); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// readByBus queries all properties, as systemctl always does.
func readByBus(b *testing.B, c *sdbus.Conn, names []string) {
	b.Helper()
	for _, name := range names {
		p, err := c.GetAllPropertiesContext(b.Context(), name+".service")
		if err != nil {
			b.Fatal(err)
		}
		if p["LoadState"] != "loaded" || p["NRestarts"] == nil {
			b.Fatalf("%s is %v", name, p["LoadState"])
		}
	}
}
