package file_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
)

func fifo(t *testing.T, h *hosttest.Host) {
	t.Helper()
	must(t, unix.Mkfifo(filepath.Join(h.Dir(), "x"), 0o600))
}

func socket(t *testing.T, h *hosttest.Host) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(h.Dir(), "x"))
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	must(t, h.Chmod("/x", 0o600))
}

// device is the null device, which only root can make.
func device(t *testing.T, h *hosttest.Host) {
	t.Helper()
	must(t, unix.Mknod(filepath.Join(h.Dir(), "x"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
}

// Opening these never waits for a process at the other end.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()

	try(t, map[string]scenario{
		"a file replaces a fifo": {
			given: fifo,
			spec:  `{path: /x, ensure: file, content: "one\n"}`,
			want: outcome{
				Changes: []string{"ensure changed fifo to file"},
				Done:    []string{"write /x 0644 root root"},
				After:   "/x ---------- 0644 0:0\n  one\n  \n",
			},
		},
		"a file replaces a socket": {
			given: socket,
			spec:  `{path: /x, content: "one\n"}`,
			want: outcome{
				Changes: []string{"ensure changed socket to file"},
				Done:    []string{"write /x 0644 root root"},
				After:   "/x ---------- 0644 0:0\n  one\n  \n",
			},
		},
		"present writes no content into a fifo": {
			given: fifo,
			spec:  `{path: /x, ensure: present, content: "one\n", mode: "0640"}`,
			want: outcome{
				Changes: []string{"content changed fifo to " + sumOne, "mode changed 0600 to 0640"},
				Err:     "cannot set content: /x is a fifo, which has no content: set ensure: file to replace it, or remove content",
				Done:    []string{"chmod /x 0640"},
				After:   "/x p--------- 0640 0:0\n",
				Left:    []string{"content changed fifo to " + sumOne},
			},
		},
		"present accepts a fifo": {
			given: fifo,
			spec:  `{path: /x, ensure: present, owner: ann}`,
			want: outcome{
				Changes: []string{"owner changed root to ann"},
				Done:    []string{"chown /x 1001 -"},
				After:   "/x p--------- 0600 1001:0\n",
			},
		},
		"a fifo is removed": {
			given: fifo,
			spec:  `{path: /x, ensure: absent}`,
			want:  outcome{Changes: []string{"removed"}, Done: []string{"remove /x"}, After: "/x absent\n"},
		},
		"a device is not replaced": {
			given: device, root: true,
			spec: `{path: /x, content: "one\n", force: true}`,
			want: outcome{
				Changes: []string{"ensure changed device to file"},
				Err:     "cannot replace /x: it is a device: remove it by hand, or use another path",
				After:   "/x Dc--------- 0600 0:0\n",
				Left:    []string{"ensure changed device to file"},
			},
		},
		"a device is not removed": {
			given: device, root: true,
			spec: `{path: /x, ensure: absent, force: true}`,
			want: outcome{
				Changes: []string{"removed"},
				Err:     "cannot remove /x: it is a device: remove it by hand, or use another path",
				After:   "/x Dc--------- 0600 0:0\n",
				Left:    []string{"removed"},
			},
		},
		"owner and mode of a device are managed": {
			given: device, root: true,
			spec: `{path: /x, group: web, mode: "0660"}`,
			want: outcome{
				Changes: []string{"group changed root to web", "mode changed 0600 to 0660"},
				Done:    []string{"chown /x - 2001", "chmod /x 0660"},
				After:   "/x Dc--------- 0660 0:2001\n",
			},
		},
	})
}

func TestReadStopsWithItsContext(t *testing.T) {
	t.Parallel()

	h := newHost(t, text("one\n", 0o644, 0, 0))
	r, err := bind(t, `{path: /x, content: "one\n"}`)
	must(t, err)
	must(t, r.Choose(nil, h, ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Read(ctx, resourcetest.Reader(h)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
