package group_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/group"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestErrorsNameTheRemedy(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "--uid", "1500", "ann")
	h := open(t, root)

	tests := map[string]struct{ manifest, err string }{
		"a number that another group has": {
			manifest: `{"gid": 0}`,
			err:      "cannot create group web: gid 0 belongs to group root: use another gid, or set allowDupe: true",
		},
		"a member that does not exist": {
			manifest: `{"name": "staff", "members": ["ann", "eve", "bob"]}`,
			err: "cannot set members: user eve does not exist on the host: declare a User for each name in members, or remove members if the Users name this group in groups\n" +
				"user bob does not exist on the host: declare a User for each name in members, or remove members if the Users name this group in groups",
		},
		"the primary group of a user cannot be removed": {
			manifest: `{"name": "ann", "ensure": "absent"}`,
			err: "cannot remove group ann: it is the primary group of user ann: " +
				"before this Group, make that User absent or give it another gid",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := bind(t, h, test.manifest)
			must(t, r.Read(t.Context(), resourcetest.Reader(h)))
			err := r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
			if err == nil || err.Error() != test.err {
				t.Errorf("got  %v\nwant %s", err, test.err)
			}
		})
	}
}

func TestGroupsAreListed(t *testing.T) {
	h := newFake(t, "web:x:1500:ann,bob")
	got, err := bound.Kind(group.Type()).Instances(t.Context(), nil, resourcetest.Reader(h.ReadOnly()), "")
	must(t, err)
	want := []resource.Instance{
		{Namevar: "root", CanonicalName: "root", Provider: "groupadd", Exists: true, Attributes: json.RawMessage(`{"name":"root","ensure":"present","gid":0}`)},
		{Namevar: "web", CanonicalName: "web", Provider: "groupadd", Exists: true, Attributes: json.RawMessage(`{"name":"web","ensure":"present","gid":1500,"members":["ann","bob"]}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
}

func TestOtherMembersStay(t *testing.T) {
	root := debian.Root(t)
	for _, name := range []string{"ann", "bob", "eve"} {
		debian.Chroot(t, root, "useradd", name)
	}
	debian.Chroot(t, root, "gpasswd", "--members", "ann", "staff")
	h := open(t, root)
	r := bind(t, h, `{"name": "staff", "members": ["bob", "ann"]}`)
	must(t, r.Read(t.Context(), resourcetest.Reader(h)))
	debian.Chroot(t, root, "gpasswd", "--add", "eve", "staff") // between the read and the change
	must(t, r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes))

	if entry := debian.Chroot(t, root, "getent", "group", "staff"); entry != "staff:x:50:ann,eve,bob\n" {
		t.Errorf("the group is %s", entry)
	}
}

func TestMembersThatAreNoLongerUsersAreRemoved(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "sed", "--in-place", "s/^staff:.*/&gone/", "/etc/group", "/etc/gshadow")
	h := open(t, root)
	resourcetest.Change(t, bind(t, h, `{"name": "staff", "members": [], "authMembership": true}`), h)

	if entry := debian.Chroot(t, root, "grep", "--no-filename", "^staff", "/etc/group", "/etc/gshadow"); entry != "staff:x:50:\nstaff:*::\n" {
		t.Errorf("the group is %s", entry)
	}
}

func TestAHostWithoutTheToolsIsUnsuitable(t *testing.T) {
	h := hosttest.New(t)
	r, err := bound.Kind(group.Type()).Bind(resource.Ref{Kind: "Group", Name: "web"}, nil)
	must(t, err)
	err = r.Choose(nil, h.ReadOnly(), "")
	const want = "cannot find a suitable provider for Group: groupadd: the command groupadd is not installed; the command groupmod is not installed; " +
		"the command groupdel is not installed; the command gpasswd is not installed; install the package that contains it (passwd or shadow-utils)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestAGroupIsFoundByNameAndNumber(t *testing.T) {
	r, err := bound.Kind(group.Type()).Bind(resource.Ref{Kind: "Group", Name: "web"}, json.RawMessage(`{"name": "www", "gid": 1500}`))
	must(t, err)
	if diff := cmp.Diff([]string{"www", "1500"}, r.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// newFake returns a host with the group root, the groups in these lines, and tools that
// do nothing.
func newFake(t *testing.T, lines string) *hosttest.Host {
	t.Helper()
	h := hosttest.New(t)
	h.Put("/etc/group", "root:x:0:\n"+lines+"\n")
	h.Put("/etc/passwd", "ann:x:1:0::/:\nbob:x:2:0::/:\neve:x:3:0::/:\n")
	for _, tool := range []string{"groupadd", "groupmod", "groupdel", "gpasswd"} {
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

// bind returns the resource Group/web, with a provider for the host.
func bind(t *testing.T, h host.Reader, manifest string) resource.Resource {
	t.Helper()
	return resourcetest.Bind(t, group.Type(), h, "web", manifest)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
