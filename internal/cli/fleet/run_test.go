package fleet_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/cli/fleet"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/program"
)

// An outcome is the visible result of one call.
type outcome struct {
	out, err string
	code     int
}

// kubectlFettle runs the command in process.
func kubectlFettle(t testing.TB, stdin string, args ...string) outcome {
	t.Helper()
	var out, stderr bytes.Buffer
	err := fleet.Run(t.Context(), fleet.Options{Streams: program.Streams{In: strings.NewReader(stdin), Out: &out, Err: &stderr}}, args)
	o := outcome{out: out.String(), err: stderr.String()}
	var exit output.Exit
	switch {
	case errors.As(err, &exit):
		o.code = int(exit)
	case err != nil:
		o.code, o.err = 1, o.err+"fettle: "+program.Message(err)+"\n"
	}
	return o
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
