// Command floor does the least that anybody must who wants to know whether a host is as it should be: it looks at the
// files of a list, reads and hashes them, and reads what dpkg, passwd and shadow say. It compares nothing.
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(list string) error {
	paths, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	for path := range bytes.Lines(paths) {
		if err := look(string(bytes.TrimSpace(path))); err != nil {
			return err
		}
	}
	for _, path := range []string{"/var/lib/dpkg/status", "/etc/passwd", "/etc/shadow"} {
		if _, err := os.ReadFile(path); err != nil {
			return err
		}
	}
	return nil
}

func look(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	text, err := os.ReadFile(path)
	_ = sha256.Sum256(text)
	return err
}
