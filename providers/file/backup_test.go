package file_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
)

// saved returns the bucket as lines of content and paths.
func saved(t *testing.T, h host.Host) (out []string) {
	t.Helper()
	b := bucket.New(h, bucket.DefaultDir, bucket.DefaultLimit)
	all, err := b.List()
	must(t, err)
	for _, e := range all {
		f, err := b.Open(e.Sum)
		must(t, err)
		text, err := io.ReadAll(f)
		must(t, err)
		must(t, f.Close())
		out = append(out, fmt.Sprintf("%q %v", text, e.Paths))
	}
	slices.Sort(out)
	return out
}

func TestBackup(t *testing.T) {
	t.Parallel()

	one := text("one\n", 0o640, 1001, 2001)
	for sentence, c := range map[string]struct {
		given func(*testing.T, *hosttest.Host)
		spec  string
		saved []string
		bak   string
	}{
		"new content":                                {given: one, spec: `{path: /x, content: "two\n"}`, saved: []string{`"one\n" [/x]`}},
		"a removed file is saved":                    {given: one, spec: `{path: /x, ensure: absent}`, saved: []string{`"one\n" [/x]`}},
		"a file replaced by a link is saved":         {given: one, spec: `{path: /x, target: /y}`, saved: []string{`"one\n" [/x]`}},
		"a file replaced by a directory is saved":    {given: one, spec: `{path: /x, ensure: directory}`, saved: []string{`"one\n" [/x]`}},
		"the files of a removed directory are saved": {given: fullDir, spec: `{path: /x, ensure: absent, force: true}`, saved: []string{`"kept" [/x/sub/f]`}},
		"a file that replaces a directory is written once": {
			given: fullDir, spec: `{path: /x, content: a, force: true}`, saved: []string{`"kept" [/x/sub/f]`},
		},
		"the bucket by name":                         {given: one, spec: `{path: /x, content: "two\n", backup: Bucket}`, saved: []string{`"one\n" [/x]`}},
		"a copy with a suffix":                       {given: one, spec: `{path: /x, content: "two\n", backup: .bak}`, bak: "/x.bak ---------- 0640 1001:2001\n  one\n  \n"},
		"a copy with a suffix of a removed file":     {given: one, spec: `{path: /x, ensure: absent, backup: .bak}`, bak: "/x.bak ---------- 0640 1001:2001\n  one\n  \n"},
		"none with backup: None":                     {given: one, spec: `{path: /x, content: "two\n", backup: None}`},
		"none with showDiff: false":                  {given: one, spec: `{path: /x, content: "two\n", showDiff: false}`},
		"the bucket with showDiff: false and backup": {given: one, spec: `{path: /x, content: "two\n", showDiff: false, backup: Bucket}`, saved: []string{`"one\n" [/x]`}},
		"none of a link":                             {given: symlink("/etc/passwd", 0, 0), spec: `{path: /x, content: a}`},
		"none of a fifo":                             {given: fifo, spec: `{path: /x, content: a}`},
		"none of a missing file":                     {spec: `{path: /x, content: a}`},
		"none when only the mode changes":            {given: one, spec: `{path: /x, content: "one\n", mode: "0600"}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c.given)
			if got := apply(t, h, c.spec); got.Err != "" || len(got.Left) > 0 {
				t.Errorf("error %s, left %v", got.Err, got.Left)
			}
			if diff := cmp.Diff(c.saved, saved(t, h)); diff != "" {
				t.Errorf("bucket (-want +got):\n%s", diff)
			}
			if c.bak == "" {
				c.bak = "/x.bak absent\n"
			}
			if diff := cmp.Diff(c.bak, resourcetest.Files(h, "/x.bak")(t)); diff != "" {
				t.Errorf("beside it (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesThatCannotBeBackedUpStay(t *testing.T) {
	t.Parallel()

	blocked := func(given func(*testing.T, *hosttest.Host)) func(*testing.T, *hosttest.Host) {
		return func(t *testing.T, h *hosttest.Host) {
			t.Helper()
			given(t, h)
			h.Put("/var/lib/fettle", "in the way")
		}
	}
	full := func(t *testing.T, h *hosttest.Host) {
		t.Helper()
		for i := range 1001 {
			h.Put(fmt.Sprintf("/x/%d", i), "a")
		}
	}
	const cannot = "cannot back up /x; will not replace it: "
	for sentence, c := range map[string]struct {
		given     func(*testing.T, *hosttest.Host)
		spec, err string
	}{
		"new content":         {blocked(text("one\n", 0o644, 0, 0)), `{path: /x, content: "two\n"}`, cannot},
		"a removed file":      {blocked(text("one\n", 0o644, 0, 0)), `{path: /x, ensure: absent}`, cannot},
		"a link":              {blocked(text("one\n", 0o644, 0, 0)), `{path: /x, target: /y}`, cannot},
		"a removed directory": {blocked(fullDir), `{path: /x, ensure: absent, force: true}`, cannot},
		"a directory with a suffix": {
			fullDir, `{path: /x, ensure: absent, force: true, backup: .bak}`,
			cannot + "a suffix is for files, but this is a directory with files in it: use backup: Bucket, or None",
		},
		"a directory with too many files": {
			full, `{path: /x, ensure: absent, force: true}`,
			cannot + "it contains more than 1000 files: remove some by hand, or set backup: None",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c.given)
			before := resourcetest.Files(h, "/x")(t)
			got := apply(t, h, c.spec)
			if !strings.Contains(got.Err, c.err) {
				t.Errorf("error %s", got.Err)
			}
			if diff := cmp.Diff(before, got.After); diff != "" {
				t.Errorf("it changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestNoBackupIfValidateCmdFails(t *testing.T) {
	t.Parallel()

	h := newHost(t, text("one\n", 0o644, 0, 0))
	checker(t, h, new([]string))
	apply(t, h, `{path: /x, content: bad, validateCmd: checker %}`)
	if got := saved(t, h); got != nil {
		t.Errorf("the bucket has %v", got)
	}
}

// The owner of the directory may replace a file by a link after it was examined.
func TestBackupDoesNotFollowSymlinks(t *testing.T) {
	t.Parallel()

	for _, to := range []string{".bak", "Bucket"} {
		h := newHost(t, text("one\n", 0o644, 0, 0))
		h.Put("/etc/shadow", "secret")
		r := look(t, h.ReadOnly(), `{path: /x, content: "two\n", backup: `+to+`}`)
		must(t, h.Symlink("/etc/shadow", "/x"))
		must(t, r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes))
		if diff := cmp.Diff("/x.bak absent\n", resourcetest.Files(h, "/x.bak")(t)); diff != "" || saved(t, h) != nil {
			t.Errorf("%s: the bucket has %v, beside the file (-want +got):\n%s", to, saved(t, h), diff)
		}
	}
}
