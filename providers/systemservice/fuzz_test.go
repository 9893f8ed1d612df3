package systemservice_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/providers/systemservice"
)

// The runlevels of a script are those of the first such line in it, without blanks.
func FuzzDefaultStart(f *testing.F) {
	f.Add("#!/bin/sh\n### BEGIN INIT INFO\n# Default-Start:     2 3 4 5\n# Default-Stop: 0\n### END INIT INFO\n")
	f.Add("# Default-Start:\n# Default-Start: S\n")
	f.Add("# Default-Start: 2 3\r\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		levels := systemservice.DefaultStart(text)
		if strings.ContainsAny(levels, " \t\r\n") {
			t.Errorf("%q starts in %q", text, levels)
		}
		if again := systemservice.DefaultStart("# Default-Start: " + strings.Join(strings.Split(levels, ""), " ") + "\n" + text); again != levels && utf8.ValidString(levels) {
			t.Errorf("%q starts in %q, and written out in %q", text, levels, again)
		}
		if !strings.Contains(text, "# Default-Start:") && levels != "2345" {
			t.Errorf("%q, which has no header, starts in %q", text, levels)
		}
	})
}

// Each listed name is valid, and not a template.
func FuzzParseUnitFiles(f *testing.F) {
	f.Add("ssh.service enabled enabled\ngetty@.service enabled enabled\nsshd.service alias -\n")
	f.Add("\n x\n\x00 \xff y\na@.b alias")
	f.Fuzz(func(t *testing.T, output string) {
		names := systemservice.ParseUnitFiles(output)
		for _, name := range names {
			if name == "" || strings.ContainsAny(name, " \t\n") || strings.Contains(name, "@.") || !strings.Contains(output, name) {
				t.Errorf("%q lists %q", output, name)
			}
		}
		if again := systemservice.ParseUnitFiles(strings.Join(names, " static\n") + " static"); len(names) > 0 && strings.Join(again, "\n") != strings.Join(names, "\n") {
			t.Errorf("%q lists %q, and these %q", output, names, again)
		}
	})
}

// The quoted part of a journal is short and printable, however long the journal is.
func FuzzQuoteJournal(f *testing.F) {
	f.Add("Started it.\ncannot bind port 80\n")
	f.Add(strings.Repeat("ä", 2000))
	f.Add("\xff\n\n")
	f.Fuzz(func(t *testing.T, journal string) {
		got := systemservice.QuoteJournal(journal)
		if len(got) > 1600 || (got == "") != (strings.TrimSpace(journal) == "") || utf8.ValidString(journal) && !utf8.ValidString(got) {
			t.Errorf("%d bytes, %t: %q", len(got), utf8.ValidString(got), got)
		}
		if _, quoted, _ := strings.Cut(got, ":\n"); got != "" && quoted == "" {
			t.Errorf("%q is not quoted", journal)
		}
	})
}
