package file_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

func TestDiff(t *testing.T) {
	t.Parallel()

	for sentence, c := range map[string]struct {
		given func(*testing.T, *hosttest.Host)
		spec  string
		want  string
	}{
		"text has a unified diff": {
			text("a\nb\nc\nd\ne\nf\n", 0o644, 0, 0),
			`{path: /x, content: "a\nb\nc\nd\nE\nf\n"}`,
			"--- /x (present)\n+++ /x (desired)\n@@ -2,5 +2,5 @@\n b\n c\n d\n-e\n+E\n f\n",
		},
		"a missing final newline is marked": {
			text("a\n", 0o644, 0, 0),
			`{path: /x, content: "a"}`,
			"--- /x (present)\n+++ /x (desired)\n@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n",
		},
		"showDiff: false hides it":                     {text("a\n", 0o644, 0, 0), `{path: /x, content: "b\n", showDiff: false}`, ""},
		"binary content just differs":                  {text("a\x00", 0o644, 0, 0), `{path: /x, content: "b\n"}`, "Binary files differ\n"},
		"text replaced by binary content just differs": {text("a\n", 0o644, 0, 0), `{path: /x, content: "b\0"}`, "Binary files differ\n"},
		"a large file has no diff": {
			text(strings.Repeat("a", 256<<10+1), 0o644, 0, 0),
			`{path: /x, content: "b\n"}`,
			"Files differ: the present content has 262145 bytes, too many for a diff\n",
		},
		"a fifo has no diff": {fifo, `{path: /x, ensure: present, content: "b\n"}`, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			changes := look(t, newHost(t, c.given), c.spec).Compare().Changes
			if len(changes) != 1 || changes[0].Property != "content" || changes[0].Diff != c.want {
				t.Errorf("got %+v\nwant the diff\n%s", changes, c.want)
			}
		})
	}
}

// The text of a file is only in its diff.
func TestContentIsShownByChecksum(t *testing.T) {
	t.Parallel()

	const spec = `{path: /x, content: "two\n"}`
	comparison := look(t, newHost(t, text("one\n", 0o644, 0, 0)), spec).Compare()
	c := comparison.Changes[0]
	if c.Is != sumOne || c.Should != sumTwo || comparison.Observed["content"] != sumOne {
		t.Errorf("is %q, should %q, observed %q", c.Is, c.Should, comparison.Observed["content"])
	}
}
