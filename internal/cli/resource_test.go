package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// The output for an absent resource can be applied again.
func TestResourceShowsAbsentResource(t *testing.T) {
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

func TestResourceFailsToSetInvalidValue(t *testing.T) {
	root := emptyRoot(t)
	got := fettle(t, "", "resource", "file", "/no/where", "content=x", "--root", root)
	want := outcome{code: 1, err: "File/no-where: change of ensure from absent to file failed: cannot create /no/where: its parent directory /no does not exist: create it first, with a File that has ensure: directory\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
}

func TestPlanReportsBinaryFile(t *testing.T) {
	root := emptyRoot(t)
	put(t, root+"/etc/a", "\x00\x01\x02")
	got := fettle(t, file("a", `path: /etc/a, content: "hello\n"`), "plan", "-f", "-", "--root", root)
	if !strings.Contains(got.out, "inary") {
		t.Error(got.out, got.err)
	}
}

// The output ends up in files and logs.
func TestResourceHidesSecrets(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "usermod", "--password", "$6$saltsalt$s3cr3t", "games")
	for _, words := range []string{"users", "user games", "user games comment=changed"} {
		got := fettle(t, "", append([]string{"resource", "--root", root}, strings.Fields(words)...)...)
		if !strings.Contains(got.out, "name: games\n") || strings.Contains(got.out+got.err, "s3cr3t") {
			t.Errorf("%s: exit %d\n%s%s", words, got.code, got.out, got.err)
		}
	}
}

func TestResourceHidesSecretsOfCommands(t *testing.T) {
	root := debian.Root(t)
	for _, flag := range []string{"--noop", "--debug", "--output=json"} {
		got := fettle(t, "", "resource", "exec", "a", `command=echo "it is $TOKEN"; exit 3`, "shell=true", "environment=TOKEN=s3cr3t", "--root", root, flag)
		if flag != "--noop" && !strings.Contains(got.err, "it is [redacted]") || strings.Contains(got.out+got.err, "s3cr3t") {
			t.Errorf("%s: exit %d\n%s%s", flag, got.code, got.out, got.err)
		}
	}
}

type door struct {
	Name string  `json:"name"`
	Code *string `json:"code,omitempty"`
}

// careless is a provider that returns the code from Read, although it was not requested.
type careless struct{}

func (careless) Name() string                            { return "careless" }
func (careless) Suits(resource.Facts, host.Reader) error { return nil }

func (careless) Read(_ context.Context, _ resource.Reader, want door) (door, error) {
	return door{Name: want.Name, Code: new("s3cr3t")}, nil
}

func (careless) Write(context.Context, resource.Writer, door, door, []resource.Change) error {
	return nil
}

func (careless) List(context.Context, resource.Reader) ([]door, error) {
	return []door{{Name: "a", Code: new("s3cr3t")}}, nil
}

func TestResourceRedactsSecretsFromProviders(t *testing.T) {
	doors := resource.Type[door]{
		Name: "Door", NamevarName: "name", Namevar: func(d *door) *string { return &d.Name },
		Providers: []resource.Provider[door]{careless{}},
		Properties: []resource.Property[door]{{
			Name: "code", Sensitive: func(door) bool { return true }, Managed: func(want door) bool { return want.Code != nil },
			InSync: func(is, want door) bool { return *is.Code == *want.Code }, Show: func(d door) string { return *d.Code },
		}},
	}
	for _, words := range [][]string{{"doors"}, {"door", "a"}, {"door", "a", "code=s3cr3t"}} {
		var out, stderr bytes.Buffer
		cmd := cli.Command(cli.Options{
			Kinds: []resource.Kind{bound.Kind(&doors)}, Hosts: roots(), Streams: program.Streams{Out: &out, Err: &stderr},
		})
		cmd.SetArgs(append([]string{"resource", "--root", emptyRoot(t)}, words...))
		err := cmd.ExecuteContext(t.Context())
		if told := out.String() + stderr.String(); err != nil || !strings.Contains(told, "name: a\n") || strings.Contains(told, "s3cr3t") {
			t.Errorf("%v: %v\n%s", words, err, told)
		}
	}
}
