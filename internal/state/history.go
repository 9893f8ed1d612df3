package state

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// historyName is the folder with the reports of eventful runs in a state directory.
const historyName = "reports"

// Limits of the history.
const (
	MaxReports = 20
	// MaxReportBytes is the size of the largest report in the history.
	MaxReportBytes = 40 << 10
)

// A StoredReport is a report in the history. The first one on a host has the number 1.
type StoredReport struct {
	Number int64
	Report []byte
}

// Reports returns the history of a state directory, the latest report last; none if there is no history. Each is JSON: one that a power
// loss left without its text is omitted.
func Reports(dir string) ([]StoredReport, error) {
	numbers, err := reportNumbers(dir)
	if err != nil {
		return nil, err
	}
	var all []StoredReport
	for _, n := range numbers {
		raw, err := os.ReadFile(reportFile(dir, n))
		if errors.Is(err, fs.ErrNotExist) { // removed since
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(raw) <= MaxReportBytes && json.Valid(raw) {
			all = append(all, StoredReport{Number: n, Report: raw})
		}
	}
	return all, nil
}

// AddReport adds a report to the history of an existing state directory, and removes the oldest ones. As PutReport, it does not
// sync the file.
func AddReport(dir string, text []byte) error {
	if err := makeDir(filepath.Join(dir, historyName)); err != nil {
		return err
	}
	numbers, err := reportNumbers(dir)
	if err != nil {
		return err
	}
	next := int64(1)
	if len(numbers) > 0 {
		next = numbers[len(numbers)-1] + 1
	}
	if err := swapFile(reportFile(dir, next), text, func(temp *os.File) error { return temp.Chmod(reportMode) }); err != nil {
		return err
	}
	var errs []error
	for _, n := range numbers[:max(0, len(numbers)+1-MaxReports)] {
		errs = append(errs, os.Remove(reportFile(dir, n)))
	}
	return errors.Join(errs...)
}

func reportFile(dir string, number int64) string {
	return filepath.Join(dir, historyName, strconv.FormatInt(number, 10)+suffix)
}

// reportNumbers returns the numbers of the reports, in order.
func reportNumbers(dir string) ([]int64, error) {
	files, err := os.ReadDir(filepath.Join(dir, historyName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var numbers []int64
	for _, f := range files {
		name, is := strings.CutSuffix(f.Name(), suffix)
		if n, invalid := strconv.ParseInt(name, 10, 64); is && invalid == nil && f.Type().IsRegular() && n > 0 && strconv.FormatInt(n, 10) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}
