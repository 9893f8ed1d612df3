package group

import (
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
)

// Watch implements [resource.Watcher].
func (groupadd) Watch(host.Reader, attributes) []string {
	return []string{accounts.GroupFile, accounts.GroupShadowFile}
}
