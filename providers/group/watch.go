package group

import "github.com/fettle-dev/fettle/internal/accounts"

// Watch implements [resource.Watcher].
func (groupadd) Watch(attributes) []string {
	return []string{accounts.GroupFile, accounts.GroupShadowFile}
}
