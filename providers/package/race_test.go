package pkg_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPackagesAreReadWhileDpkgWorks(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("lib", "1.0"), deb("app", "1.0"))
	m.apply(`{"name":"lib"}`)
	for range 10 {
		work := make(chan struct{})
		go func() {
			defer close(work)
			m.replaceDatabase(5)
		}()
		expect(t, []string{"", ""}, m.precheck(`{"name":"lib","ensure":"latest"}`, `{"name":"app"}`))
		<-work
	}
}

// replaceDatabase replaces dpkg's database some times, as dpkg does for each step of its work.
func (m machine) replaceDatabase(times int) {
	status := filepath.Join(m.root, "var/lib/dpkg/status")
	content, err := os.ReadFile(status)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for i := range times {
		<-tick.C
		if err == nil { // apt compares sizes
			err = os.WriteFile(status+"-new", append(slices.Clip(content), strings.Repeat("\n", i%2)...), 0o644)
		}
		if err == nil {
			err = os.Rename(status+"-new", status)
		}
	}
	if err != nil {
		m.t.Error(err)
	}
}
