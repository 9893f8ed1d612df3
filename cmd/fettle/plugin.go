package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// pluginName is the name of the program that kubectl runs as kubectl fettle.
const pluginName = "kubectl-fettle"

// checkName returns an error if kubectl called this program: before they were two, fettle was linked to the name of its plugin.
func checkName(called string) error {
	if !strings.HasPrefix(filepath.Base(called), "kubectl-") {
		return nil
	}
	return fmt.Errorf("%s is the program %s, and this is fettle, which is about this machine: replace it by the %[2]s of the same release", called, pluginName)
}

// plugin replaces this process by kubectl fettle, which is beside this program or in the PATH.
func plugin(args []string) error {
	program, err := findPlugin()
	if err != nil {
		return err
	}
	err = syscall.Exec(program, append([]string{pluginName}, args...), os.Environ())
	return fmt.Errorf("cannot run %s: %w", program, err)
}

func findPlugin() (string, error) {
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), pluginName)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	found, err := exec.LookPath(pluginName)
	if err != nil {
		return "", errors.New("this command needs a cluster, and only kubectl fettle reaches one: put the program " + pluginName + " of the same release beside fettle, or into your PATH")
	}
	return found, nil
}
