package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestProseFailsWithTheLineOfEachHabit(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	program := filepath.Join(dir, "prose")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range map[string]string{
		"a.md": "# A\n\nThis is fine.\nAll of it, be\nit good or bad.\n", "b.md": "This is fine, too.\n", "c.txt": "be it\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(files ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, files...)
		cmd.Dir = dir
		out, err := cmd.Output()
		return string(out), err
	}
	got, err := check()
	if want := "a.md:4: \"be it\": write \"whether it is ... or ...\"\n"; got != want || err == nil {
		t.Errorf("got error %v and %q, want %q", err, got, want)
	}
	if got, err := check("b.md"); got != "" || err != nil {
		t.Errorf("got error %v and %q of a file without such habits", err, got)
	}
}
