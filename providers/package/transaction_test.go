package pkg_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	pkg "github.com/fettle-dev/fettle/providers/package"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

func TestPackages(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("tree", "2.0"))
	resourcetest.Run(t, pkg.Type(pkg.DefaultLock()), resourcetest.Case{
		Host:    m.host,
		Facts:   resource.Facts{"os": map[string]any{"family": "Debian"}},
		Name:    "tree",
		Absent:  "ensure: purged",
		Present: "ensure: '1.0'\nmark: hold\nconfigFiles: replace",
		Changed: []string{
			"ensure: latest\nmark: hold",
			"ensure: installed\nmark: none",
			"{ensure: '1.0', environment: [TOKEN=hunter2]}",
			"ensure: absent",
		},
		Snapshot: func(t *testing.T) string {
			return m.states("tree")[0] + resourcetest.Files(m.host, "/etc/tree.conf")(t)
		},
		Secret: "hunter2",
	})
}

func TestReadyPackagesAreOneTransaction(t *testing.T) {
	t.Parallel()

	rival := deb("rival", "1.0")
	rival.Fields = map[string]string{"Conflicts": "old"}
	m := newMachine(t, deb("one", "1.0"), deb("one", "2.0"), deb("two", "1.0"), deb("old", "1.0"), deb("gone", "1.0"),
		deb("trace", "1.0"), rival)
	m.apply(`{"name":"old"}`, `{"name":"gone"}`, `{"name":"trace"}`)
	m.apply(`{"name":"trace","ensure":"absent"}`)
	m.put("var/log/apt/history.log", "")

	outcomes := m.apply(`{"name":"one","ensure":"1.0"}`, `{"name":"two","ensure":"latest"}`, `{"name":"old","ensure":"absent"}`,
		`{"name":"rival"}`, `{"name":"gone","ensure":"purged"}`, `{"name":"trace","ensure":"purged"}`)
	expect(t, []string{"created", "created", "removed", "created", "purged", "purged"}, outcomes)
	expect(t, []string{
		"apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 -o DPkg::Options::=--force-confold install --allow-downgrades one=1.0 two rival old- gone- trace-",
		"apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 -o DPkg::Options::=--force-confold purge gone trace",
	}, m.commands())
	expect(t, []string{
		"install ok installed 1.0", "install ok installed 1.0", "deinstall ok config-files 1.0", "install ok installed 1.0", "", "",
	}, m.states("one", "two", "old", "rival", "gone", "trace"))
}

// commands returns the transactions in apt's log.
func (m machine) commands() []string {
	m.t.Helper()
	var all []string
	for line := range strings.Lines(m.file("var/log/apt/history.log")) {
		if command, ok := strings.CutPrefix(line, "Commandline: "); ok {
			all = append(all, strings.TrimSpace(command))
		}
	}
	return all
}

func TestPackagesAreGroupedBySettings(t *testing.T) {
	t.Parallel()

	witness := func(name string) debian.Deb {
		return debian.Deb{Name: name, Version: "1.0", Scripts: map[string]string{
			"postinst": "#!/bin/sh\necho " + name + " $DEBIAN_FRONTEND $NEEDRESTART_MODE $COLOUR >>/witness\n",
			"prerm":    "#!/bin/sh\necho no more " + name + " $COLOUR >>/witness\n",
		}}
	}
	m := newMachine(t, witness("one"), witness("two"), witness("three"))

	expect(t, []string{"created", "created", "created"}, m.apply(
		`{"name":"one","environment":["COLOUR=red","NEEDRESTART_MODE=a"]}`, `{"name":"two"}`,
		`{"name":"three","installOptions":["--no-install-recommends","-o","Dir::Log::Terminal="]}`))
	expect(t, []string{"removed"}, m.apply(
		`{"name":"one","ensure":"absent","environment":["COLOUR=blue"],"uninstallOptions":["--auto-remove"]}`))

	expect(t, []string{"one noninteractive a red", "two noninteractive l", "three noninteractive l", "no more one blue"},
		strings.Split(strings.TrimSpace(m.file("witness")), "\n"))
	const start = "apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 -o DPkg::Options::=--force-confold "
	expect(t, []string{
		start + "install one", start + "install two", start + "install --no-install-recommends -o Dir::Log::Terminal= three",
		start + "remove --auto-remove one",
	}, m.commands())
}

func TestConfigFiles(t *testing.T) {
	t.Parallel()

	for what, c := range map[string]struct{ attribute, content, ucf string }{
		"are kept by default": {``, "edited\n", "UCF_FORCE_CONFFOLD=1\n"},
		"are kept":            {`,"configFiles":"keep"`, "edited\n", "UCF_FORCE_CONFFOLD=1\n"},
		"are replaced":        {`,"configFiles":"replace"`, "version 2.0\n", "UCF_FORCE_CONFFNEW=1\n"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()

			next := deb("tree", "2.0")
			next.Scripts = map[string]string{"postinst": "#!/bin/sh\nenv | grep UCF >/witness\n"}
			m := newMachine(t, deb("tree", "1.0"), next)
			m.apply(`{"name":"tree","ensure":"1.0"}`)
			m.put("etc/tree.conf", "edited\n")
			expect(t, []string{"ensure changed 1.0 to 2.0"}, m.apply(`{"name":"tree","ensure":"latest"`+c.attribute+`}`))
			expect(t, []string{c.content, c.ucf}, []string{m.file("etc/tree.conf"), m.file("witness")})
		})
	}
}

func TestPackagesOfAnotherArchitecture(t *testing.T) {
	t.Parallel()

	of := func(name, arch string) debian.Deb {
		return debian.Deb{Name: name, Version: "1.0", Fields: map[string]string{"Architecture": arch, "Multi-Arch": "same"}}
	}
	m := newMachine(t, of("lib", "amd64"), of("lib", "i386"), of("only", "i386"), deb("every", "1.0"))
	debian.Chroot(t, m.root, "dpkg", "--add-architecture", "i386")
	m.date("etc/apt/sources.list.d/tests.list", 0)

	expect(t, []string{"created", "created", "created"},
		m.apply(`{"name":"lib:i386"}`, `{"name":"only:i386","mark":"hold"}`, `{"name":"every:amd64"}`))
	expect(t, []string{"in sync", "in sync", "created", "in sync", "in sync"}, m.apply(
		`{"name":"lib:i386"}`, `{"name":"only","ensure":"purged"}`, `{"name":"lib:amd64"}`, `{"name":"every"}`, `{"name":"every:all"}`))
	expect(t, []string{"removed"}, m.apply(`{"name":"lib","ensure":"absent"}`))
	expect(t, []string{"lib purged", "lib:i386 1.0", "only:i386 1.0", "only purged"},
		[]string{m.named("lib"), m.named("lib:i386"), m.named("only:i386"), m.named("only")})
	expect(t, []string{"purged"}, m.apply(`{"name":"only:i386","ensure":"purged"}`))

	listed := map[string]bool{}
	all, err := m.kind.Instances(t.Context(), resource.Facts{}, resourcetest.Reader(m.host), "apt")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		listed[i.Namevar] = i.Exists
	}
	if !listed["lib:i386"] || !listed["every"] || !listed["dpkg"] || listed["lib"] || listed["only:i386"] {
		t.Errorf("the list is wrong: %v", listed)
	}
}

// Under systemd, apt runs in its own unit, which outlives the agent.
func TestPackagesOfABootedMachine(t *testing.T) {
	t.Parallel()

	witness := deb("witness", "1.0")
	witness.Scripts = map[string]string{"postinst": "#!/bin/sh\ncat /proc/self/cgroup >/witness\necho \"colour is $COLOUR\" >>/witness\n"}
	booted := debian.Boot(t)
	debian.Repository(t, booted.Root(), witness, failing("sick", "postinst"))
	host, err := linux.Open(linux.Options{PID: booted.PID(), Transient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	m := machine{t, booted.Root(), host, bound.Kind(impatient(patient.Limit))}

	outcomes := m.apply(`{"name":"witness","environment":["COLOUR=dark red"],"mark":"hold"}`, `{"name":"sick"}`)
	if !strings.Contains(outcomes[1], "post-installation script subprocess returned error exit status 1") {
		t.Errorf("the error is: %s", outcomes[1])
	}
	expect(t, []string{"created", "in sync"}, append(outcomes[:1], m.apply(`{"name":"witness","mark":"hold"}`)...))
	if seen := m.file("witness"); !strings.Contains(seen, "/fettle-") || !strings.Contains(seen, "colour is dark red\n") {
		t.Errorf("the package's script saw:\n%s", seen)
	}
}

// named is a package and the state that is read from its name alone.
func (m machine) named(name string) string {
	m.t.Helper()
	r, err := m.kind.Named(name)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := r.Choose(resource.Facts{}, m.host, ""); err != nil {
		m.t.Fatal(err)
	}
	if err := r.Read(m.t.Context(), resourcetest.Reader(m.host)); err != nil {
		m.t.Fatal(err)
	}
	_, ensure, _ := strings.Cut(string(r.State().Attributes), `"ensure":"`)
	ensure, _, _ = strings.Cut(ensure, `"`)
	return name + " " + ensure
}
