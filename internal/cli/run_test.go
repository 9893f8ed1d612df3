package cli_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/providers"
)

// An outcome is the visible result of one call.
type outcome struct {
	out, err string
	code     int
}

// fettle runs the command in process, on real hosts.
func fettle(t testing.TB, stdin string, args ...string) outcome {
	t.Helper()
	return invoke(t, cli.Options{Streams: program.Streams{In: strings.NewReader(stdin)}}, args)
}

// roots opens real hosts.
func roots() place.Hosts {
	return place.Hosts{Root: func(root string) (place.Host, error) { return linux.Open(linux.Options{Root: root}) }}
}

func invoke(t testing.TB, options cli.Options, args []string) outcome {
	t.Helper()
	var out, stderr bytes.Buffer
	options.Kinds = providers.Kinds()
	options.Hosts = roots()
	options.Out, options.Err = &out, &stderr
	err := cli.Run(t.Context(), options, args)
	o := outcome{out: out.String(), err: stderr.String()}
	var exit output.Exit
	switch {
	case errors.As(err, &exit):
		o.code = int(exit)
	case err != nil:
		o.code, o.err = 1, o.err+"fettle: "+program.Message(err)+"\n"
	}
	return o
}

var took = regexp.MustCompile(`[0-9]+\.[0-9]{3}s`)

// lines splits a text into lines and replaces durations by N.
func lines(s string) []string {
	s = took.ReplaceAllString(strings.TrimRight(s, "\n"), "N")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// emptyRoot returns a root with only the accounts that every host has.
func emptyRoot(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	put(t, filepath.Join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/bash\n")
	put(t, filepath.Join(root, "etc/group"), "root:x:0:\n")
	return root
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func chmodAll(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := os.Chmod(filepath.Join(root, n), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// file returns the manifest of a File.
func file(name, spec string) string {
	return "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: " + name + ", labels: {tier: " + name + "}}\nspec: {nodeSelector: {}, " + spec + "}\n---\n"
}

// key returns the manifest of an absent SSHAuthorizedKey, which needs no key material.
func key(name, spec string) string {
	return "apiVersion: fettle.dev/v1alpha1\nkind: SSHAuthorizedKey\nmetadata: {name: " + name + "}\nspec: {nodeSelector: {}, ensure: absent, " + spec + "}\n---\n"
}
