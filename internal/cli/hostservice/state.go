package hostservice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/nodetoken"
)

// Uninstall stops the service and removes its files, which it returns. What the agent manages on the host stays.
func (s Service) Uninstall(ctx context.Context) (removed []string, err error) {
	if _, err := s.Host.Lstat(unitFile); err == nil {
		disable := []string{"disable", "--quiet", Name}
		if s.booted() {
			disable = []string{"disable", "--quiet", "--now", Name}
		}
		if err := s.systemctl(ctx, disable...); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{unitFile, binaryFile, configDir} {
		if _, err := s.Host.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := s.Host.RemoveAll(name); err != nil {
			return removed, fmt.Errorf("cannot remove %s: %w", name, err)
		}
		removed = append(removed, name)
	}
	if len(removed) > 0 && s.booted() {
		err = s.systemctl(ctx, "daemon-reload")
	}
	return removed, err
}

// A Status is the state of the service.
type Status struct {
	Installed bool
	Active    string           // of systemd, such as active or failed; "" if systemd does not run the host
	Enabled   string           // of systemd, such as enabled
	Token     nodetoken.Claims // zero if there is none
	TokenErr  error            // why it can't be read
}

// Status returns the state of the service.
func (s Service) Status(ctx context.Context) (Status, error) {
	var is Status
	if _, err := s.Host.Lstat(unitFile); errors.Is(err, fs.ErrNotExist) {
		return is, nil
	} else if err != nil {
		return is, err
	}
	is.Installed = true
	var err error
	if is.Enabled, err = s.ask(ctx, "is-enabled"); err != nil {
		return is, err
	}
	if s.booted() {
		if is.Active, err = s.ask(ctx, "is-active"); err != nil {
			return is, err
		}
	}
	token, err := s.Host.ReadFile(tokenFile)
	if err == nil {
		is.Token, err = nodetoken.Parse(string(token))
	}
	is.TokenErr = err
	return is, nil
}

// ask returns what systemctl prints about the service; its exit code says the same.
func (s Service) ask(ctx context.Context, what string) (string, error) {
	res, err := s.Host.Query(ctx, host.Cmd{Args: []string{"systemctl", what, Name}})
	return strings.TrimSpace(string(res.Stdout)), err
}

// String is the state of the service in a few words.
func (s Status) String() string {
	if !s.Installed {
		return "not installed"
	}
	return strings.Trim(s.Active+", "+s.Enabled, ", ")
}

// Credentials describes the credentials, without any secret.
func (s Status) Credentials(now time.Time) string {
	until := s.Token.Expires.UTC().Format(time.RFC3339)
	switch {
	case s.TokenErr != nil:
		return fmt.Sprintf("unusable: %v", s.TokenErr)
	case !s.Token.Expires.After(now):
		return fmt.Sprintf("expired at %s: create others with fettle agent token --node %s", until, s.Token.Node)
	}
	return fmt.Sprintf("for Node %s, until %s", s.Token.Node, until)
}
