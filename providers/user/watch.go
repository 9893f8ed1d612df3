package user

import "github.com/fettle-dev/fettle/internal/accounts"

// Watch implements [resource.Watcher].
func (useradd) Watch(attributes) []string {
	return []string{accounts.PasswdFile, accounts.ShadowFile, accounts.GroupFile, accounts.GroupShadowFile}
}
