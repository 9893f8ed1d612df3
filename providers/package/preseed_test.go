package pkg_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// curious returns a package that asks for a colour, and records the answer at each step.
func curious(name string) debian.Deb {
	const ask = ". /usr/share/debconf/confmodule\ndb_get NAME/colour\necho NAME STEP $RET >>/witness\n"
	step := func(step string) string {
		return "#!/bin/sh\n" + strings.NewReplacer("NAME", name, "STEP", step).Replace(ask)
	}
	return debian.Deb{
		Name: name, Version: "1.0", Depends: "debconf",
		Scripts: map[string]string{
			"templates": "Template: " + name + "/colour\nType: string\nDescription: which colour\n",
			"postinst":  step("installed"), "prerm": step("removed"),
			"postrm": "#!/bin/sh\nif [ \"$1\" = purge ]; then\n" + strings.TrimPrefix(step("purged"), "#!/bin/sh\n") + "db_purge\nfi\n",
		},
	}
}

func TestPreseeding(t *testing.T) {
	t.Parallel()

	m := newMachine(t, curious("one"), curious("two"), curious("three"))
	for _, step := range []struct{ ensure, colour, outcome string }{
		{"present", "red", "created"},
		{"present", "green", "in sync"},
		{"absent", "blue", "removed"},
		{"purged", "grey", "purged"},
	} {
		m.put("srv/answers", "# of both\none one/colour string "+step.colour+"\ntwo two/colour string dark "+step.colour+"\n")
		expect(t, []string{step.outcome, step.outcome}, m.apply(`{"name":"one","responseFile":"/srv/answers","ensure":"`+step.ensure+`"}`,
			`{"name":"two","responseFile":"/srv/answers","ensure":"`+step.ensure+`"}`))
	}
	witness := strings.Split(strings.TrimSpace(m.file("witness")), "\n")
	expect(t, []string{"one installed red", "one removed blue", "one purged grey", "two installed dark red", "two removed dark blue", "two purged dark grey"},
		append(about("one", witness), about("two", witness)...))
}

func about(name string, lines []string) []string {
	var all []string
	for _, line := range lines {
		if strings.HasPrefix(line, name+" ") {
			all = append(all, line)
		}
	}
	return all
}

func TestInvalidResponseFileFailsAloneAndIsNotQuoted(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("one", "1.0"), deb("two", "1.0"), deb("three", "1.0"))
	m.put("srv/torn", "# answers\nhunter2\n\nd-i question\n")
	m.put("srv/strange", "one one/word hunter2 hunter2\n")

	outcomes := m.apply(`{"name":"one","responseFile":"/srv/torn"}`, `{"name":"two","responseFile":"/srv/strange"}`,
		`{"name":"three","responseFile":"/srv/gone"}`, `{"name":"one"}`)
	if !strings.HasPrefix(outcomes[2], "cannot read responseFile: ") || !strings.HasSuffix(outcomes[2], "no such file or directory") {
		t.Errorf("a file that is not there gave: %s", outcomes[2])
	}
	outcomes[2] = ""
	expect(t, []string{
		`cannot read responseFile "/srv/torn": debconf-set-selections rejects line 2, line 4: write owner, question, type and value`,
		`cannot read responseFile "/srv/strange": debconf-set-selections rejects line 1: write owner, question, type and value`,
		"", "created",
	}, outcomes)
	expect(t, []string{"install ok installed 1.0", "", ""}, m.states("one", "two", "three"))
}
