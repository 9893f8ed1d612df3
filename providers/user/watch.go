package user

import (
	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/authorizedkeys"
	"github.com/fettle-dev/fettle/internal/host"
)

// Watch implements [resource.Watcher]: the account files, and the files of keys that are
// purged.
func (useradd) Watch(h host.Reader, want attributes) []string {
	paths := []string{accounts.PasswdFile, accounts.ShadowFile, accounts.GroupFile, accounts.GroupShadowFile}
	if !ptr.Deref(want.PurgeSSHKeys, false) {
		return paths
	}
	users, err := accounts.ReadUsers(h)
	if err != nil { // the run reports it
		return paths
	}
	p := purge{}
	p.user, p.exists = users.Named(want.Name)
	for _, file := range p.files(want) {
		paths = append(paths, authorizedkeys.Expand(file, p.user))
	}
	return paths
}
