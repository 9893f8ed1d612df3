package cli_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/debian"
)

// What is not there is a state that can be applied again.
func TestResourceShowsWhatIsNotThere(t *testing.T) {
	root := debian.Root(t)
	debian.Repository(t, root, debian.Deb{Name: "greeter", Version: "1.0", Files: map[string]string{"/etc/greeter": "hello\n"}, Conffiles: []string{"/etc/greeter"}})
	debian.UpdateIndex(t, root)
	debian.Chroot(t, root, "apt-get", "install", "-y", "greeter")
	debian.Chroot(t, root, "apt-get", "remove", "-y", "greeter")
	for words, want := range map[string]string{
		"package nosuch":  "ensure: purged",
		"package greeter": "ensure: absent",
		"user nosuch":     "ensure: absent",
		"group nosuch":    "ensure: absent",
		"file /etc/none":  "ensure: absent",
	} {
		got := fettle(t, "", append([]string{"resource", "--root", root}, strings.Fields(words)...)...)
		if got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%s: exit %d\n%s%s", words, got.code, got.out, got.err)
		}
		again := fettle(t, got.out, "apply", "-f", "-", "--root", root, "--detailed-exitcodes")
		if again.code != 0 || again.err != "" {
			t.Errorf("%s: applied again: exit %d\n%s%s", words, again.code, again.out, again.err)
		}
	}
}

func TestResourceThatCannotBeSetFails(t *testing.T) {
	root := emptyRoot(t)
	got := fettle(t, "", "resource", "file", "/no/where", "content=x", "--root", root)
	want := outcome{code: 1, err: "File/no-where: change of ensure from absent to file failed: cannot create /no/where: its parent directory /no does not exist: make it first, with a File that has ensure: directory\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
}

func TestPlanSaysThatAFileIsBinary(t *testing.T) {
	root := emptyRoot(t)
	put(t, root+"/etc/a", "\x00\x01\x02")
	got := fettle(t, file("a", `path: /etc/a, content: "hello\n"`), "plan", "-f", "-", "--root", root)
	if !strings.Contains(got.out, "inary") {
		t.Error(got.out, got.err)
	}
}

// What is printed is kept in files and logs.
func TestResourceShowsNoSecret(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "usermod", "--password", "$6$saltsalt$s3cr3t", "games")
	for _, words := range []string{"users", "user games", "user games comment=changed"} {
		got := fettle(t, "", append([]string{"resource", "--root", root}, strings.Fields(words)...)...)
		if !strings.Contains(got.out, "name: games\n") || strings.Contains(got.out+got.err, "s3cr3t") {
			t.Errorf("%s: exit %d\n%s%s", words, got.code, got.out, got.err)
		}
	}
}
