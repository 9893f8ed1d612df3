package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

// motd is a resource that replaces a file.
const motd = `{apiVersion: fettle.dev/v1alpha1, kind: File, metadata: {name: motd}, spec: {nodeSelector: {}, path: /etc/motd, content: "new\n"}}`

func TestStateSurvivesBackupAndRestoreAsDocumented(t *testing.T) {
	t.Parallel()
	host := debian.Root(t)
	program.Build(t, "fettle", filepath.Join(host, "usr/bin/fettle"))
	for name, text := range map[string]string{"etc/motd": "old\n", "motd.yaml": motd} {
		if err := os.WriteFile(filepath.Join(host, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// run runs commands on the host.
	run := func(commands string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "chroot", host, "/bin/sh", "-euc", commands).CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v\n%s", commands, err, out)
		}
		return string(out)
	}
	backup, restore := documentedCommands(t)
	run("cd /root\nfettle apply -f /motd.yaml\n" + backup)
	if got := run("fettle bucket list"); !strings.Contains(got, "/etc/motd") {
		t.Fatalf("the bucket has %s", got)
	}
	run("rm -r /var/lib/fettle/bucket /var/lib/fettle/state.db")
	run("cd /root\n" + restore)
	if got := run("fettle bucket list"); !strings.Contains(got, "/etc/motd") {
		t.Errorf("after the restoration, the bucket has %s", got)
	}
	if got := run("fettle apply -f /motd.yaml"); !strings.HasPrefix(got, "1 resource: 1 in sync") {
		t.Errorf("after the restoration: %s", got)
	}
}

// documentedCommands returns the commands in docs/installation.md.
func documentedCommands(t *testing.T) (backup, restore string) {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/installation.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Backup and restore\n")
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) < 2 || !strings.Contains(blocks[0], `disable "backup"`) || !strings.Contains(blocks[1], `disable "restore"`) {
		t.Fatalf("the commands are %q", blocks)
	}
	return blocks[0], blocks[1]
}
