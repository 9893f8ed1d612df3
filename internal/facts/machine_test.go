package facts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// An agent in a pod reads its host from other namespaces, as this test reads a machine. No fact may be the reader's
// own.
func TestFactsOfMachineSeenFromOutside(t *testing.T) {
	machine := debian.Boot(t)
	inside := func(command ...string) string {
		t.Helper()
		out, err := machine.Run(t.Context(), command...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	inside("ip", "link", "add", "lan0", "type", "bridge")
	inside("ip", "addr", "add", "192.0.2.7/24", "dev", "lan0")
	inside("ip", "link", "set", "lan0", "up")
	inside("ip", "route", "add", "default", "via", "192.0.2.1")
	h, err := linux.Open(linux.Options{PID: machine.PID()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })

	got, errs := facts.Gather(t.Context(), h)
	if len(errs) > 0 {
		t.Errorf("errors: %v", errs)
	}
	is := map[string]string{}
	for _, fact := range []string{
		"networking.hostname", "networking.ip", "networking.netmask", "networking.primary", "kernelrelease", "init", "virtual", "is_virtual", "os.family",
	} {
		is[fact] = got.String(fact)
	}
	if diff := cmp.Diff(map[string]string{
		"networking.hostname": inside("hostname"), "networking.ip": "192.0.2.7", "networking.netmask": "255.255.255.0", "networking.primary": "lan0",
		"kernelrelease": inside("uname", "-r"), "init": "systemd", "virtual": "systemd_nspawn", "is_virtual": "true", "os.family": "Debian",
	}, is); diff != "" {
		t.Error(diff)
	}
	root, _ := got.Get("mountpoints")
	if points, ok := root.(map[string]any); !ok || points["/"] == nil || points["/tmp"] == nil {
		t.Errorf("mountpoints are %v", root)
	}
}
