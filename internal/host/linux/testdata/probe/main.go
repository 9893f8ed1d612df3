// Command probe is a helper of the tests of package linux. It is the only file in a root, the first process of new
// namespaces, and the fake systemd-run and systemctl in them.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	run := map[string]func([]string) error{
		"see":         see,
		"hold":        hold,
		"systemd-run": systemdRun,
		"systemctl":   systemctl,
	}
	words := append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...)
	if words[0] == "probe" {
		words = words[1:]
	}
	if err := run[words[0]](words[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// see prints the names in the root directory, the working directory and standard input.
func see([]string) error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		fmt.Println("/" + entry.Name())
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	stdin, err := io.ReadAll(os.Stdin)
	fmt.Printf("in %s\nread %s\n", dir, stdin)
	return err
}

// hold sets up its new namespaces as a machine and keeps them until standard input ends.
func hold([]string) error {
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	for _, dir := range []string{"/run", "/usr/local/sbin"} {
		if err == nil {
			err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755")
		}
	}
	if err == nil {
		err = syscall.Sethostname([]byte("elsewhere"))
	}
	if err == nil {
		err = os.MkdirAll("/run/systemd/system", 0o755)
	}
	for _, name := range []string{"systemd-run", "systemctl"} {
		if err == nil {
			err = copyFile(os.Args[0], "/usr/local/sbin/"+name)
		}
	}
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// systemdRun imitates systemd-run and systemd: it records its arguments, reads the environment file, expands "$$", and
// runs the command in another process group.
func systemdRun(args []string) error {
	if err := os.WriteFile("/run/argv", []byte(strings.Join(args, "\n")), 0o600); err != nil {
		return err
	}
	if _, err := os.Lstat("/run/no-bus"); err == nil {
		return fmt.Errorf("Failed to connect to bus: No such file or directory") //nolint:staticcheck // as systemd prints it
	}
	split := slices.Index(args, "--")
	c := exec.Command(args[split+1])
	for _, arg := range args[split+1:] {
		c.Args = append(c.Args, strings.ReplaceAll(arg, "$$", "$"))
	}
	c.Args = c.Args[1:]
	c.Env = []string{}
	for _, option := range args[:split] {
		if err := apply(c, option); err != nil {
			return err
		}
	}
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	if err := os.WriteFile("/run/unit.pid", []byte(strconv.Itoa(c.Process.Pid)), 0o600); err != nil {
		return err
	}
	return c.Wait()
}

func apply(c *exec.Cmd, option string) error {
	name, value, _ := strings.Cut(option, "=")
	if name == "--working-directory" {
		c.Dir = value
	}
	file, found := strings.CutPrefix(option, "--property=EnvironmentFile=")
	if !found {
		return nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Mode() != 0o600 {
		return fmt.Errorf("%s has mode %s", file, info.Mode())
	}
	c.Env, err = readEnvironment(file)
	return err
}

// readEnvironment reads only a part of the format: NAME="value" on one line.
func readEnvironment(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var env []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, quoted, _ := strings.Cut(lines.Text(), "=")
		value := strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`)
		env = append(env, name+"="+strings.NewReplacer(`\\`, `\`, `\"`, `"`, "\\`", "`", `\$`, `$`).Replace(value))
	}
	return env, nil
}

// systemctl records its arguments and kills the process group of the unit, whatever they are.
func systemctl(args []string) error {
	if args[0] != "kill" {
		return nil // units of this systemd disappear when they end
	}
	if err := os.WriteFile("/run/systemctl", []byte(strings.Join(args, " ")), 0o600); err != nil {
		return err
	}
	text, err := os.ReadFile("/run/unit.pid")
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	return syscall.Kill(-pid, syscall.SIGKILL)
}
