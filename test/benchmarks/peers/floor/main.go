// Command floor does the minimum work to check a host: it reads and hashes a list of files, and reads the databases of
// dpkg and accounts. It compares nothing.
//
// With -write it does the least that anybody must who makes the files so that no power loss leaves half of one, and the
// users: it writes each file, 1 KB long, beside its place, has the disk keep it and renames it, many of them side by
// side, and runs the commands of a second list, one after the other, as each locks the accounts.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

func main() {
	var err error
	if os.Args[1] == "-write" {
		err = errors.Join(write(os.Args[2]), command(os.Args[3]))
	} else {
		err = run(os.Args[1])
	}
	if err != nil {
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

// writers is how many files are written side by side.
const writers = 32

func write(list string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	paths := strings.Fields(string(text))
	if err := os.MkdirAll(filepath.Dir(paths[0]), 0o755); err != nil {
		return err
	}
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, len(paths))
	for range writers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(paths)); i = next.Add(1) - 1 {
				errs[i] = make1KB(paths[i])
			}
		})
	}
	group.Wait()
	dir, err := os.Open(filepath.Dir(paths[0]))
	if err != nil {
		return err
	}
	return errors.Join(append(errs, dir.Sync(), dir.Close())...)
}

// command runs the commands of a list, one for each line.
func command(list string) error {
	text, err := os.ReadFile(list)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		err = errors.Join(err, exec.Command(words[0], words[1:]...).Run())
	}
	return err
}

func make1KB(path string) error {
	f, err := os.Create(path + "~")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 1024))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+"~", path)
}
