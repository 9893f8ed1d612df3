package debian

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	suite = "bookworm"
	// packages are what debootstrap installs on top of the essential ones.
	packages = "adduser,ca-certificates,cron,dbus,iproute2,passwd,procps,systemd,systemd-sysv"
	// recipe counts the changes to this file that make an older base unfit.
	recipe = "3"
	// sourcesList is where apt's package sources are.
	sourcesList = "etc/apt/sources.list"
)

// neutral are the files that must not carry anything of the machine that built the base into the tests: its name
// and its network, a package source outside the test's own, and an identity that all machines would share.
func neutral() map[string]string {
	return map[string]string{
		"etc/hostname":    "debian\n",
		"etc/hosts":       "127.0.0.1 localhost\n",
		"etc/resolv.conf": "",
		"etc/machine-id":  "",
		sourcesList:       "",
	}
}

// Base returns the path of the tree that every root is an overlay of; nobody may write to it. The first caller on this
// machine builds it, with a line of progress every few seconds; other processes that want it meanwhile wait. An
// interrupted build leaves nothing that is taken for a base. Beside it, with the suffix ".sources", lies the
// sources.list of the archive that it came from.
func Base(ctx context.Context, progress io.Writer) (string, error) {
	dir, err := cacheDir("roots")
	if err != nil {
		return "", err
	}
	key := sha256.Sum256([]byte(suite + "\n" + packages + "\n" + recipe))
	final := filepath.Join(dir, fmt.Sprintf("%x", key[:8]))
	if exists(final) {
		return final, nil
	}
	lock, err := acquire(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if exists(final) {
		return final, nil
	}
	return final, build(ctx, final, progress)
}

// build makes the base beside its final place and then moves it there. The caller holds the lock, so whatever an
// earlier build left is garbage; what that one started may still be writing to it, so each build has its own directory.
func build(ctx context.Context, final string, progress io.Writer) (err error) {
	garbage, err := filepath.Glob(final + ".building-*")
	if err != nil {
		return err
	}
	for _, dir := range garbage {
		_ = discard(dir) // The next build tries again.
	}
	building, err := os.MkdirTemp(filepath.Dir(final), filepath.Base(final)+".building-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, discard(building))
		}
	}()
	fmt.Fprintf(progress, "building a Debian %s base in %s: once, takes a minute or two\n", suite, final)
	if err := debootstrap(ctx, building, progress, "--include="+packages); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(building, sourcesList), final+".sources"); err != nil {
		return err
	}
	if err := neutralize(building); err != nil {
		return err
	}
	if err := os.Chmod(building, 0o755); err != nil {
		return err
	}
	return os.Rename(building, final)
}

func debootstrap(ctx context.Context, into string, progress io.Writer, options ...string) error {
	args := append(append([]string{"--variant=minbase"}, options...), suite, into)
	if uri := mirror(ctx); uri != "" {
		args = append(args, uri)
	}
	cmd := exec.CommandContext(ctx, "debootstrap", args...)
	log := &bytes.Buffer{}
	cmd.Stdout = io.MultiWriter(log, &every{period: 3 * time.Second, to: progress})
	cmd.Stderr = cmd.Stdout
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot get Debian with debootstrap %s: %w\n%s",
			strings.Join(args, " "), err, tail(log.String(), 15))
	}
	return nil
}

// neutralize takes what is of no use or of the outside out of a tree.
func neutralize(root string) error {
	for name, content := range neutral() {
		path := filepath.Join(root, name)
		if err := removeFile(path); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, pattern := range useless() {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := removeFile(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// useless are patterns of files to remove.
func useless() []string {
	return []string{
		"var/cache/apt/archives/*.deb",
		"var/lib/apt/lists/*_*",
		"var/lib/dbus/machine-id", // Where systemd finds no identity it takes this one, and all machines would share it.
	}
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// mirror is the Debian mirror that this machine's own apt uses, or "" for debootstrap's default.
func mirror(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets",
		"--format", "$(REPO_URI)\t$(RELEASE)\t$(COMPONENT)\t$(ORIGIN)", "Created-By: Packages").Output()
	if err != nil {
		return ""
	}
	return debianMirror(string(out))
}

// debianMirror picks the archive out of apt's index targets, one a line: URI, release, component, origin. The origin
// is empty before the first apt-get update.
func debianMirror(targets string) string {
	for line := range strings.Lines(targets) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) == 4 && f[1] == suite && f[2] == "main" && (f[3] == "Debian" || f[3] == "") {
			return f[0]
		}
	}
	return ""
}

// every passes on at most one line a period, so that a long step shows that it lives.
type every struct {
	period time.Duration
	to     io.Writer
	last   time.Time
}

func (e *every) Write(p []byte) (int, error) {
	if time.Since(e.last) >= e.period {
		e.last = time.Now()
		fmt.Fprintf(e.to, "  %s\n", strings.TrimRight(string(p), "\n"))
	}
	return len(p), nil
}

// tail is the last n lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
