package accounts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

func TestParsePasswdLikeTheHost(t *testing.T) {
	tests := map[string]struct {
		file string
		want accounts.Users
	}{
		"a missing file has no users": {},
		"users are in the order of the file": {
			file: "root:x:0:0:root:/root:/bin/bash\nann:x:1500:100:Änne,,,:/home/ann:/bin/sh\n",
			want: accounts.Users{
				{Name: "root", Comment: "root", Home: "/root", Shell: "/bin/bash"},
				{Name: "ann", UID: 1500, GID: 100, Comment: "Änne,,,", Home: "/home/ann", Shell: "/bin/sh"},
			},
		},
		"empty fields, the largest number and a missing final newline are accepted": {
			file: "nobody::4294967295:4294967295:::",
			want: accounts.Users{{Name: "nobody", UID: 4294967295, GID: 4294967295}},
		},
		"malformed lines are ignored": {
			file: "# comment:x:1:1:::\n\n+nis:::::::\n+\n-ann:::::::\n+@team::::::\nshort:x:1\nbad:x:one:1:::\nbad:x:1:-1:::\n" +
				"big:x:4294967296:1:::\n:x:1:1:::\nbob:x:7:7::/:/bin/sh\n",
			want: accounts.Users{{Name: "bob", UID: 7, GID: 7, Home: "/", Shell: "/bin/sh"}},
		},
		"a carriage return belongs to the shell": {
			file: "bob:x:7:7::/:/bin/sh\r\n",
			want: accounts.Users{{Name: "bob", UID: 7, GID: 7, Home: "/", Shell: "/bin/sh\r"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, accounts.ParsePasswd([]byte(test.file))); diff != "" {
				t.Errorf("users (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseGroupLikeTheHost(t *testing.T) {
	tests := map[string]struct {
		file string
		want accounts.Groups
	}{
		"a missing file has no groups": {},
		"groups are in the order of the file": {
			file: "adm:x:4:syslog,ann\nann:x:1500:\n",
			want: accounts.Groups{{Name: "adm", GID: 4, Members: []string{"syslog", "ann"}}, {Name: "ann", GID: 1500, Members: []string{}}},
		},
		"superfluous commas add no members": {
			file: "adm:x:4:,ann,,bob,",
			want: accounts.Groups{{Name: "adm", GID: 4, Members: []string{"ann", "bob"}}},
		},
		"malformed lines are ignored": {
			file: "+nis:::\n+\n-adm:::\nshort:x:1\nbad:x:one:\n:x:1:\nweb:x:33:\n",
			want: accounts.Groups{{Name: "web", GID: 33, Members: []string{}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, accounts.ParseGroup([]byte(test.file))); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFirstEntryOfANameOrNumberWins(t *testing.T) {
	users := accounts.Users{{Name: "ann", UID: 1}, {Name: "bob", UID: 1}, {Name: "ann", UID: 2}}
	groups := accounts.Groups{{Name: "web", GID: 1, Members: []string{"ann"}}, {Name: "www", GID: 1}, {Name: "web", GID: 2, Members: []string{"bob"}}}

	type found struct {
		User  accounts.User
		Group accounts.Group
		OK    bool
	}
	user := func(u accounts.User, ok bool) found { return found{User: u, OK: ok} }
	group := func(g accounts.Group, ok bool) found { return found{Group: g, OK: ok} }
	got := []found{
		user(users.Named("ann")), user(users.Numbered(1)), user(users.Named("eve")), user(users.Numbered(3)),
		group(groups.Named("web")), group(groups.Numbered(1)), group(groups.Named("eve")), group(groups.Numbered(3)),
	}
	want := []found{
		{User: users[0], OK: true},
		{User: users[0], OK: true},
		{},
		{},
		{Group: groups[0], OK: true},
		{Group: groups[0], OK: true},
		{},
		{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"web"}, groups.Of("ann")); diff != "" {
		t.Errorf("groups of ann (-want +got):\n%s", diff)
	}
}

func TestHashesAreFoundAndNeverPrinted(t *testing.T) {
	s := accounts.ParseShadow([]byte("root:*:1:0:99999:7:::\nann:$6$s3cret:1:0:99999:7:::\nann:$6$second:::::::\neve::1:0:99999:7:::\n+nis\n"))
	type found struct {
		Hash string
		OK   bool
	}
	got := map[string]found{}
	for _, name := range []string{"root", "ann", "eve", "bob"} {
		hash, ok := s.Hash(name)
		got[name] = found{hash, ok}
	}
	want := map[string]found{"root": {"*", true}, "ann": {"$6$s3cret", true}, "eve": {"", true}, "bob": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hashes (-want +got):\n%s", diff)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if shown := fmt.Sprintf(verb, s); shown != "[redacted]" {
			t.Errorf("%s prints %s", verb, shown)
		}
	}
}

func TestParseAgeingLikeTheHost(t *testing.T) {
	never := accounts.Ageing{MinAge: accounts.Never, MaxAge: accounts.Never, WarnDays: accounts.Never, Expiry: accounts.Never}
	tests := map[string]struct {
		file string
		want accounts.Ageing
	}{
		"a user without a line never expires":          {"bob:*:1:2:3:4:5:6:\n", never},
		"empty fields never expire":                    {"ann:*:1::::::\n", never},
		"all fields are read":                          {"ann:*:1:2:3:4:5:6:7\n", accounts.Ageing{MinAge: 2, MaxAge: 3, WarnDays: 4, Expiry: 6}},
		"day zero is a day":                            {"ann:*:0:0:0:0:0:0:0\n", accounts.Ageing{}},
		"missing trailing fields never expire":         {"ann:*:1:2:3\n", accounts.Ageing{MinAge: 2, MaxAge: 3, WarnDays: accounts.Never, Expiry: accounts.Never}},
		"negative numbers and other text never expire": {"ann:*:1:-2:x:-1::9223372036854775808:\n", never},
		"the first of two lines counts":                {"ann:*:::::::\nann:*:1:2:3:4:5:6:\n", never},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, accounts.ParseShadow([]byte(test.file)).Ageing("ann")); diff != "" {
				t.Errorf("ageing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAHostWithoutFilesHasNoAccounts(t *testing.T) {
	h := hosttest.New(t)
	users, err := accounts.ReadUsers(h)
	must(t, err)
	groups, err := accounts.ReadGroups(h)
	must(t, err)
	_, err = accounts.ReadShadow(h)
	must(t, err)
	if len(users)+len(groups) > 0 {
		t.Errorf("got %v and %v", users, groups)
	}
}

func TestUnreadableFileIsAnError(t *testing.T) {
	h := hosttest.New(t)
	h.PutDir("/etc/passwd")
	if _, err := accounts.ReadUsers(h); err == nil {
		t.Error("a directory was read as a file of users")
	}
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(filepath.Join(h.Dir(), accounts.PasswdFile), old, old))
	cache := new(accounts.Cache)
	for range 2 { // failed reads are not cached
		if users, err := cache.Users(h); err == nil {
			t.Errorf("got %v and no error", users)
		}
	}
}

func TestToolErrors(t *testing.T) {
	tests := map[string]struct {
		result host.Result
		want   error
		text   string
	}{
		"success returns no error": {},
		"the error has the output and the remedy": {
			result: host.Result{ExitCode: 4, Stderr: []byte("useradd: warning\nuseradd: UID 0 is not unique\n\n")},
			want:   &accounts.ToolError{Tool: "useradd", ExitCode: 4, Stderr: "warning; UID 0 is not unique", Remedy: "choose another"},
			text:   "useradd exited with 4: warning; UID 0 is not unique; choose another",
		},
		"the error has only the exit code": {
			result: host.Result{ExitCode: 137},
			want:   &accounts.ToolError{Tool: "useradd", ExitCode: 137},
			text:   "useradd exited with 137",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := hosttest.New(t)
			h.Handle("useradd", func(host.Cmd) host.Result { return test.result })
			err := accounts.Run(t.Context(), h, host.Cmd{Args: []string{"useradd", "ann"}}, accounts.Remedies{4: "choose another"})
			if diff := cmp.Diff(test.want, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if err != nil && err.Error() != test.text {
				t.Errorf("text is %q, want %q", err, test.text)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
