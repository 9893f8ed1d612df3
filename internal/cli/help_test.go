package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/providers"
)

func command(o cli.Options) *cobra.Command {
	o.Kinds = providers.Kinds()
	o.Hosts = roots()
	return cli.Command(o)
}

func TestCompletion(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/group"), "root:x:0:\nweb:x:1500:\n")
	for _, tool := range []string{"groupadd", "groupmod", "groupdel", "gpasswd"} {
		put(t, filepath.Join(root, "usr/sbin", tool), "")
		chmodAll(t, root, filepath.Join("usr/sbin", tool))
	}
	put(t, filepath.Join(root, "etc/os-release"), "ID=debian\nVERSION_ID=\"12\"\n")
	const (
		noFiles = ":4"
		noSpace = ":6" // and does not complete files
		files   = ":0"
	)
	for words, want := range map[string][]string{
		"resource gr":                         {"group", noFiles},
		"resource group --root ROOT ":         {"root", "web", noFiles},
		"resource file --root ROOT /e":        {files},
		"resource group web gid=5 m":          {"members=", noSpace},
		"resource group web ensure=present e": {noSpace},
		"resource group --provider ":          {"groupadd", noFiles},
		"resource nonsense ":                  {noFiles},
		"resource user root -o ":              {"yaml", "json", noFiles},
		"describe pack":                       {"package", noFiles},
		"facts --root ROOT os.r":              {"os.release", noSpace},
		"facts --root ROOT os.release.m":      {"os.release.major", noSpace},
		"apply -f x ":                         {noFiles},
		"apply -f ":                           {"yaml", "yml", "json", ":8"},
		"apply --color ":                      {"auto", "always", "never", noFiles},
		"apply --root ":                       {":16"},
		"disable ":                            {noFiles},
	} {
		t.Run(words, func(t *testing.T) {
			typed := strings.Split(strings.ReplaceAll(words, "ROOT", root), " ")
			got := fettle(t, "", append([]string{cobra.ShellCompRequestCmd}, typed...)...)
			var said []string
			for _, line := range lines(got.out) {
				word, _, _ := strings.Cut(line, "\t")
				if strings.HasPrefix(word, ":") || strings.HasPrefix(word, typed[len(typed)-1]) { // as shells do
					said = append(said, word)
				}
			}
			if diff := cmp.Diff(want, said); diff != "" {
				t.Errorf("%s%s", diff, got.err)
			}
		})
	}
}

func TestColorDefaultsToTerminalsOnly(t *testing.T) {
	const green, plain = "\x1b[32m", "\x1b[0m"
	for name, c := range map[string]struct {
		o      cli.Options
		args   []string
		colors bool
	}{
		"pipes":                     {cli.Options{}, nil, false},
		"a terminal":                {cli.Options{Streams: program.Streams{OutTerminal: true}}, nil, true},
		"a terminal with NO_COLOR":  {cli.Options{Streams: program.Streams{OutTerminal: true, NoColor: true}}, nil, false},
		"only stderr is a terminal": {cli.Options{Streams: program.Streams{ErrTerminal: true}}, nil, false},
		"always":                    {cli.Options{Streams: program.Streams{NoColor: true}}, []string{"--color=always"}, true},
		"never":                     {cli.Options{Streams: program.Streams{OutTerminal: true}}, []string{"--color", "never"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out, stderr strings.Builder
			c.o.In, c.o.Out, c.o.Err = strings.NewReader(file("a", "path: /etc/a, content: x")), &out, &stderr
			cmd := command(c.o)
			cmd.SetArgs(append([]string{"apply", "-f", "-", "--root", emptyRoot(t)}, c.args...))
			if err := cmd.Execute(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(out.String(), green+"File/a: created"+plain); got != c.colors {
				t.Errorf("%q", out.String())
			}
		})
	}
	if got := fettle(t, "", "facts", "--color", "blue"); got.err != "fettle: --color \"blue\" is not one of [auto always never]\n" {
		t.Error(got)
	}
}

func TestProgressLineIsErased(t *testing.T) {
	var out, stderr strings.Builder
	in := file("a", "path: /etc/a, content: x") + file("b", "path: /etc/b, content: x, require: [File/a]") + file("c", "path: /etc/c, content: x, require: [File/b]")
	cmd := command(cli.Options{Streams: program.Streams{ErrTerminal: true, In: strings.NewReader(in), Out: &out, Err: &stderr}})
	cmd.SetArgs([]string{"apply", "-f", "-", "--root", emptyRoot(t)})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if got := fettle(t, in, "apply", "-f", "-", "--root", emptyRoot(t)); got.err != "" {
		t.Errorf("a pipe gets %q", got.err)
	}
	const gone, cut, wrap = "\r\x1b[K", "\x1b[?7l", "\x1b[?7h"
	want := gone + cut + "[..............................] 0 of 3 resources: File/a" + wrap + gone +
		gone + cut + "[##########....................] 1 of 3 resources: File/b" + wrap + gone +
		gone + cut + "[####################..........] 2 of 3 resources: File/c" + wrap + gone
	if stderr.String() != want {
		t.Errorf("got  %q\nwant %q", stderr.String(), want)
	}
}
