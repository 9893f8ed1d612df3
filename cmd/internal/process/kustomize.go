package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Kustomize builds a kustomization with the installed program. As a library it would add 19 MB to the binary and to the
// memory of every run.
func Kustomize(ctx context.Context, dir string) ([]byte, error) {
	argv, err := kustomizeCommand(dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv[:2], " "), err, strings.TrimSpace(stderr.String()))
	}
	return text, nil
}

// kustomizeCommand returns the argv for a directory, with the first installed program.
func kustomizeCommand(dir string) ([]string, error) {
	for _, argv := range [][]string{{"kustomize", "build"}, {"kubectl", "kustomize"}} {
		if _, err := exec.LookPath(argv[0]); err == nil {
			return append(argv, "--", dir), nil
		}
	}
	return nil, errors.New("neither kustomize nor kubectl is installed: install one, or build it elsewhere and pass the result with -f")
}
