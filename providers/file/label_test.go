package file_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/file"
)

func enforcing() resource.Facts {
	return resource.Facts{"os": map[string]any{"selinux": map[string]any{"enabled": true}}}
}

// labelled is a host that stores labels as the kernel does, by the path of a file: where a
// test runs, SELinux may restrict the real ones.
type labelled struct {
	host.Host
	labels map[string]string
}

func (l labelled) Lookup(path string, links host.Links) (host.Handle, error) {
	n, err := l.Host.Lookup(path, links)
	if err != nil {
		return nil, err
	}
	return seen{n, l}, nil
}

func (l labelled) EditParent(path string, links host.Links) (host.WritableHandle, string, error) {
	n, name, err := l.Host.EditParent(path, links)
	return labelledDir{n, l}, name, err
}

type labelledDir struct {
	host.WritableHandle
	l labelled
}

func (d labelledDir) Edit(name string) (host.WritableHandle, error) {
	n, err := d.WritableHandle.Edit(name)
	if err != nil {
		return nil, err
	}
	return labelledFile{n, d.l}, nil
}

type labelledFile struct {
	host.WritableHandle
	l labelled
}

func (f labelledFile) Xattr(name string) ([]byte, error) { return f.l.xattr(f, name) }

type seen struct {
	host.Handle
	l labelled
}

func (s seen) Xattr(name string) ([]byte, error) { return s.l.xattr(s, name) }

func (l labelled) xattr(n host.Handle, name string) ([]byte, error) {
	if name != "security.selinux" || l.labels[n.Path()] == "" {
		return nil, nil
	}
	return []byte(l.labels[n.Path()] + "\x00"), nil
}

func (f labelledFile) SetXattr(name string, value []byte) error {
	f.l.labels[f.Path()] = strings.TrimSuffix(string(value), "\x00")
	return f.WritableHandle.SetXattr(name, value)
}

func bindTo(t *testing.T, h host.Reader, facts resource.Facts, spec string) resource.Resource {
	t.Helper()
	r, err := bind(t, spec)
	must(t, err)
	must(t, r.Choose(facts, h, ""))
	return r
}

func TestLabelsRequireSELinux(t *testing.T) {
	t.Parallel()

	h := newHost(t, nil)
	const want = "provider posix lacks the feature manages_selinux, which seltype needs on this host (it has it only if os.selinux.enabled is true); " +
		"leave the attribute out or choose another provider"
	if err := bindTo(t, h, nil, `{path: /x, seltype: etc_t}`).Unsupported(); err == nil || err.Error() != want {
		t.Errorf("without SELinux: %v", err)
	}
	if err := bindTo(t, h, enforcing(), `{path: /x, seltype: etc_t}`).Unsupported(); err != nil {
		t.Errorf("with SELinux: %v", err)
	}
	for facts, features := range map[string][]resource.Feature{"off": nil, "on": {"manages_selinux"}} {
		given := map[string]resource.Facts{"on": enforcing()}[facts]
		if diff := cmp.Diff(features, bound.Kind(file.Type(nowhere)).Suitability(given, h)[0].Features); diff != "" {
			t.Errorf("SELinux %s: %s", facts, diff)
		}
	}
}

func TestLabelsWithASharedProvider(t *testing.T) {
	t.Parallel()

	h := newHost(t, nil)
	one := bindTo(t, h, enforcing(), `{path: /x, seltype: etc_t}`)
	other, err := bind(t, `{path: /y, seltype: etc_t}`)
	must(t, err)
	if !other.Use(one.Provider()) || other.Unsupported() != nil {
		t.Errorf("the provider of another file: %v", other.Unsupported())
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()

	for sentence, c := range map[string]struct {
		label, spec  string
		changes      []string
		after, fault string
	}{
		"a part changes and the others are preserved": {
			label: "system_u:object_r:usr_t:s0:c1,c2", spec: `{path: /x, seltype: etc_t}`,
			changes: []string{"seltype changed usr_t to etc_t"}, after: "system_u:object_r:etc_t:s0:c1,c2",
		},
		"all parts change": {
			label: "system_u:object_r:usr_t:s0", spec: `{path: /x, seluser: staff_u, selrole: staff_r, seltype: etc_t, selrange: "s0-s1:c0.c1023"}`,
			changes: []string{
				"seluser changed system_u to staff_u", "selrole changed object_r to staff_r", "seltype changed usr_t to etc_t",
				"selrange changed s0 to s0-s1:c0.c1023",
			},
			after: "staff_u:staff_r:etc_t:s0-s1:c0.c1023",
		},
		"a policy without levels": {
			label: "system_u:object_r:usr_t", spec: `{path: /x, seltype: etc_t}`,
			changes: []string{"seltype changed usr_t to etc_t"}, after: "system_u:object_r:etc_t",
		},
		"a correct label is in sync": {
			label: "system_u:object_r:etc_t:s0", spec: `{path: /x, seltype: etc_t, selrange: s0}`, after: "system_u:object_r:etc_t:s0",
		},
		"a file without a label gets a whole one": {
			spec:    `{path: /x, seluser: system_u, selrole: object_r, seltype: etc_t}`,
			changes: []string{"seluser defined as system_u", "selrole defined as object_r", "seltype defined as etc_t"}, after: "system_u:object_r:etc_t",
		},
		"a file without a label requires a whole one": {
			spec: `{path: /x, seltype: etc_t}`, changes: []string{"seltype defined as etc_t"},
			fault: "cannot set seltype: the file has no label whose seluser could stay: set seluser, selrole and seltype",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := labelled{newHost(t, text("one\n", 0o644, 0, 0)), map[string]string{"/x": c.label}}
			r := bindTo(t, h, enforcing(), c.spec)
			must(t, r.Read(t.Context(), resourcetest.Reader(h)))
			changes := r.Compare().Changes
			if diff := cmp.Diff(c.changes, messages(changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			fault := ""
			if len(changes) > 0 {
				if err := r.Write(t.Context(), resourcetest.Writer(h), changes); err != nil {
					fault = err.Error()
				}
			}
			if fault != c.fault || h.labels["/x"] != c.after {
				t.Errorf("error %s, label %s", fault, h.labels["/x"])
			}
			must(t, r.Read(t.Context(), resourcetest.Reader(h)))
			if left := r.Compare().Changes; fault == "" && len(left) > 0 {
				t.Errorf("left: %v", messages(left))
			}
		})
	}
}

// The label is an extended attribute, whether or not the kernel enforces it.
func TestLabelsOfRealFiles(t *testing.T) {
	t.Parallel()

	whole := ", seluser: system_u, selrole: object_r, seltype: etc_t, selrange: s0}"
	try := func(given func(*testing.T, *hosttest.Host), spec string) {
		t.Helper()
		h := newHost(t, given)
		r := bindTo(t, h, enforcing(), "{path: /x"+spec+whole)
		must(t, r.Read(t.Context(), resourcetest.Reader(h)))
		must(t, r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes))
		must(t, r.Read(t.Context(), resourcetest.Reader(h)))
		if left := r.Compare().Changes; len(left) > 0 {
			t.Errorf("%s: left %v", spec, messages(left))
		}
		n, err := h.Lookup("/x", host.Links{})
		must(t, err)
		defer n.Close()
		if label, err := n.Xattr("security.selinux"); err != nil || string(label) != "system_u:object_r:etc_t:s0\x00" {
			t.Errorf("%s: %q, %v", spec, label, err)
		}
	}
	try(nil, `, content: a`)
	try(nil, `, ensure: directory`)
	try(nil, `, target: /etc`)
	try(text("one\n", 0o644, 0, 0), ``)
	try(text("one\n", 0o644, 0, 0), `, content: a`)
}
