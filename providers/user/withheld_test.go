package user_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestAPurgeOfKeysWaitsOnlyForKeysOfTheSameFiles(t *testing.T) {
	const other = "/srv/keys/ann"
	purged := []string{"SSHAuthorizedKey/stray: removed"}
	waits := []string{"User/ann: no key is purged: SSHAuthorizedKey/w is withheld (InvalidWhen: x) and may be a key of ann"}
	for name, test := range map[string]struct {
		location, files string
		want            []string
	}{
		"unknown":                             {"", "", waits},
		"of the user":                         {"~ann", "", waits},
		"in the user's file":                  {keys, "", waits},
		"of another user":                     {"~bob", "", purged},
		"of a user who does not exist":        {"~eve", "", purged},
		"in another file":                     {other, "", purged},
		"of the user, whose file is not":      {"~ann", `, sshKeyFiles: ["/srv/keys/ann"]`, nil},
		"in a file of the list":               {other, `, sshKeyFiles: ["%h/.ssh/authorized_keys", "/srv/keys/ann"]`, waits},
		"of another user, whose file is read": {"~bob", `, sshKeyFiles: ["~/.ssh/authorized_keys", "/home/bob/.ssh/authorized_keys"]`, waits},
	} {
		t.Run(name, func(t *testing.T) {
			m, _, root := rootWithKeys(t, map[string]string{keys: two + " stray\n"})
			debian.Chroot(t, root, "useradd", "--create-home", "bob")
			m.Withheld = []resource.Withheld{{Ref: resource.Ref{Kind: "User", Name: "bob"}}, {Ref: resource.Ref{Kind: "SSHAuthorizedKey", Name: "w"}, Location: test.location, Why: "InvalidWhen: x"}}
			if diff := cmp.Diff(test.want, m.Apply(t, `User/ann {purgeSSHKeys: true`+test.files+`}`)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
