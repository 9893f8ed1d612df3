package state

import (
	"os"
	"path/filepath"
)

// reportName is the name of the file with the report of the last run in a state directory.
const reportName = "last_run_report.json"

// reportMode allows reading by a group that root gives the file to.
const reportMode = 0o640

// Report returns the report that was stored last, or fs.ErrNotExist if there is none.
func Report(dir string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, reportName)) }

// OpenReport opens the file of [Report]. The caller closes it.
func OpenReport(dir string) (*os.File, error) { return os.Open(filepath.Join(dir, reportName)) }

// PutReport replaces the report of the last run in an existing state directory. Readers always find
// a complete report. PutReport does not sync the file to disk: losing the report in a power loss is
// acceptable.
func PutReport(dir string, text []byte) error {
	return swapFile(filepath.Join(dir, reportName), text, func(temp *os.File) error { return temp.Chmod(reportMode) })
}
