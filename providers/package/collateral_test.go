package pkg_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// needing returns a package that depends on exactly this version of another one.
func needing(name, version, other string) debian.Deb {
	d := deb(name, version)
	d.Depends = other + " (= " + version + ")"
	return d
}

// applyNoting applies packages in one batch and returns the notes on each.
func (m machine) applyNoting(attributes ...string) []string {
	m.t.Helper()
	resources := m.read(attributes...)
	notes := make([]string, len(resources))
	var batch []resource.BatchItem
	for i, r := range resources {
		batch = append(batch, resource.BatchItem{
			Resource: r, Changes: r.Compare().Changes,
			Note: func(text string) { notes[i] += text },
		})
	}
	for _, err := range resources[0].Provider().WriteAll(m.t.Context(), resourcetest.Writer(m.host), batch) {
		if err != nil {
			m.t.Error(err)
		}
	}
	return notes
}

func TestATransactionReportsWhatItDoesToOtherPackages(t *testing.T) {
	t.Parallel()

	rival := deb("rival", "1.0")
	rival.Fields = map[string]string{"Conflicts": "old"}
	m := newMachine(t, deb("lib", "1.0"), deb("lib", "2.0"), needing("app", "1.0", "lib"), needing("app", "2.0", "lib"), deb("old", "1.0"), rival)

	expect(t, []string{"also installed with app: lib 1.0\n"}, m.applyNoting(`{"name":"app","ensure":"1.0","installOptions":["lib=1.0"]}`))
	expect(t, []string{"also upgraded with lib: app 1.0 to 2.0\n"}, m.applyNoting(`{"name":"lib","ensure":"2.0"}`))
	expect(t, []string{"", "installed version 1.0\n"}, m.applyNoting(`{"name":"lib","ensure":"2.0"}`, `{"name":"old"}`))
	expect(t, []string{"also removed with rival: old 1.0\ninstalled version 1.0\n"}, m.applyNoting(`{"name":"rival"}`))
	expect(t, []string{"also removed with lib: app 2.0\n"}, m.applyNoting(`{"name":"lib","ensure":"absent"}`))
}

func TestATransactionReportsNothingAboutPackagesThatItNames(t *testing.T) {
	t.Parallel()

	rival := deb("rival", "1.0")
	rival.Fields = map[string]string{"Conflicts": "old"}
	m := newMachine(t, deb("old", "1.0"), rival)
	m.apply(`{"name":"old"}`)

	expect(t, []string{"", ""}, m.applyNoting(`{"name":"rival","ensure":"1.0"}`, `{"name":"old","ensure":"absent"}`))
}

func TestTheVersionThatARangeResolvedToIsReported(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("tree", "1.5"), deb("tree", "2.0"))
	for _, step := range []struct{ ensure, message, note string }{
		{">=1.0 <2.0", "created", "installed version 1.5\n"},
		{"latest", "ensure changed 1.5 to 2.0", "installed version 2.0\n"},
		{"<1.2", "ensure changed 2.0 to 1.0", "installed version 1.0\n"},
	} {
		attributes := `{"name":"tree","ensure":"` + step.ensure + `"}`
		message := messages(m.read(attributes)[0].Compare().Changes)
		expect(t, []string{step.message, step.note}, append([]string{message}, m.applyNoting(attributes)...))
	}
}
