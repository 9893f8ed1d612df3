package file_test

import (
	"strings"
	"testing"
)

func TestRemovingASystemDirectoryRequiresConfirm(t *testing.T) {
	t.Parallel()

	for spec, refused := range map[string]bool{
		`{path: /etc, ensure: absent}`:                                       true,
		`{path: /etc, ensure: absent, force: true, confirm: /usr}`:           true,
		`{path: /etc, ensure: absent, force: true, confirm: /etc}`:           false,
		`{path: /etc/, ensure: absent, force: true, confirm: /etc/}`:         false,
		`{path: //usr//lib/, ensure: absent}`:                                true,
		`{path: /var/lib, recurse: true, purge: true}`:                       true,
		`{path: /, recurse: true, purge: true}`:                              true,
		`{path: /, recurse: true, purge: true, confirm: /}`:                  false,
		`{path: /home, target: /srv/home, force: true}`:                      true,
		`{path: /etc, ensure: directory, mode: "0755"}`:                      false,
		`{path: /etc, recurse: true, owner: root}`:                           false,
		`{path: /etc/nginx, ensure: absent, force: true}`:                    false,
		`{path: /tmp, recurse: true, purge: true}`:                           false,
		`{path: /srv/etc, recurse: true, source: /usr/share/x, purge: true}`: false,
	} {
		_, err := bind(t, spec)
		if refused != (err != nil && strings.Contains(err.Error(), "which the host needs: if that is intended, set confirm: /")) || !refused && err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
