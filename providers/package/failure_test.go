package pkg_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// failing returns a package with a script that prints an error and fails.
func failing(name, script string) debian.Deb {
	d := deb(name, "1.0")
	d.Scripts = map[string]string{script: "#!/bin/sh\necho no luck today >&2\nexit 1\n"}
	return d
}

func TestFailingPackageDoesNotBlockOthers(t *testing.T) {
	t.Parallel()

	needy := deb("needy", "1.0")
	needy.Depends = "unheard-of"
	m := newMachine(t, deb("one", "1.0"), deb("two", "1.0"), deb("three", "1.0"), deb("four", "1.0"), needy,
		failing("sick", "postinst"), debian.Deb{Name: "mail-server", Version: "1", Provides: "mail-transport"})
	m.apply(`{"name":"four"}`)

	outcomes := m.apply(`{"name":"one"}`, `{"name":"needy"}`, `{"name":"two","ensure":"latest"}`, `{"name":"sick"}`,
		`{"name":"unknown"}`, `{"name":"one.*"}`, `{"name":"t*"}`, `{"name":"mail-transport"}`, `{"name":"three","ensure":"9.9"}`,
		`{"name":"four","ensure":"purged"}`, `{"name":"three"}`)

	expect(t, []string{
		"created",
		`cannot install package "needy": needy : Depends: unheard-of but it is not installable; E: Unable to correct problems, you have held broken packages.`,
		"created",
		`cannot install package "sick": dpkg: error processing package sick (--configure): installed sick package post-installation script subprocess returned error exit status 1; Errors were encountered while processing: sick; E: Sub-process /usr/bin/dpkg returned an error code (1)`,
		`package "unknown" is not in apt's index: check its name, or add a source that has it`,
		`name "one.*" is not a Debian package's: use letters, digits and +-. and perhaps :architecture`,
		`name "t*" is not a Debian package's: use letters, digits and +-. and perhaps :architecture`,
		`name "mail-transport" is a virtual package: name one of its providers mail-server, or set allowVirtual`,
		`version "9.9" of package "three" is not in apt's index, which has 1.0: ask for one of these, or add a source`,
		"purged",
		"created",
	}, withoutNoise(outcomes))
	expect(t, []string{"install ok installed 1.0", "", "install ok installed 1.0", "install ok half-configured 1.0", ""},
		m.states("one", "needy", "two", "sick", "four"))

	outcomes = m.apply(`{"name":"sick","ensure":"absent"}`, `{"name":"one","ensure":"absent"}`)
	expect(t, []string{"removed", "removed"}, outcomes)
	expect(t, []string{"deinstall ok config-files 1.0"}, m.states("sick"))
}

func TestFailedPurgeLeavesAPackageRemoved(t *testing.T) {
	t.Parallel()

	clinging := deb("clinging", "1.0")
	clinging.Scripts = map[string]string{"postrm": "#!/bin/sh\ntest \"$1\" != purge\n"}
	m := newMachine(t, clinging)
	m.apply(`{"name":"clinging"}`)
	if outcome := m.apply(`{"name":"clinging","ensure":"purged"}`)[0]; !strings.HasPrefix(outcome, `cannot purge package "clinging": `) {
		t.Errorf("a postrm that fails gave: %s", outcome)
	}
	if state := m.states("clinging")[0]; !strings.HasSuffix(state, " ok config-files 1.0") {
		t.Errorf("its state is %s", state)
	}
}

// withoutNoise removes the output of the scripts of test packages.
func withoutNoise(outcomes []string) []string {
	for i := range outcomes {
		outcomes[i] = strings.ReplaceAll(outcomes[i], "no luck today; ", "")
	}
	return outcomes
}

func TestInterruptedInstallationIsFinished(t *testing.T) {
	t.Parallel()

	flaky := deb("flaky", "1.0")
	flaky.Scripts = map[string]string{"postinst": "#!/bin/sh\ntest -e /repaired\n"}
	m := newMachine(t, flaky, deb("other", "1.0"))
	if outcome := m.apply(`{"name":"flaky"}`)[0]; !strings.Contains(outcome, "returned error exit status 1") {
		t.Fatalf("the installation failed otherwise than it should: %s", outcome)
	}
	m.put("repaired", "")

	expect(t, []string{"created"}, m.apply(`{"name":"other"}`))
	expect(t, []string{"install ok installed 1.0", "install ok installed 1.0"}, m.states("flaky", "other"))
	expect(t, []string{"in sync"}, m.apply(`{"name":"flaky"}`))
}

// A dpkg that is killed leaves a journal, in which it has written what it had done.
func TestJournalIsReadAndMerged(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("one", "1.0"), deb("two", "1.0"))
	m.apply(`{"name":"one"}`)
	const paragraph = "Package: one\nStatus: install ok installed\nMaintainer: me\nArchitecture: all\nVersion: 0.9\nDescription: d\n\n"
	m.put("var/lib/dpkg/updates/0001", strings.Replace(paragraph, "0.9", "0.8", 1))
	m.put("var/lib/dpkg/updates/0002", paragraph)
	m.put("var/lib/dpkg/updates/tmp.i", strings.Replace(paragraph, "0.9", "0.7", 1))

	expect(t, []string{"in sync"}, m.apply(`{"name":"one","ensure":"0.9"}`))
	expect(t, []string{"created"}, m.apply(`{"name":"two"}`))
	expect(t, []string{"install ok installed 0.9", "install ok installed 1.0"}, m.states("one", "two"))
	left, err := filepath.Glob(filepath.Join(m.root, "var/lib/dpkg/updates/0*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the journal is still there: %v, %v", left, err)
	}
}

func TestErrorsContainNoEnvironmentValues(t *testing.T) {
	t.Parallel()

	leaky := deb("leaky", "1.0")
	leaky.Scripts = map[string]string{"postinst": "#!/bin/sh\necho \"proxy is $PROXY\" >&2\nexit 1\n"}
	m := newMachine(t, leaky)
	outcome := m.apply(`{"name":"leaky","environment":["PROXY=http://me:hunter2@proxy"]}`)[0]
	if strings.Contains(outcome, "hunter2") || !strings.Contains(outcome, "proxy is [redacted]") {
		t.Errorf("the error is: %s", outcome)
	}
}

func TestTheLockOfAnotherPackageManagerIsAwaited(t *testing.T) {
	t.Parallel()

	for what, c := range map[string]struct{ lock, attributes, outcome string }{
		"to install":          {"var/lib/dpkg/lock-frontend", `{"name":"one"}`, "created"},
		"to mark":             {"var/lib/dpkg/lock-frontend", `{"name":"tar","mark":"hold"}`, "mark changed none to hold"},
		"to mark, by dpkg":    {"var/lib/dpkg/lock", `{"name":"tar","mark":"hold"}`, "mark changed none to hold"},
		"to update the index": {"var/lib/apt/lists/lock", `{"name":"new"}`, "created"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()

			m := newMachine(t, deb("one", "1.0"))
			debian.Repository(t, m.root, deb("one", "1.0"), deb("new", "1.0"))
			done := make(chan struct{})
			release := m.lock(c.lock)
			go func() {
				defer close(done)
				<-time.After(700 * time.Millisecond) // so that there is something to wait for
				release()
			}()
			expect(t, []string{c.outcome}, m.apply(c.attributes))
			<-done
		})
	}
}

// A yielding host gives up a lock once a command has failed.
type yielding struct {
	host.Host
	release func()
}

func (y yielding) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	res, err := y.Host.Run(ctx, cmd)
	if res.ExitCode != 0 {
		y.release()
	}
	return res, err
}

func TestDebconfLockIsAwaited(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("one", "1.0"))
	m.put("srv/answers", "one one/colour string red\n")
	m.host = yielding{m.host, m.lock("var/cache/debconf/config.dat")}
	expect(t, []string{"created"}, m.apply(`{"name":"one","responseFile":"/srv/answers"}`))
}

func TestHeldLockFailsTheBatchAndNamesItsHolder(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("one", "1.0"), deb("two", "1.0"), deb("three", "1.0"))
	m.kind = bound.Kind(impatient(2 * time.Second))
	defer m.lock("var/lib/dpkg/lock-frontend")()

	outcomes := m.apply(`{"name":"one"}`, `{"name":"two"}`, `{"name":"three"}`, `{"name":"tar","mark":"hold"}`)
	for _, outcome := range outcomes {
		if !strings.Contains(outcome, "another process") || !strings.Contains(outcome, m.holder()) {
			t.Errorf("the error does not name the holder: %s", outcome)
		}
	}
}

// lock takes one of dpkg's locks as another process would.
func (m machine) lock(name string) (release func()) {
	m.t.Helper()
	f, err := os.OpenFile(filepath.Join(m.root, name), os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		m.t.Fatal(err)
	}
	lockFile(m.t, f)
	return func() { f.Close() }
}
