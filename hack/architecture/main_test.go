package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestThePictureIsUpToDate(t *testing.T) {
	t.Parallel()

	root := os.DirFS("../..")
	page, err := fs.ReadFile(root, "docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	picture, err := draw(root, groups())
	if err != nil {
		t.Fatal(err)
	}
	want, err := replace(string(page), picture)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("docs/architecture.md is out of date: run make manifests (-code +page):\n%s", diff)
	}
}

// checkout returns one with a program and these packages, of which each imports others.
func checkout(imports map[string]string) fs.FS {
	files := fstest.MapFS{"cmd/a/main_test.go": {Data: []byte("package main\n\nimport _ \"" + module + "c/test\"\n")}}
	for pkg, all := range imports {
		text := "package p\n"
		for imported := range strings.FieldsSeq(all) {
			text += "import _ \"" + module + imported + "\"\n"
		}
		files[pkg+"/file.go"] = &fstest.MapFile{Data: []byte(text + "import _ \"io/fs\"\n")}
	}
	return files
}

func TestThePictureHasTheImportsThatNoOthersImply(t *testing.T) {
	t.Parallel()

	all := []group{{"program", "Programs", []string{"cmd"}}, {"top", "Top", []string{"a", "b"}}, {"bottom", "Bottom", []string{"c", "a/low"}}, {"unused", "Unused", []string{"d"}}}
	got, err := draw(checkout(map[string]string{"cmd/a": "a c", "a": "a/x b", "a/x": "a/low", "a/low": "", "b": "c", "c": "", "c/test": "cmd/a", "d": ""}), all)
	want := `flowchart TD
  program["<b>Programs</b><br/>cmd: a"]
  top["<b>Top</b><br/>a: x<br/>b"]
  bottom["<b>Bottom</b><br/>c<br/>a/low"]
  program --> top
  top --> bottom
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestGroupsThatDoNotFitTheCodeAreErrors(t *testing.T) {
	t.Parallel()

	all := []group{{"program", "Programs", []string{"cmd"}}, {"a", "A", []string{"a"}}, {"b", "B", []string{"b"}}}
	for want, imports := range map[string]map[string]string{
		"package c is in no group: add its folder to a group in hack/architecture/groups.go":                     {"cmd/a": "c", "c": ""},
		"groups import each other: a imports b/x, b imports a/y: move what they share into a package of its own": {"cmd/a": "a b", "a": "b/x", "b/x": "", "b": "a/y", "a/y": ""},
		"cannot find the files of package missing":                                                               {"cmd/a": "missing"},
	} {
		if _, err := draw(checkout(imports), all); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
