package cli_test

import (
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

func TestWhatARunReplacedComesBackFromTheBucket(t *testing.T) {
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
		t.Errorf("an empty bucket lists with %+v", got)
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

	if got := bucket("restore", sumOne); got.out != "/etc/a is again as it was with the sum "+sumOne+"\n" {
		t.Errorf("restore: %+v", got)
	}
	if info, err := os.Stat(at); read(t, at) != "one\n" || err != nil || info.Mode() != 0o640 {
		t.Errorf("restored as %q, %v, %v", read(t, at), info, err)
	}
	to := filepath.Join(root, "etc/b")
	if got := bucket("restore", sumTwo, "--to", "/etc/b"); got.code != 0 { // what restore replaced is kept too
		t.Errorf("restore: %+v", got)
	}
	if info, err := os.Stat(to); read(t, to) != "two\n" || err != nil || info.Mode() != 0o600 {
		t.Errorf("restored as %q, %v, %v", read(t, to), info, err)
	}
}

func TestADamagedCopyRestoresNothing(t *testing.T) {
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
		t.Errorf("the file holds %q", now)
	}
}
