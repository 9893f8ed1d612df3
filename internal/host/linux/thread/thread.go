// Package thread runs code on an OS thread that is thrown away afterwards.
//
// Namespaces, root and working directory, umask and file system user are attributes of a thread.
// A thread that changed them must never run another goroutine.
package thread

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Run runs f on an OS thread that ends when f returns, so that other goroutines never see
// what f did to the thread. It returns nil if f ends its goroutine, as a failed test does.
func Run(f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer close(done)
		// Never unlocked: the runtime ends the thread of a goroutine that ends locked.
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			done <- f()
			return
		}
		// The main thread cannot end, and /proc/self shows its namespaces. While it
		// is locked here, another goroutine is sure to get another thread.
		done <- Run(f)
		runtime.UnlockOSThread()
	}()
	return <-done
}

// Unshare gives the calling thread its own root directory, working directory and umask.
func Unshare() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("cannot separate a thread's file system attributes: %w", err)
	}
	return nil
}
