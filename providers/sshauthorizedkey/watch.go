package sshauthorizedkey

import (
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
)

// Watch implements [resource.Watcher]: the file of the key, and the accounts.
func (o openssh) Watch(h host.Reader, want attributes) []string {
	paths := []string{accounts.PasswdFile}
	user, target := place(want)
	d, err := o.open(h)
	if err != nil || user == "" && target == "" { // the run reports it
		return paths
	}
	if p, err := d.accounts.Of(user, target); err == nil {
		paths = append(paths, p.Path)
	}
	return paths
}
