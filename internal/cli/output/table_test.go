package output_test

import (
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/cli/output"
)

func TestSpreadsheetsEvaluateNoCell(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	p := &output.Printer{Out: &out}
	if err := p.CSV([][]string{
		{"File/motd", "=HYPERLINK(\"http://evil.example\")", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)"},
		{"", " =1+1", "\t=1+1", "-3", "+4.5e1"},
		{"a=b", "a-b", "'=1", "\x1b=1", "-"},
	}); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{
		{"File/motd", "'=HYPERLINK(\"http://evil.example\")", "'+1+cmd|' /C calc'!A0", "'-2+3", "'@SUM(1)"},
		{"", "' =1+1", "'\\t=1+1", "-3", "+4.5e1"},
		{"a=b", "a-b", "'=1", "\\x1b=1", "'-"},
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
