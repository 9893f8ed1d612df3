package state_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/state"
)

func TestHistoryHasTheLatestReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if all, err := state.Reports(dir); len(all) != 0 || err != nil {
		t.Errorf("an empty history: %v, %v", all, err)
	}
	var want []state.StoredReport
	for n := range state.MaxReports + 3 {
		text := fmt.Appendf(nil, `{"report":%d}`, n+1)
		if err := state.AddReport(dir, text); err != nil {
			t.Fatal(err)
		}
		want = append(want, state.StoredReport{Number: int64(n + 1), Report: text})
	}
	for _, other := range []string{"x.json", "007.json", "-1.json", "3", ".new-1"} { // not by AddReport
		if err := os.WriteFile(filepath.Join(dir, "reports", other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := state.Reports(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[3:], got); diff != "" {
		t.Error(diff)
	}
}

// After a power loss, a file may lack its text.
func TestReportThatIsTooLargeOrDamagedIsNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, text := range []string{`"` + strings.Repeat("x", state.MaxReportBytes) + `"`, "", "\x00\x00", `{"half":`, "{}"} {
		if err := state.AddReport(dir, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for name, other := range map[string]func(string) error{
		"6.json": func(name string) error { return os.Mkdir(name, 0o700) },
		"7.json": func(name string) error { return os.Symlink("5.json", name) },
		"8.json": func(name string) error { return syscall.Mkfifo(name, 0o600) },
	} {
		if err := other(filepath.Join(dir, "reports", name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := state.Reports(dir)
	if diff := cmp.Diff([]state.StoredReport{{Number: 5, Report: []byte("{}")}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
