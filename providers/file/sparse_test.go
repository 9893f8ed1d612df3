package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A user can create a file of terabytes instantly. Reading it would take longer than the limit of this test.
func TestHugeFilesAreNotReadIfTheSizeDiffers(t *testing.T) {
	t.Parallel()

	const (
		huge     = 1 << 42
		tooLarge = "cannot back up /x; will not replace it: /x needs 4398046515200 bytes in the bucket, but its limit is 1073741824: raise the limit, or set backup: None"
	)
	for spec, c := range map[string]struct{ err, after string }{
		`{path: /x, content: "two\n", backup: None}`: {after: "two\n"},
		`{path: /x, source: /one, backup: None}`:     {after: "one\n"},
		`{path: /x, content: "two\n"}`:               {err: tooLarge},
		`{path: /x, source: /one}`:                   {err: tooLarge},
		`{path: /x, content: "two\n", backup: .bak}`: {err: tooLarge},
		`{path: /x, ensure: absent}`:                 {err: tooLarge},
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			x := filepath.Join(dir, "x")
			must(t, os.WriteFile(filepath.Join(dir, "one"), []byte("one\n"), 0o600))
			must(t, os.WriteFile(x, nil, 0o600))
			must(t, os.Truncate(x, huge))
			h, err := linux.Open(linux.Options{Root: dir})
			must(t, err)
			t.Cleanup(func() { must(t, h.Close()) })
			ctx, cancel := context.WithTimeout(t.Context(), patient.Limit)
			defer cancel()

			r, err := bind(t, spec)
			must(t, errors.Join(err, r.Choose(nil, h, ""), r.Read(ctx, resourcetest.Reader(h))))
			changes := r.Compare().Changes
			if is := changes[0].Is; !strings.Contains(spec, "absent") && is != "{size}4398046511104" {
				t.Errorf("the content is shown as %q", is)
			}
			err = r.Write(ctx, resourcetest.Writer(h), changes)
			if c.err == "" {
				must(t, err)
				if got, err := os.ReadFile(x); err != nil || string(got) != c.after {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v", err)
			}
			if info, err := os.Stat(x); err != nil || info.Size() != huge {
				t.Errorf("it changed: %v, %v", info, err)
			}
		})
	}
}
