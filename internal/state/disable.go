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

// DisabledName is the name of the file in a state directory that disables runs.
const DisabledName = "disabled.json"

// A DisabledError reports that an administrator has disabled runs on the host.
type DisabledError struct {
	Message string    `json:"message"` // the administrator's reason; may be empty
	Since   time.Time `json:"since"`
}

// DisabledOnHost begins the message of a DisabledError, by which others tell it from runs that the cluster disabled.
const DisabledOnHost = "runs are disabled on this host"

// Error names the reason and the fix.
func (e *DisabledError) Error() string {
	why := e.Message
	if why == "" {
		why = "no reason was given"
	}
	return fmt.Sprintf("%s (%s): enable them with fettle enable", DisabledOnHost, why)
}

// Disable disables runs on the host with this state directory, for the reason in message. It
// creates the directory if it is missing, and replaces an earlier reason.
func Disable(dir, message string, now time.Time) error {
	text, err := json.Marshal(DisabledError{Message: message, Since: now.UTC().Truncate(time.Second)})
	if err == nil {
		err = makeDir(dir)
	}
	if err == nil {
		err = ReplaceFile(filepath.Join(dir, DisabledName), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cannot disable runs: %w", err)
	}
	return nil
}

// Enable enables runs. It does nothing if they are not disabled.
func Enable(dir string) error {
	if err := os.Remove(filepath.Join(dir, DisabledName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot enable runs: %w", err)
	}
	return nil
}

// Disabled returns a *DisabledError if runs are disabled, else nil. A damaged file disables them too. Any other error means that
// this user cannot tell.
func Disabled(dir string) error {
	file := filepath.Join(dir, DisabledName)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("cannot tell whether runs are disabled on this host: %w", err)
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
