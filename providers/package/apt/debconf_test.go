package apt_test

import (
	"regexp"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/package/apt"
)

// An error quotes only line numbers of what debconf wrote, because the lines may be secret.
func FuzzPreseedError(f *testing.F) {
	f.Add(1, "error: parse error on line 3: 'mysql-server mysql-server/root_password s3cret'\n")
	f.Add(0, "warning: Unknown type s3cret, skipping line 12\nwarning: Unknown type x, skipping line 13")
	f.Add(1, "debconf: DbDriver \"config\": /var/cache/debconf/config.dat is locked by another process: s3cret")
	f.Add(9, "")
	allowed := regexp.MustCompile(`^(debconf-set-selections rejects [a-z0-9, ()]+: write owner, question, type and value` +
		`|another process holds the lock of debconf's database|debconf-set-selections exited with -?[0-9]+)$`)
	f.Fuzz(func(t *testing.T, exit int, stderr string) {
		err := apt.PreseedError(host.Result{ExitCode: exit, Stderr: []byte(stderr)})
		if exit != 0 && err == nil || err != nil && !allowed.MatchString(err.Error()) {
			t.Errorf("exit code %d and %q give: %v", exit, stderr, err)
		}
	})
}
