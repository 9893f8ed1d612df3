package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// A treacherous host replaces a directory by a symlink once its entries were
// examined, as the owner of the directory could.
type treacherous struct {
	host.Host
	turn func()
}

func (h treacherous) Edit(path string, links host.Links) (host.WritableHandle, error) {
	h.turn()
	return h.Host.Edit(path, links)
}

func TestRecursionDoesNotFollowSymlinks(t *testing.T) {
	t.Parallel()
	debian.Require(t)

	for sentence, spec := range map[string]string{
		"changing owners": `{path: /x, recurse: true, owner: ann}`,
		"purging":         `{path: /x, recurse: true, purge: true, force: true}`,
		"copying":         `{path: /x, recurse: true, source: /src}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := plant(t, []string{"/x/d/shadow old", "/etc/shadow secret", "/src/d/shadow new"})
			must(t, os.Chown(filepath.Join(h.Dir(), "x/d"), 1001, 0))
			real, err := linux.Open(linux.Options{Root: h.Dir()})
			must(t, err)
			defer real.Close()
			turned := false
			report := runForest(t, treacherous{real, func() {
				if at := filepath.Join(h.Dir(), "x/d"); !turned && lstat(at) == nil {
					turned = true
					must(t, os.Rename(at, at+"-away"))
					must(t, os.Symlink("/etc", at))
				}
			}}, forest{files: []string{spec}})
			if got := describeOne(t, h, "/etc/shadow"); got != "/etc/shadow 0644 secret" {
				t.Error(got)
			}
			if lines := strings.Join(reportLines(report), "\n"); !turned || !strings.Contains(lines, "contains a symlink") {
				t.Error(lines)
			}
		})
	}
}

func lstat(file string) error {
	_, err := os.Lstat(file)
	return err
}

// A symlink in the directory's own path is followed because root created it.
func TestRecursionFollowsSymlinksAboveItsPath(t *testing.T) {
	t.Parallel()

	f := forest{
		given: []string{"/x/d/f one", "/x/own two", "/way -> x", "/src/d/g three", "/from -> src"},
		files: []string{`{path: /way/d, source: /from/d, recurse: true, purge: true, force: true}`},
	}
	h := plant(t, f.given)
	real, err := linux.Open(linux.Options{Root: h.Dir()})
	must(t, err)
	defer real.Close()
	if diff := cmp.Diff([]string{"File//way/d/f: removed", "File//way/d/g: created"}, reportLines(runForest(t, real, f))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/x/d/ 0755", "/x/d/g 0644 three", "/x/own 0644 two"}, listing(t, h)); diff != "" {
		t.Error(diff)
	}
}
