package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A step makes a part of a host's state.
type step struct{ what, on, with string }

func (s step) String() string { return strings.TrimSpace(s.what + " " + s.on + " " + s.with) }

// step draws a part of a host's state. The home of an account may be missing, and a path may have something else.
func (s source) step() step {
	switch s.IntN(12) {
	case 0, 1:
		return step{"user", oneOf(s, "ann", "bob", "eve"), oneOf(s, "1500", "1501", "1502") + ":" + oneOf(s, "1600", "1601", "50")}
	case 2:
		return step{"group", oneOf(s, "web", "ops", "ann"), oneOf(s, "1600", "1601", "1500") + ":" + oneOf(s, "", "ann", "bob")}
	case 3:
		return step{"home", oneOf(s, "ann", "bob"), ""}
	case 4:
		return step{"link", oneOf(s, "/srv/l", "/srv/a", "/srv/f", "/srv/a/b"), oneOf(s, "/srv/f", "/srv/nosuch", "/srv/a", "/etc")}
	case 5:
		return step{"program", "/bin/own", ""}
	case 6:
		return step{"unit", "own.service", ""}
	case 7:
		return step{"remove", oneOf(s, "/usr/sbin/useradd", "/usr/sbin/groupadd", "/usr/bin/dpkg", "/usr/bin/gpasswd", "/bin/systemctl", "/usr/sbin/userdel"), ""}
	case 8, 9:
		return step{"file", s.path(), oneOf(s, "one\n", "two\n", "")}
	}
	return step{"directory", s.path(), ""}
}

// make makes it in a root. What cannot be made, because another step is in the way, is left out.
func (s step) make(root string) error {
	at := filepath.Join(root, s.on)
	switch s.what {
	case "user":
		return s.addUser(root)
	case "group":
		gid, members, _ := strings.Cut(s.with, ":")
		return appendLines(root, s.on, map[string]string{"group": s.on + ":x:" + gid + ":" + members, "gshadow": s.on + ":!::" + members})
	case "home":
		_ = os.MkdirAll(filepath.Join(root, "home", s.on), 0o755)
	case "link":
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		_ = os.Symlink(s.with, at)
	case "program":
		_ = write(at, "#!/bin/sh\n", 0o755)
	case "unit":
		_ = write(filepath.Join(root, "etc/systemd/system", s.on), "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n", 0o644)
	case "remove":
		_ = os.Remove(at)
	case "file":
		_ = write(at, s.with, 0o644)
	case "directory":
		_ = os.MkdirAll(at, 0o755)
	}
	return nil
}

func write(path, content string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), mode)
}

func (s step) addUser(root string) error {
	uid, gid, _ := strings.Cut(s.with, ":")
	return appendLines(root, s.on, map[string]string{
		"passwd": fmt.Sprintf("%s:x:%s:%s::/home/%s:/bin/sh", s.on, uid, gid, s.on), "shadow": s.on + ":!:19000:0:99999:7:::",
	})
}

// appendLines adds a line to each of some files in /etc that don't have the name yet.
func appendLines(root, name string, lines map[string]string) error {
	for file, line := range lines {
		path := filepath.Join(root, "etc", file)
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains("\n"+string(old), "\n"+name+":") {
			continue
		}
		if err := os.WriteFile(path, append(old, line+"\n"...), 0o640); err != nil {
			return err
		}
	}
	return nil
}

// chroot runs a command in a root.
func chroot(root string, command ...string) error {
	out, err := exec.Command("chroot", append([]string{root}, command...)...).CombinedOutput() //nolint:noctx // it ends by itself
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command[0], err, out)
	}
	return nil
}
