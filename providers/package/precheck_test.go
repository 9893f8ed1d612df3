package pkg_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// precheck checks packages like the engine in a plan. It returns for each package its notes, or the error
// that an apply would have.
func (m machine) precheck(attributes ...string) []string {
	m.t.Helper()
	resources := m.read(attributes...)
	outcomes := make([]string, len(resources))
	var batch []resource.BatchItem
	for i, r := range resources {
		batch = append(batch, resource.BatchItem{
			Resource: r, Changes: r.Compare().Changes,
			Note: func(text string) { outcomes[i] += text },
		})
	}
	for i, err := range resources[0].Provider().Precheck(m.t.Context(), resourcetest.Reader(struct{ host.Reader }{m.host}), batch) {
		if unknown, ok := errors.AsType[*resource.UnknownError](err); ok && unknown.Reason == "runs maintainer scripts" {
			err = nil // as any package does
		}
		if err != nil {
			outcomes[i] = err.Error()
		}
	}
	return outcomes
}

func TestPlanFailsLikeApt(t *testing.T) {
	t.Parallel()

	needy := deb("needy", "1.0")
	needy.Depends = "unheard-of"
	rival := deb("rival", "1.0")
	rival.Fields = map[string]string{"Conflicts": "old"}
	m := newMachine(t, deb("lib", "1.0"), deb("lib", "2.0"), needing("app", "1.0", "lib"), needing("app", "2.0", "lib"),
		deb("old", "1.0"), rival, needy, deb("fine", "1.0"))
	m.apply(`{"name":"old","mark":"hold"}`, `{"name":"app","ensure":"1.0","installOptions":["lib=1.0"]}`)
	before := resourcetest.Files(m.host, "/var", "/etc")(t)

	expect(t, []string{
		`package "unknown" is not in apt's index: check its name, or add a source that has it`,
		`version "9.9" of package "fine" is not in apt's index, which has 1.0: ask for one of these, or add a source`,
		`cannot install package "needy": needy : Depends: unheard-of but it is not installable; E: Unable to correct problems, you have held broken packages.`,
	}, m.precheck(`{"name":"unknown"}`, `{"name":"fine","ensure":"9.9"}`, `{"name":"needy"}`))
	expect(t, []string{"would be upgraded with lib: app 1.0 to 2.0\n"}, m.precheck(`{"name":"lib","ensure":"2.0"}`))
	expect(t, []string{"would be removed with lib: app 1.0\n"}, m.precheck(`{"name":"lib","ensure":"absent"}`))
	expect(t, []string{"would be removed with lib: app 1.0\n"}, m.precheck(`{"name":"lib","ensure":"purged"}`))
	expect(t, []string{"", ""}, m.precheck(`{"name":"old","ensure":"absent"}`, `{"name":"rival"}`))

	if after := resourcetest.Files(m.host, "/var", "/etc")(t); before != after {
		t.Error("a plan changed files of the host")
	}
}

func TestPlanWithAnOutdatedIndex(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("bush", "1.0"), needing("leaf", "1.0", "bush"))
	m.apply(`{"name":"leaf"}`)
	debian.Repository(t, m.root, deb("tree", "1.0"), deb("new", "1.0"))
	m.date("etc/apt/sources.list.d/tests.list", time.Hour)

	const unknown = "unknown: apt's index is older than /etc/apt/sources.list.d/tests.list, and an apply updates it first"
	expect(t, []string{unknown, unknown, "", "would be removed with bush: leaf 1.0\n"},
		m.precheck(`{"name":"new"}`, `{"name":"tree"}`, `{"name":"leaf","mark":"hold"}`, `{"name":"bush","ensure":"absent"}`))
}

// What an author gives to apt-get must not make it run programs, or do what it should only simulate.
func TestPlanPassesNothingOfTheAuthorToApt(t *testing.T) {
	t.Parallel()
	m := newMachine(t, deb("tree", "1.0"), deb("held", "1.0"))
	m.apply(`{"name":"held"}`)
	before := resourcetest.Files(m.host, "/var", "/etc", "/opt")(t)
	unchecked := "unknown: apt-get simulates nothing with these installOptions or uninstallOptions, which may have it run programs"
	for _, options := range []string{
		`["-o","APT::Get::Simulate=false"]`, `["--no-simulate"]`, `["-oDPkg::Pre-Invoke::=touch /opt/pwned"]`, `["--option=Dir::Bin::dpkg=/opt/x"]`,
		`["-c","/opt/apt.conf"]`, `["--config-file=/opt/apt.conf"]`, `["-t","stable","-c/opt/apt.conf"]`, `["-t"]`, `["-t","-c/x"]`, `["--simulate=0"]`,
		`["--no-install-recommends\n-c/x"]`, `["/opt/x.deb"]`, `["held-"]`, `["--host-architecture=x"]`, `["--target-release=a/b"]`,
	} {
		expect(t, []string{unchecked}, m.precheck(`{"name":"tree","installOptions":`+options+`}`))
		expect(t, []string{unchecked}, m.precheck(`{"name":"held","ensure":"absent","uninstallOptions":`+options+`}`))
	}
	expect(t, []string{""}, m.precheck(`{"name":"tree","environment":["APT_CONFIG=/opt/apt.conf","LD_PRELOAD=/opt/x.so","BASH_ENV=/opt/x"]}`))
	expect(t, []string{"", ""}, m.precheck(`{"name":"tree","installOptions":["--no-install-recommends"]}`, `{"name":"held","ensure":"purged"}`))
	expect(t, []string{`cannot install package "tree": E: The value 'backports' is invalid for APT::Default-Release as such a release is not available in the sources`},
		m.precheck(`{"name":"tree","installOptions":["-t","backports"]}`))
	if after := resourcetest.Files(m.host, "/var", "/etc", "/opt")(t); before != after {
		t.Error("a plan changed files of the host")
	}
}
