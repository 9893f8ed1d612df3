package dpkg_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/providers/package/dpkg"
)

// parse returns name, architecture, version, and the three words of the status.
func parse(r io.Reader) ([][6]string, error) {
	var all [][6]string
	err := dpkg.Parse(r, func(p dpkg.Package) {
		all = append(all, [6]string{p.Name, p.Arch, p.Version, p.Want, p.Flag, p.State})
	})
	return all, err
}

func TestParseIgnoresLongLines(t *testing.T) {
	t.Parallel()

	text := "Package: a\nDepends: " + strings.Repeat("b, ", 100_000) + "\nVersion: 1\n\nPackage: c\n"
	got, err := parse(strings.NewReader(text))
	if diff := cmp.Diff([][6]string{{"a", "", "1"}, {"c"}}, got); err != nil || diff != "" {
		t.Errorf("%v\n(-want +got):\n%s", err, diff)
	}
}

// FuzzParse compares the parser with a simple one.
func FuzzParse(f *testing.F) {
	status, err := os.ReadFile("../testdata/status")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(status)
	f.Add([]byte("Package: a\nStatus: x\n\n\n \nPackage:\nVersion: 1\n\nPackage: b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.ContainsFunc(text, func(r rune) bool { return r == '\r' || r > 127 }) || longLine(text) {
			return
		}
		got, err := parse(bytes.NewReader(text))
		if diff := cmp.Diff(parseSimply(string(text)), got); err != nil || diff != "" {
			t.Errorf("%v\n(-want +got):\n%s", err, diff)
		}
	})
}

func longLine(text []byte) bool {
	for line := range bytes.Lines(text) {
		if len(line) > 250 {
			return true
		}
	}
	return false
}

// parseSimply parses paragraphs without care for speed.
func parseSimply(text string) [][6]string {
	var all [][6]string
	var now [6]string
	fields := map[string]int{"Package": 0, "Architecture": 1, "Version": 2}
	for line := range strings.SplitSeq(text+"\n\n", "\n") {
		if strings.TrimSpace(line) == "" {
			if now[0] != "" {
				all = append(all, now)
			}
			now = [6]string{}
			continue
		}
		name, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if i, ours := fields[name]; ours && found {
			now[i] = value
		}
		if words := strings.Fields(value); name == "Status" && found && len(words) > 0 {
			copy(now[3:], append(words, "", "")[:3])
		}
	}
	return all
}
