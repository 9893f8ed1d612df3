package tidy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

func TestATidyWaitsOnlyForFilesThatItCouldRemove(t *testing.T) {
	const all = `path: /x, recurse: true`
	waits := func(claim string) []string {
		return []string{"Tidy/a: skipped: File/w is withheld (MissingReference: no File/z) and " + claim}
	}
	for name, test := range map[string]struct {
		location, spec string
		want           []string
	}{
		"unknown":                              {"", all, waits("may manage files at or below /x")},
		"below it":                             {"/x/d/new", all, waits("manages /x/d/new")},
		"the path itself":                      {"/x", all, waits("manages /x")},
		"a tree below it":                      {"/x/d/", all, waits("may manage all below /x/d")},
		"a tree above it":                      {"/x/", `path: /x/d, recurse: true`, waits("may manage all below /x")},
		"a tree of everything":                 {"/", all, waits("may manage all below /")},
		"a tree above it by another path":      {"/y/", all, waits("may manage all below /y")},
		"a directory above it":                 {"/x", `path: /x/d, recurse: true`, removed("/d/g")},
		"beside it":                            {"/x/dd", `path: /x/d, recurse: true`, removed("/d/g")},
		"with a longer name":                   {"/xx", all, removed("/d/g", "/f")},
		"a tree elsewhere":                     {"/z/", all, removed("/d/g", "/f")},
		"a file that a Tidy of a file removes": {"/x/f", `path: /x/f`, waits("manages /x/f")},
		"another file than a Tidy of a file":   {"/x/g", `path: /x/f`, removed("/f")},
		"without a matching name":              {"/x/d/g", all + `, matches: [f]`, removed("/f")},
		"with a matching name":                 {"/x/d/f", all + `, matches: [f]`, waits("manages /x/d/f")},
		"below what it descends to":            {"/x/d/g", all + `, recurseLimit: 1, rmdirs: true`, removed("/f")},
		"just not below what it descends to":   {"/x/d/g", all + `, recurseLimit: 2`, waits("manages /x/d/g")},
		"by another path, so it stays":         {"/y/d/g", all + `, rmdirs: true`, removed("/f")},
		"a key of a user":                      {"~ann", all, waits("may manage files at or below /x")},
	} {
		t.Run(name, func(t *testing.T) {
			m, _, root := open(t, []thing{{"d/g", 1, 48, 48}, {"f", 1, 48, 48}})
			must(t, os.Symlink("x", filepath.Join(root, "y")))
			m.Withheld = []resource.Withheld{
				{Ref: resource.Ref{Kind: "User", Name: "ann"}},
				{Ref: resource.Ref{Kind: "File", Name: "w"}, Location: test.location, Why: "MissingReference: no File/z"},
			}
			if diff := cmp.Diff(test.want, m.Apply(t, `Tidy/a {`+test.spec+`}`)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWaitingTidyIsSkippedAndItsDependentsAreNot(t *testing.T) {
	m, _, _ := open(t, []thing{{"f", 1, 48, 48}})
	m.Withheld = []resource.Withheld{{Ref: resource.Ref{Kind: "File", Name: "w"}, Location: "/x/f", Why: "Conflict: of two"}}
	got := m.Report(t, `Tidy/a {path: /x, recurse: true}`, `File/b {path: /x/new, content: a, require: [Tidy/a]}`)
	if want := (report.Counts{Total: 2, Changed: 1, Skipped: 1, OutOfSync: 1}); got.Counts != want || got.Status != "changed" {
		t.Errorf("%s: got %+v, want %+v", got.Status, got.Counts, want)
	}
}
