package hostservice

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/cli/credentials"
	"github.com/fettle-dev/fettle/internal/host"
)

// A Spec describes a service.
type Spec struct {
	Node string
	Args []string // further arguments of the agent
	// Binary opens the program. It is called more than once.
	Binary func() (io.ReadCloser, error)
	// Credentials may be nil if the service has some.
	Credentials *credentials.Credentials
}

// Install installs or updates the service and starts it, unless systemd does not run the host. It returns the files
// that it wrote. If there are any, it restarts the service.
func (s Service) Install(ctx context.Context, spec Spec) (written []string, err error) {
	if _, err := s.Host.LookPath("systemctl"); err != nil {
		return nil, fmt.Errorf("cannot install a service on a host without systemd: %w", err)
	}
	for _, dir := range []struct {
		path string
		mode uint32
	}{{path.Dir(binaryFile), 0o755}, {path.Dir(configDir), 0o755}, {configDir, 0o700}} {
		if err := s.mkdir(dir.path, dir.mode); err != nil {
			return nil, err
		}
	}
	written, err = s.writeCredentials(ctx, spec.Credentials)
	if err != nil {
		return written, err
	}
	for _, f := range []file{
		{binaryFile, 0o755, spec.Binary},
		{unitFile, 0o644, text(unitText(spec.Node, spec.Args))},
	} {
		changed, err := s.write(ctx, f)
		if err != nil {
			return written, err
		}
		if changed {
			written = append(written, f.path)
		}
	}
	return written, s.start(ctx, len(written) > 0)
}

// start enables and starts the service, or restarts it.
func (s Service) start(ctx context.Context, changed bool) error {
	if err := s.systemctl(ctx, "enable", "--quiet", Name); err != nil {
		return err
	}
	if !s.booted() {
		return nil
	}
	if changed {
		return errors.Join(s.systemctl(ctx, "daemon-reload"), s.systemctl(ctx, "restart", Name))
	}
	return s.systemctl(ctx, "start", Name)
}

// booted reports whether systemd runs the host: it does not run an image.
func (s Service) booted() bool {
	_, err := s.Host.Stat("/run/systemd/system")
	return err == nil
}

func (s Service) systemctl(ctx context.Context, args ...string) error {
	res, err := s.Host.Run(ctx, host.Cmd{Args: append([]string{"systemctl"}, args...)})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("it exited with %d: %s", res.ExitCode, strings.TrimSpace(string(res.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("cannot run systemctl %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

func (s Service) mkdir(dir string, mode uint32) error {
	if err := s.Host.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot make the directory %s: %w", dir, err)
	}
	return nil
}

// writeCredentials writes the credentials, unless the service has later ones: an agent renews them.
func (s Service) writeCredentials(ctx context.Context, c *credentials.Credentials) (written []string, err error) {
	config, configErr := s.Host.ReadFile(kubeconfig)
	token, tokenErr := s.Host.ReadFile(tokenFile)
	missing := configErr != nil || tokenErr != nil
	if c == nil {
		if missing {
			return nil, errors.New("the service has no credentials yet: create them with fettle agent token, and pass them with --kubeconfig")
		}
		return nil, nil
	}
	if !missing && !c.Replaces(config, string(token), tokenName) {
		return nil, nil
	}
	next, err := c.Kubeconfig(tokenName)
	if err != nil {
		return nil, err
	}
	for _, f := range []file{{tokenFile, 0o600, text(c.Token + "\n")}, {kubeconfig, 0o600, text(string(next))}} {
		changed, err := s.write(ctx, f)
		if err != nil {
			return written, err
		}
		if changed {
			written = append(written, f.path)
		}
	}
	return written, nil
}

// A file is the desired state of a file.
type file struct {
	path string
	mode uint32
	open func() (io.ReadCloser, error)
}

func text(s string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }
}

// write writes a file, unless it is as it should be.
func (s Service) write(ctx context.Context, f file) (changed bool, err error) {
	want, err := sum(f.open())
	if err != nil {
		return false, fmt.Errorf("cannot read what to write to %s: %w", f.path, err)
	}
	info, statErr := s.Host.Lstat(f.path)
	if statErr == nil && info.IsRegular() && info.Mode == f.mode && info.UID == 0 {
		if is, err := sum(s.Host.Open(f.path)); err == nil && slices.Equal(is, want) {
			return false, nil
		}
	}
	content, err := f.open()
	if err != nil {
		return false, fmt.Errorf("cannot read what to write to %s: %w", f.path, err)
	}
	defer content.Close()
	if _, err := s.Host.WriteFile(ctx, f.path, host.NewFile{Content: content, Mode: &f.mode}); err != nil {
		return false, fmt.Errorf("cannot write %s: %w", f.path, err)
	}
	return true, nil
}

// sum returns the SHA-256 of what it reads and closes.
func sum(r io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer r.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		return nil, err
	}
	return hash.Sum(nil), nil
}
