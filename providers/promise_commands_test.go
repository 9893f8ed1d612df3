package providers_test

import (
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// commands has the cases of Execs and of refreshes.
func commands() map[string]promised {
	return map[string]promised{
		"what an Exec creates exists": {
			catalog: []string{
				"File/a {path: /srv/a, content: a, notify: [Exec/a]}", "Exec/a {command: /bin/true, refreshOnly: true, creates: [/etc/passwd]}",
			},
			plan: []string{"File/a Noop", "Exec/a InSync"},
		},
		"commands decide whether a notified Exec runs": {
			catalog: []string{
				"File/a {path: /srv/a, content: a, notify: [Exec/a, Exec/b]}",
				"Exec/a {command: /bin/true, refreshOnly: true, onlyIf: [/usr/bin/test -e /srv/a]}",
				"Exec/b {command: /bin/true, refreshOnly: true, unless: [/bin/true]}",
			},
			plan: []string{"File/a Noop", "Exec/a Noop (unknown: runs its checks again)", "Exec/b Noop (unknown: runs its checks again)"},
		},
		"the command of a notified Exec is missing": {
			catalog: []string{
				"File/a {path: /srv/a, content: a, notify: [Exec/a]}",
				"Exec/a {command: /bin/true, refreshOnly: true, refresh: /bin/nosuch}",
			},
			plan: []string{"File/a Noop", "Exec/a Failed: cannot be refreshed: cannot find command: stat /bin/nosuch: no such file or directory"},
		},
		"what an Exec creates comes before": {
			catalog: []string{"File/a {path: /srv/a, content: a}", "Exec/a {command: /bin/true, creates: [/srv/a]}"},
			plan:    []string{"File/a Noop", "Exec/a InSync"},
		},
		"what an Exec creates is removed before": {
			given:   "mkdir -p /srv/a; touch /srv/a/b",
			catalog: []string{"File/a {path: /srv/a, ensure: absent, force: true}", "Exec/a {command: /bin/true, creates: [/srv/a/b]}"},
			plan:    []string{"File/a Noop", "Exec/a Noop (unknown: runs a command)"},
		},
		"a check reads a file that comes before": {
			given: "echo a > /srv/a",
			catalog: []string{
				`File/a {path: /srv/a, content: "b\n"}`, "Exec/a {command: /bin/true, unless: ['/bin/grep a /srv/a'], require: [File/a]}",
			},
			plan: []string{"File/a Noop", "Exec/a InSync (unknown: comes after File/a)"},
		},
		"the answers to a package's questions are missing": {
			given:   "apt-get -qq update",
			catalog: []string{"Package/asks {responseFile: /srv/a}"},
			plan:    []string{"Package/asks Failed: cannot be applied: cannot read responseFile: stat /srv/a: no such file or directory"},
		},
		"the answers to a package's questions come before": {
			given:   "apt-get -qq update",
			catalog: []string{"File/a {path: /srv/a, content: ''}", "Package/asks {responseFile: /srv/a}"},
			plan:    []string{"File/a Noop", "Package/asks Noop (unknown: runs maintainer scripts)"},
		},
		"a notified package is not reinstalled": {
			catalog: []string{
				"File/a {path: /srv/a, content: a, notify: [Package/bash, Package/nosuch]}",
				"Package/bash {ensure: present}", "Package/nosuch {ensure: absent, reinstallOnRefresh: true}",
			},
			plan: []string{"File/a Noop", "Package/bash InSync", "Package/nosuch InSync"},
		},
	}
}

func TestAPlanOfCommandsIsAPromise(t *testing.T) {
	for name, c := range commands() {
		t.Run(name, func(t *testing.T) { c.keepOnRoot(t, debian.Deb{Name: "asks", Version: "1.0"}) })
	}
}
