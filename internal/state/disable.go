package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// disabledName is the file that says that runs are disabled.
const disabledName = "disabled.json"

// A DisabledError says that someone wants no runs on the host for now.
type DisabledError struct {
	Message string    `json:"message"` // why, in the words of who disabled them; may be empty
	Since   time.Time `json:"since"`
}

// Error says why and the fix.
func (e *DisabledError) Error() string {
	why := e.Message
	if why == "" {
		why = "no reason was given"
	}
	return fmt.Sprintf("runs are disabled on this host (%s): enable them with fettle enable", why)
}

// Disable says in a state directory that no runs are wanted, and why. It makes the
// directory if it is missing; a reason that is there already is replaced.
func Disable(dir, message string, now time.Time) error {
	text, err := json.Marshal(DisabledError{Message: message, Since: now.UTC().Truncate(time.Second)})
	if err == nil {
		err = makeDir(dir)
	}
	if err == nil {
		err = replaceFile(filepath.Join(dir, disabledName), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cannot disable runs: %w", err)
	}
	return nil
}

// Enable takes that back. What was never said is taken back, too.
func Enable(dir string) error {
	if err := os.Remove(filepath.Join(dir, disabledName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot enable runs: %w", err)
	}
	return nil
}

// Disabled is a *DisabledError if runs are disabled, nil if they are not. What can't be
// read disables them all the same: someone meant to.
func Disabled(dir string) error {
	file := filepath.Join(dir, disabledName)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	said := &DisabledError{}
	if err == nil {
		err = json.Unmarshal(text, said)
	}
	if err != nil {
		said.Message = fmt.Sprintf("the reason in %s can't be read", file)
	}
	return said
}
