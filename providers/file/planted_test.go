package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A user can link any file into a directory of their own where the kernel does not protect hard links. No run makes a copy that another
// one gives to the user, and no diff has its content.
func TestContentOfHardLinksIsNeitherCopiedNorShown(t *testing.T) {
	for sentence, specs := range map[string][2]string{
		"replaced, and a copy is given away":                {`{path: /home/zed/f, content: "new\n", backup: .bak}`, `{path: /home/zed/g, owner: zed}`},
		"removed, and a copy is given away by a recursion":  {`{path: /home/zed/f, ensure: absent, backup: .bak}`, `{path: /home/zed, owner: zed, recurse: true}`},
		"replaced by a link, and a copy is given away":      {`{path: /home/zed/f, target: g, backup: .bak}`, `{path: /home/zed/g, owner: zed}`},
		"replaced, and a copy of the same name is replaced": {`{path: /home/zed/f, content: "new\n", backup: .bak}`, `{path: /home/zed/f, content: "newer\n", owner: zed}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := homeOfZed(t)
			plantFile(t, dir+"/etc/shadow", "root's alone\n", 0, 0o600)
			must(t, os.Link(filepath.Join(dir, "etc/shadow"), filepath.Join(dir, "home/zed/f")))
			result := runForest(t, h, forest{files: []string{specs[0]}})
			for _, res := range result.Resources {
				for _, e := range res.Events {
					if strings.Contains(e.Diff, "alone") || e.Status != "success" {
						t.Errorf("got %+v", e)
					}
				}
			}
			_ = os.Rename(filepath.Join(dir, "home/zed/f.bak"), filepath.Join(dir, "home/zed/g")) // as the user
			_ = runForest(t, h, forest{files: []string{specs[1]}})
			for _, name := range []string{"f", "f.bak", "g"} {
				var st unix.Stat_t
				text, _ := os.ReadFile(filepath.Join(dir, "home/zed", name))
				if err := unix.Lstat(filepath.Join(dir, "home/zed", name), &st); err == nil && st.Uid == zed && strings.Contains(string(text), "alone") {
					t.Errorf("zed got %s: %q", name, text)
				}
			}
		})
	}
}
