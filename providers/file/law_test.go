package file_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/file"
)

func TestLaws(t *testing.T) {
	t.Parallel()

	for what, c := range map[string]resourcetest.Case{
		"file": {
			Absent:  `{path: /x, ensure: absent, force: true}`,
			Present: `{path: /x, content: "one\n", owner: ann, group: web, mode: "4755"}`,
			Changed: []string{
				`{path: /x, content: "two\n", owner: "0", group: 0, mode: "u=rw,go=r"}`,
				`{path: /x, ensure: present, mode: g+w}`,
				`{path: /x, ensure: file, owner: ann}`,
			},
		},
		"directory": {
			Absent:  `{path: /x, ensure: absent, force: true}`,
			Present: `{path: //x/, ensure: directory, owner: ann, mode: "2644"}`,
			Changed: []string{`{path: /x, ensure: directory, group: web, mode: "700"}`},
		},
		"link": {
			Absent:  `{path: /x, ensure: absent}`,
			Present: `{path: /x, target: /etc/passwd, owner: ann}`,
			Changed: []string{`{path: /x, target: nowhere, group: web}`},
		},
		"all kinds in turn": {
			Absent:  `{path: /x, ensure: absent, force: true}`,
			Present: `{path: /x, ensure: directory}`,
			Changed: []string{
				`{path: /x, content: "one\n", force: true}`,
				`{path: /x, target: /etc}`,
				`{path: /x, ensure: file}`,
				`{path: /x, ensure: directory}`,
				`{path: /x, target: /etc, force: true}`,
				`{path: /x, ensure: directory}`,
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, nil)
			c.Host = h
			c.Snapshot = resourcetest.Files(h, "/x")
			resourcetest.Run(t, file.Type(nowhere), c)
		})
	}
}

// Reading a host without a manifest finds everything that can be created there.
func TestStateByName(t *testing.T) {
	t.Parallel()

	big := make([]byte, 256<<10+1)
	for sentence, c := range map[string]struct {
		given func(*testing.T, *hosttest.Host)
		want  string
	}{
		"a file with text":       {text("one\n", 0o644, 1001, 2001), `{"path":"/x","ensure":"file","content":"one\n","owner":"ann","group":"web","mode":"0644"}`},
		"an empty file":          {text("", 0o4755, 7, 8), `{"path":"/x","ensure":"file","content":"","owner":7,"group":8,"mode":"4755"}`},
		"a binary file":          {text("a\x00b", 0o600, 0, 0), `{"path":"/x","ensure":"file","owner":"root","group":"root","mode":"0600"}`},
		"text that is not UTF-8": {text("a\xffb", 0o600, 0, 0), `{"path":"/x","ensure":"file","owner":"root","group":"root","mode":"0600"}`},
		"a large file":           {text(string(big), 0o600, 0, 0), `{"path":"/x","ensure":"file","owner":"root","group":"root","mode":"0600"}`},
		"a directory":            {dir(0o1777, 0, 0), `{"path":"/x","ensure":"directory","owner":"root","group":"root","mode":"1777"}`},
		"a link":                 {symlink("a/b", 0, 0), `{"path":"/x","ensure":"link","target":"a/b","owner":"root","group":"root"}`},
		"a fifo":                 {fifo, `{"path":"/x","ensure":"present","owner":"root","group":"root","mode":"0600"}`},
		"a missing file":         {nil, `{"path":"/x","ensure":"absent"}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c.given)
			r, err := bound.Kind(file.Type(nowhere)).Named("/x")
			must(t, err)
			must(t, r.Choose(nil, h, ""))
			must(t, r.Read(t.Context(), resourcetest.Reader(h)))
			if got := string(r.State().Attributes); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestFilesCannotBeListed(t *testing.T) {
	t.Parallel()

	_, err := bound.Kind(file.Type(nowhere)).Instances(t.Context(), nil, resourcetest.Reader(newHost(t, nil)), "")
	if want := "cannot list all of kind File: provider posix can't; give a name"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
