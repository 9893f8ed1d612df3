package state

import (
	"os"
	"path/filepath"
)

// reportName is the file in a state directory that has the report of the last run.
const reportName = "last_run_report.json"

// reportMode lets a group that root gives the file to read it.
const reportMode = 0o640

// Report is the report that was put last, fs.ErrNotExist before any was.
func Report(dir string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, reportName)) }

// PutReport replaces the report of the last run in a state directory, which is there.
// Readers always find a complete report. It does not wait for the disk: a report that the
// power takes along with the run is no loss.
func PutReport(dir string, text []byte) error {
	return swapFile(filepath.Join(dir, reportName), text, func(temp *os.File) error { return temp.Chmod(reportMode) })
}
