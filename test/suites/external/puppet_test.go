//go:build rare

package external_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// puppetPackages are Puppet, and modules with types of others.
func puppetPackages() []string {
	const module = "puppet-module-puppetlabs-"
	return []string{"puppet-agent", "ruby-puppet-resource-api", module + "host-core", module + "cron-core", module + "inifile"}
}

func TestPuppetTypesOfTheResourceAPI(t *testing.T) {
	a := newAuthor(t, puppetPackages()...)
	module := absolute(t, "../../fixtures/puppet")
	a.adopt(t, "AccountNote", "ann", "text= hello ", "password=marker-1", "--puppet", "account_note", "--module", module)
	a.adopt(t, "Bookmark", "ann/example.org", "tags=a,b", "--puppet", "bookmark", "--module", module)
	a.test(t, "AccountNote", "Bookmark")
	a.compareSpec(t, "AccountNote", "testdata/accountnote.yaml")
	a.compareSpec(t, "Bookmark", "testdata/bookmark.yaml")

	t.Run("all resources are read by one process and changed by another", func(t *testing.T) {
		runs := a.counter.runs
		notes := []string{"AccountNote/a {name: ANN, text: ' hi ', password: marker-1, flags: [b, a]}", "AccountNote/b {name: bob, text: bob}"}
		equal(t, []string{"AccountNote/a: created", "AccountNote/b: created"}, a.Apply(t, notes...))
		equal(t, `{"text":"hi","flags":["b","a"],"password":"marker-1"}`, a.read(t, "var/lib/account-notes/ann"))
		equal(t, 1, a.counter.runs-runs)
		queries := a.counter.queries
		equal(t, []string(nil), a.Apply(t, notes...))
		equal(t, 1, a.counter.queries-queries)
	})
	t.Run("a secret is not shown", func(t *testing.T) {
		equal(t, []string{"AccountNote/a: changed password"}, a.Apply(t, "AccountNote/a {name: ann, text: hi, password: marker-2}"))
		equal(t, []string{"AccountNote/c: created"}, a.Apply(t, `AccountNote/c {name: carl, text: x, password: 'marker-3 "q" \ ü'}`))
		lines := strings.Join(a.Apply(t, `AccountNote/c {name: carl, text: other, password: 'marker-4 "p" \ é', force: false}`), "\n")
		if !strings.Contains(lines, "the note carl is locked; [redacted]") {
			t.Errorf("the report is %q", lines)
		}
		for _, part := range []string{"marker", `"q"`, `"p"`, `\"q`, `\"p`, "bWFya2Vy", "6d61726b6572", "xC3", "u00"} {
			if strings.Contains(lines, part) {
				t.Errorf("the report has %q: %q", part, lines)
			}
		}
	})
	t.Run("Puppet's data types are checked", func(t *testing.T) {
		lines := a.Apply(t, "AccountNote/a {name: ann, text: hi, lines: 101}", "AccountNote/b {name: bob, text: bob}")
		if len(lines) != 1 || !strings.HasSuffix(lines[0], "lines violates maximum of the schema") {
			t.Errorf("the report is %q", lines)
		}
	})
	t.Run("the provider decides what is in sync", func(t *testing.T) {
		mark := "Bookmark/a {account: ann, site: a, tags: "
		equal(t, []string{"Bookmark/a: created"}, a.Apply(t, mark+"[one, two]}"))
		equal(t, []string(nil), a.Apply(t, mark+"[two]}"))
		if shown := fmt.Sprintf("%+v", a.Report(t, mark+"[three]}")); !strings.Contains(shown, "Diff:a lacks three") {
			t.Errorf("the report is %s", shown)
		}
	})
	t.Run("a resource that fails does not fail the others", func(t *testing.T) {
		lines := a.Apply(t, "Bookmark/f {account: ann, site: forbidden, tags: []}", "Bookmark/g {account: ann, site: good, tags: []}")
		if len(lines) != 2 || !strings.Contains(lines[0], "the site forbidden is forbidden") || lines[1] != "Bookmark/g: created" {
			t.Errorf("the report is %q", lines)
		}
	})
	t.Run("unmanaged resources are purged", func(t *testing.T) {
		lines := a.Apply(t, "Bookmark/g {account: ann, site: good, tags: []}", "Purge/bookmarks {kind: Bookmark, confirm: Bookmark}")
		equal(t, []string{"Bookmark/ann/a: removed"}, lines)
	})
	t.Run("a Purge spares names that Puppet writes in another way", func(t *testing.T) {
		notes := []string{"Purge/notes {kind: AccountNote, confirm: AccountNote}", "AccountNote/a {name: ANN, text: hi, password: marker-2}"}
		lines := a.Apply(t, notes...)
		if !slices.Contains(lines, "AccountNote/bob: removed") || slices.Contains(lines, "AccountNote/ann: removed") {
			t.Errorf("the report is %q", lines)
		}
		equal(t, []string(nil), a.Apply(t, notes...))
		lines = a.Apply(t, append(notes, "AccountNote/b {name: Ann, text: bye, password: marker-1}")...)
		if len(lines) != 2 || !strings.Contains(lines[0], `"ANN" is on this host the same as "Ann" of AccountNote/b, canonically "ann"`) {
			t.Errorf("the report is %q", lines)
		}
	})
}

func TestPuppetTypesOfDebian(t *testing.T) {
	a := newAuthor(t, puppetPackages()...)
	a.adopt(t, "HostEntry", "db", "ip=192.0.2.7", "host_aliases=[db1, db2]", "--puppet", "host")
	a.adopt(t, "CronJob", "backup", "command=/bin/true", "hour=2", "user=root", "--puppet", "cron")
	a.adopt(t, "IniSetting", "example", "path=/etc/app.ini", "section=main", "setting=level", "value=debug", "--puppet", "ini_setting")
	a.test(t, "HostEntry", "IniSetting")

	a.write(t, "etc/hosts", "127.0.0.1 localhost\n")
	hosts := []string{"HostEntry/db {name: db, ip: 192.0.2.7, host_aliases: [db1, db2]}", "HostEntry/web {name: web, ip: 192.0.2.8}"}
	equal(t, []string{"HostEntry/db: created", "HostEntry/web: created"}, a.Apply(t, hosts...))
	if got := a.read(t, "etc/hosts"); !strings.Contains(got, "192.0.2.7\tdb\tdb1 db2\n192.0.2.8\tweb\n") {
		t.Errorf("/etc/hosts has %q", got)
	}
	queries, runs := a.counter.queries, a.counter.runs
	equal(t, []string(nil), a.Apply(t, hosts...))
	equal(t, []int{1, 0}, []int{a.counter.queries - queries, a.counter.runs - runs})

	equal(t, []string{"HostEntry/db: ip changed 192.0.2.7 to 192.0.2.9"}, a.Apply(t, "HostEntry/db {name: db, ip: 192.0.2.9}"))
	lines := a.Apply(t, "HostEntry/bad {name: bad, ip: none}", "HostEntry/db {name: db, ip: 192.0.2.7}")
	if len(lines) != 2 || !strings.Contains(lines[0], `Invalid IP address "none"`) || lines[1] != "HostEntry/db: ip changed 192.0.2.9 to 192.0.2.7" {
		t.Errorf("the report is %q", lines)
	}
	equal(t, []string{"HostEntry/web: removed"}, a.Apply(t, "HostEntry/web {name: web, ensure: absent}"))

	ini := "IniSetting/level {name: level, path: /etc/app.ini, section: main, setting: level, value: info}"
	equal(t, []string{"IniSetting/level: created"}, a.Apply(t, ini))
	if got := a.read(t, "etc/app.ini"); !strings.Contains(got, "[main]\nlevel = info\n") {
		t.Errorf("/etc/app.ini has %q", got)
	}
	equal(t, []string(nil), a.Apply(t, ini))

	host := "HostEntry/db {name: db, ip: 192.0.2.8, notify: [IniSetting/level]}"
	level := strings.NewReplacer("info", "debug", "path:", "refreshonly: true, path:").Replace(ini)
	equal(t, []string(nil), a.Apply(t, level))
	equal(t, []string{"HostEntry/db: ip changed 192.0.2.7 to 192.0.2.8", "IniSetting/level: refreshed by 1 event"}, a.Apply(t, host, level))
	if got := a.read(t, "etc/app.ini"); !strings.Contains(got, "[main]\nlevel = debug\n") {
		t.Errorf("after the refresh, /etc/app.ini has %q", got)
	}

	equal(t, []string{"CronJob/backup: created"}, a.Apply(t, "CronJob/backup {name: backup, command: /bin/true, hour: ['2'], user: root}"))
	if got := a.read(t, "var/spool/cron/crontabs/root"); !strings.Contains(got, "# Puppet Name: backup\n* 2 * * * /bin/true\n") {
		t.Errorf("the crontab has %q", got)
	}
	a.Noop = true
	equal(t, []string{"CronJob/backup: removed (noop) (unknown: runs the program of the type)"}, a.Apply(t, "CronJob/backup {name: backup, ensure: absent, user: root}"))
}

func TestMissingPuppetTypesAreRefused(t *testing.T) {
	a := newAuthor(t, puppetPackages()...)
	for name, tt := range map[string]struct{ args, want string }{
		"no such type":      {"type new Nothing --puppet nothing", "Puppet has no type nothing: install the module that has it, or use --module"},
		"no module":         {"type new Nothing --puppet nothing --module /etc", "/etc has no lib: give the directory of a module"},
		"unknown attribute": {"type new HostEntry db address=192.0.2.7 --puppet host", `HostEntry has no attribute "address"`},
		"no kind":           {"type new host --puppet host", `"host" is not a name such as DNSZone`},
	} {
		out, err := a.fettle(t, strings.Fields(tt.args)...)
		if err == nil || !strings.Contains(err.Error()+out, tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}
