package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The SHA-256 of "one\n" and "two\n".
const (
	sumOne = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"
	sumTwo = "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"
)

func TestBucketRestoresReplacedFiles(t *testing.T) {
	root := emptyRoot(t)
	at := filepath.Join(root, "etc/a")
	put(t, at, "one\n")
	if err := os.Chmod(at, 0o640); err != nil {
		t.Fatal(err)
	}
	bucket := func(args ...string) outcome {
		return fettle(t, "", append(append([]string{"bucket"}, args...), "--root", root)...)
	}

	if got := bucket("list"); got.code != 0 || got.out != "" {
		t.Errorf("list of an empty bucket: %+v", got)
	}
	if got := fettle(t, file("a", `path: /etc/a, content: "two\n"`), "apply", "-f", "-", "--root", root); got.code != 0 {
		t.Fatalf("apply: %+v", got)
	}
	listed := regexp.MustCompile(`^` + sumOne + `  \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  4  /etc/a\n$`)
	if got := bucket("list"); !listed.MatchString(got.out) {
		t.Errorf("list: %+v", got)
	}
	if got := bucket("list", "/etc/b"); got.code != 0 || got.out != "" {
		t.Errorf("list of another path: %+v", got)
	}
	if diff := cmp.Diff("one\n", bucket("get", "2c8b08").out); diff != "" {
		t.Errorf("get (-want +got):\n%s", diff)
	}

	const restored = "restored /etc/a to the content with the sum " + sumOne + ", which was replaced at TIME\nto undo this, use fettle bucket restore " + sumTwo + "\n"
	if got := bucket("restore", sumOne); timeOf.ReplaceAllString(got.out, "TIME") != restored {
		t.Errorf("restore: %+v", got)
	}
	if info, err := os.Stat(at); read(t, at) != "one\n" || err != nil || info.Mode() != 0o640 {
		t.Errorf("restored as %q, %v, %v", read(t, at), info, err)
	}
	elsewhere := filepath.Join(root, "etc/c")
	put(t, elsewhere, "one\n")
	if got := fettle(t, file("c", `path: /etc/c, content: "three\n"`), "apply", "-f", "-", "--root", root); got.code != 0 {
		t.Fatalf("apply: %+v", got)
	}
	if got := bucket("restore", sumOne); got.code != 0 || read(t, elsewhere) != "one\n" {
		t.Errorf("restored to the last path: %+v, %q", got, read(t, elsewhere))
	}
	to := filepath.Join(root, "etc/b")
	if got := bucket("restore", sumTwo, "--to", "/etc/b"); got.code != 0 { // restore also saves the file that it replaces
		t.Errorf("restore: %+v", got)
	}
	if info, err := os.Stat(to); read(t, to) != "two\n" || err != nil || info.Mode() != 0o600 {
		t.Errorf("restored as %q, %v, %v", read(t, to), info, err)
	}
}

var timeOf = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

func TestBucketRestoresTheLastContentOfAPath(t *testing.T) {
	root := emptyRoot(t)
	at := filepath.Join(root, "etc/a")
	bucket := func(args ...string) outcome {
		got := fettle(t, "", append(append([]string{"bucket"}, args...), "--root", root)...)
		got.out = timeOf.ReplaceAllString(got.out, "TIME")
		return got
	}
	apply := func(name, content string) {
		t.Helper()
		if got := fettle(t, file(name, "path: /etc/"+name+", content: \""+content+"\\n\""), "apply", "-f", "-", "--root", root); got.code != 0 {
			t.Fatalf("apply: %+v", got)
		}
	}
	for _, content := range []string{"one", "two", "three"} {
		apply("a", content)
	}
	if err := os.Chmod(at, 0o640); err != nil {
		t.Fatal(err)
	}
	const sumThree = "f6936912184481f5edd4c304ce27c5a1a827804fc7f329f43d273b8621870776"
	diff := "diff " + sumTwo + " /etc/a\n--- " + sumTwo + "\n+++ /etc/a\n@@ -1,1 +1,1 @@\n-two\n+three\n"
	restored := "restored /etc/a to the content with the sum " + sumTwo + ", which was replaced at TIME\nto undo this, use fettle bucket restore " + sumThree + "\n"
	for _, step := range []struct {
		args, content string
		want          outcome
	}{
		{"get /etc/a", "three\n", outcome{out: "two\n"}},
		{"diff /etc/a", "three\n", outcome{out: diff}},
		{"restore /etc//a", "two\n", outcome{out: restored}},
		{"restore " + sumTwo, "two\n", outcome{out: "/etc/a already has the content with the sum " + sumTwo + "\n"}},
		{"restore " + sumThree, "three\n", outcome{out: strings.NewReplacer(sumTwo, sumThree, sumThree, sumTwo).Replace(restored)}},
		{"restore /etc/none", "three\n", outcome{err: "fettle: the bucket has no content of /etc/none: see fettle bucket list\n", code: 1}},
	} {
		if diff := cmp.Diff(step.want, bucket(strings.Fields(step.args)...), cmp.AllowUnexported(outcome{})); diff != "" || read(t, at) != step.content {
			t.Errorf("%s: the file has %q: %s", step.args, read(t, at), diff)
		}
	}
	if info, err := os.Stat(at); err != nil || info.Mode() != 0o640 {
		t.Errorf("restored with %v, %v", info, err)
	}

	// Equal content of another path was saved since.
	apply("b", "two")
	apply("b", "four")
	want := outcome{err: "fettle: the bucket does not know which content of /etc/a is the last one: choose a sum from fettle bucket list /etc/a\n", code: 1}
	if got := bucket("restore", "/etc/a"); got != want || read(t, at) != "three\n" {
		t.Errorf("%+v", got)
	}
}

func TestBucketRestoreSaysThatASecretIsLost(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/token"), "public\n")
	for _, in := range []string{file("token", `path: /etc/token, content: "plain\n"`), secretManifest("s3cret", "true") + file("token", tokenFile)} {
		if got := fettle(t, in, "apply", "-f", "-", "--root", root); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	got := fettle(t, "", "bucket", "restore", "/etc/token", "--root", root)
	if want := "\nthe content before is a secret, and so it is not in the bucket\n"; got.code != 0 || !strings.HasSuffix(got.out, want) {
		t.Errorf("%+v", got)
	}
	if now := read(t, filepath.Join(root, "etc/token")); now != "public\n" {
		t.Error(now)
	}
}

func TestBucketUsesStateDirectory(t *testing.T) {
	root, dir := emptyRoot(t), filepath.Join(t.TempDir(), "state")
	at := filepath.Join(root, "etc/a")
	at2 := filepath.Join(root, "etc/b")
	put(t, at, "one\n")
	put(t, at2, "two\n")
	flags := []string{"--root", root, "--state-dir", dir}
	for _, words := range [][]string{
		{"apply", "-f", "-"},
		{"resource", "file", "/etc/b", "content=three"},
	} {
		if got := fettle(t, file("a", `path: /etc/a, content: "new\n"`), append(words, flags...)...); got.code != 0 {
			t.Fatalf("%s: %+v", words, got)
		}
	}
	for sum, want := range map[string]string{sumOne: "one\n", sumTwo: "two\n"} {
		if got := read(t, filepath.Join(dir, "bucket", sum[:2], sum, "contents")); got != want {
			t.Errorf("the bucket has %q", got)
		}
		if got := fettle(t, "", append([]string{"bucket", "get", sum}, flags...)...); got.out != want {
			t.Errorf("get: %+v", got)
		}
	}
	if got := fettle(t, "", append([]string{"bucket", "restore", sumOne}, flags...)...); got.code != 0 || read(t, at) != "one\n" {
		t.Errorf("restore: %+v", got)
	}
	if got := fettle(t, "", append([]string{"bucket", "list"}, flags...)...); strings.Count(got.out, "\n") != 3 {
		t.Errorf("list: %+v", got)
	}
	if _, err := os.Lstat(filepath.Join(root, "var/lib/fettle")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the default directory: %v", err)
	}
}

func TestBucketSizeIsLimited(t *testing.T) {
	root := emptyRoot(t)
	at := filepath.Join(root, "etc/a")
	put(t, at, "one\n")
	apply := func(content, limit string) outcome {
		return fettle(t, file("a", `path: /etc/a, content: `+content), "apply", "-f", "-", "--root", root, "--bucket-limit", limit)
	}
	for _, content := range []string{"b", "c", "d"} {
		if got := apply(content, "9Ki"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	// With the overhead of each entry, two fit.
	if got := fettle(t, "", "bucket", "list", "--root", root); strings.Count(got.out, "\n") != 2 || strings.Contains(got.out, sumOne) {
		t.Errorf("list: %+v", got)
	}
	if got := apply("e", "1Ki"); got.code != 1 || !strings.Contains(got.err, "in the bucket, but its limit is 1024: raise the limit, or set backup: None") || read(t, at) != "d" {
		t.Errorf("a file that is too large: %+v", got)
	}
	for limit, want := range map[string]string{"lots": `invalid number of bytes "lots": write it as 500Mi`, "-1": `"-1" is negative: use 0 for no limit`} {
		if got := apply("e", limit); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v", limit, got)
		}
	}
}

func TestRestoreRejectsDamagedCopy(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/a"), "now\n")
	kept := filepath.Join(root, "var/lib/fettle/bucket/2c", sumOne)
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(kept, "contents"), "torn")
	put(t, filepath.Join(kept, "paths"), "\"/etc/a\"\n")
	for _, command := range []string{"get", "restore"} {
		got := fettle(t, "", "bucket", command, sumOne, "--root", root)
		if got.code != 1 || !strings.Contains(got.err, "the copy of "+sumOne+" in the bucket is damaged") {
			t.Errorf("%s: %+v", command, got)
		}
	}
	if now := read(t, filepath.Join(root, "etc/a")); now != "now\n" {
		t.Errorf("the file contains %q", now)
	}
}

func TestBucketDiffComparesCopiesAndFiles(t *testing.T) {
	root := emptyRoot(t)
	for _, content := range []string{"one\n", "two\n", "three\n"} {
		if got := fettle(t, file("a", "path: /etc/a, content: \""+strings.TrimSpace(content)+"\\n\""), "apply", "-f", "-", "--root", root); got.code != 0 {
			t.Fatalf("apply: %+v", got)
		}
	}
	put(t, filepath.Join(root, "etc/binary"), "\x00")
	put(t, filepath.Join(root, "etc/huge"), "")
	if err := os.Truncate(filepath.Join(root, "etc/huge"), 1<<40); err != nil { // reading it would take minutes
		t.Fatal(err)
	}
	for args, want := range map[string]outcome{
		"2c8b08":             {out: "diff " + sumOne + " /etc/a\n--- " + sumOne + "\n+++ /etc/a\n@@ -1,1 +1,1 @@\n-one\n+three\n"},
		"2c8b08 27dd8e":      {out: "diff " + sumOne + " " + sumTwo + "\n--- " + sumOne + "\n+++ " + sumTwo + "\n@@ -1,1 +1,1 @@\n-one\n+two\n"},
		"2c8b08 2c8b":        {},
		"2c8b08 /etc/binary": {out: sumOne + " and /etc/binary differ, and are not both text\n"},
		"2c8b08 /etc/huge":   {code: 1, err: "fettle: cannot compare /etc/huge: it is larger than 4 MiB: use fettle bucket get and diff\n"},
		"2c8b08 /etc/none":   {code: 1, err: "fettle: cannot read /etc/none: lookup /etc/none: no such file or directory\n"},
	} {
		got := fettle(t, "", append(append([]string{"bucket", "diff"}, strings.Fields(args)...), "--root", root)...)
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", args, got, want)
		}
	}
	list := fettle(t, "", "bucket", "list", "-o", "json", "--root", root)
	if want := `"sum": "` + sumOne + `"`; !strings.Contains(list.out, want) || !strings.Contains(list.out, `"paths": [`) {
		t.Errorf("%+v", list)
	}
}

func TestBucketDiffHidesSecrets(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/token"), "public\n")
	if got := fettle(t, file("token", `path: /etc/token, content: "plain\n"`), "apply", "-f", "-", "--root", root); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := fettle(t, secretManifest("s3cret", "true")+file("token", tokenFile), "apply", "-f", "-", "--root", root); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	listed := fettle(t, "", "bucket", "list", "--root", root)
	for _, line := range lines(listed.out) {
		sum, _, _ := strings.Cut(line, " ")
		got := fettle(t, "", "bucket", "diff", sum, "/etc/token", "--root", root)
		if got.code != 1 || strings.Contains(got.out+got.err, "s3cret") {
			t.Errorf("%+v", got)
		}
	}
	if len(lines(listed.out)) == 0 {
		t.Error("the bucket is empty")
	}
}

func TestBucketShowRejectsDamagedContent(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/a"), "one\n")
	if got := fettle(t, file("a", `path: /etc/a, content: "two\n"`), "apply", "-f", "-", "--root", root); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	put(t, filepath.Join(root, "var/lib/fettle/bucket/2c", sumOne, "contents"), "torn")
	want := outcome{code: 1, err: "fettle: cannot read from the bucket: the copy of " + sumOne + " in the bucket is damaged\n"}
	if got := fettle(t, "", "bucket", "get", "2c8b", "--root", root); got != want {
		t.Errorf("%+v", got)
	}
}
