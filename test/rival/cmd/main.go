// Command cmd is what package rival runs as a local user.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

func main() {
	if os.Args[1] == "lease" {
		end(lease(os.Args[2:]))
	}
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	end(run(os.Args[1:], &over))
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(args []string, over *atomic.Bool) error {
	acts := map[string]func(args []string) error{"exchange": exchange, "link": link}
	act := acts[args[0]]
	if err := act(args[1:]); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	for !over.Load() {
		// What it works with may be away for a moment, as others work there too.
		if err := act(args[1:]); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return nil
}

func exchange(names []string) error {
	return unix.Renameat2(unix.AT_FDCWD, names[0], unix.AT_FDCWD, names[1], unix.RENAME_EXCHANGE)
}

func link(names []string) error {
	if err := unix.Link(names[0], names[1]); err != nil {
		return err
	}
	return unix.Unlink(names[1])
}

// lease ends with its process.
func lease(names []string) error {
	signal.Ignore(unix.SIGIO)
	f, err := os.OpenFile(names[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return f.Close()
}
