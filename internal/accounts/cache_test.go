package accounts_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

// counted is a host that counts how often a file is read.
type counted struct {
	host.Reader
	reads *int
}

func (c counted) ReadFile(path string) ([]byte, error) {
	*c.reads++
	return c.Reader.ReadFile(path)
}

func TestCacheReadsChangedFiles(t *testing.T) {
	const before, after = "adm:x:4:\n", "adm:x:5:\n"
	old := time.Now().Add(-time.Hour)
	tests := map[string]struct {
		first  time.Time // of the file's change before the first call
		change func(h *hosttest.Host, file string) error
		gid    int64 // in the last call
		reads  int   // during three calls, the last one after the change
	}{
		"an unchanged file is read once": {
			old, func(*hosttest.Host, string) error { return nil }, 4, 1,
		},
		"a file written in place is read again": {
			old, func(_ *hosttest.Host, file string) error { return os.WriteFile(file, []byte(after), 0o600) }, 5, 2,
		},
		"a file replaced by another of the same age is read again": {
			old, func(_ *hosttest.Host, file string) error {
				next := file + "+"
				if err := os.WriteFile(next, []byte(after), 0o600); err != nil {
					return err
				}
				if err := os.Chtimes(next, old, old); err != nil {
					return err
				}
				return os.Rename(next, file)
			}, 5, 2,
		},
		"a file changed a second ago, with a time that has small fractions, is read once": {
			time.Now().Add(-time.Second).Truncate(time.Second).Add(1), func(*hosttest.Host, string) error { return nil }, 4, 1,
		},
		"a recently changed file is read each time": {
			time.Now().Add(time.Minute), func(*hosttest.Host, string) error { return nil }, 4, 3,
		},
		"a deleted file has no entries": {
			old, func(_ *hosttest.Host, file string) error { return os.Remove(file) }, 0, 2,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h, cache, reads := hosttest.New(t), new(accounts.Cache), 0
			h.Put(accounts.GroupFile, before)
			file := filepath.Join(h.Dir(), accounts.GroupFile)
			must(t, os.Chtimes(file, test.first, test.first))
			for range 2 {
				if groups, err := cache.Groups(counted{h, &reads}); err != nil || len(groups) != 1 || groups[0].GID != 4 {
					t.Fatalf("groups are %v, %v", groups, err)
				}
			}
			must(t, test.change(h, file))
			groups, err := cache.Groups(counted{h, &reads})
			must(t, err)
			if adm, _ := groups.Named("adm"); adm.GID != test.gid || reads != test.reads {
				t.Errorf("adm is %d after %d reads, want %d after %d", adm.GID, reads, test.gid, test.reads)
			}
		})
	}
}

func TestCacheDistinguishesHosts(t *testing.T) {
	cache := new(accounts.Cache)
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"ann", "bob", "eve"} {
		h := hosttest.New(t)
		h.Put(accounts.PasswdFile, name+":x:1:1:::\n")
		must(t, os.Chtimes(filepath.Join(h.Dir(), accounts.PasswdFile), old, old))
		users, err := cache.Users(h)
		must(t, err)
		if len(users) != 1 || users[0].Name != name {
			t.Errorf("the users of %s's host are %v", name, users)
		}
	}
}
