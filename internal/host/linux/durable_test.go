package linux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
)

// Many may write into few directories at once: each of them waits for an fsync of its
// directory, none for ever and none for one that was called off.
func TestManyWriteIntoADirectoryAtOnce(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const writers, each = 16, 20
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			for j := range each {
				path := fmt.Sprintf("/%c/%d-%d", 'a'+i%2, i, j)
				if _, err := h.WriteFile(t.Context(), path, host.NewFile{UID: -1, GID: -1, Content: strings.NewReader(path)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, dir := range []string{"a", "b"} {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil || len(entries) != writers*each/2 {
			t.Errorf("%s has %d files, %v", dir, len(entries), err)
		}
	}
}
