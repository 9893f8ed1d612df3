package user_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/user"
)

// newFake returns a host with these files, a file of passwords, two shells, and tools that do nothing.
func newFake(t *testing.T, files map[string]string) *hosttest.Host {
	t.Helper()
	h := hosttest.New(t)
	h.Put("/etc/shadow", "")
	for path, content := range files {
		h.Put(path, content)
	}
	for _, shell := range []string{"/bin/sh", "/bin/bash"} {
		h.Put(shell, "")
		must(t, h.Chmod(shell, 0o755))
	}
	h.Reset()
	for _, tool := range []string{"useradd", "usermod", "userdel", "chpasswd", "chage"} {
		h.Handle(tool, func(host.Cmd) host.Result { return host.Result{} })
	}
	return h
}

func open(t *testing.T, root string) *linux.Host {
	t.Helper()
	h, err := linux.Open(linux.Options{Root: root})
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h
}

// bind returns the resource User/ann, with a provider for the host.
func bind(t *testing.T, h host.Reader, manifest string) resource.Resource {
	t.Helper()
	return resourcetest.Bind(t, user.Type(), h, "ann", manifest)
}

func apply(t *testing.T, h host.Host, manifest string) {
	t.Helper()
	resourcetest.Change(t, bind(t, h, manifest), h)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
