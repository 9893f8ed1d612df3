package state_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
)

// doomedDir, when set, makes the test binary a run that arms one refresh after the
// other in that directory until it is killed.
const doomedDir = "FETTLE_TEST_DOOMED_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(doomedDir); dir != "" {
		arm(dir)
	}
	os.Exit(m.Run())
}

func arm(dir string) {
	s, err := state.Open(dir, state.Options{})
	for i := 0; err == nil; i++ {
		err = s.Arm([]resource.Ref{{Kind: "Exec", Name: strconv.Itoa(i)}})
		fmt.Println(i)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestArmedRefreshSurvivesKill(t *testing.T) {
	for round := range 5 {
		dir := t.TempDir()
		run := exec.Command(os.Args[0])
		run.Env = append(os.Environ(), doomedDir+"="+dir)
		run.Stderr = os.Stderr
		out, err := run.StdoutPipe()
		must(t, err)
		must(t, run.Start())
		last := -1
		for lines := bufio.NewScanner(out); lines.Scan(); {
			last, err = strconv.Atoi(lines.Text())
			must(t, err)
			if last == 10*round {
				must(t, run.Process.Kill())
			}
		}
		_ = run.Wait() // it was killed

		s := open(t, dir)
		if len(s.Warnings()) > 0 {
			t.Error(s.Warnings())
		}
		for i := range last + 1 {
			if s.Armed()[resource.Ref{Kind: "Exec", Name: strconv.Itoa(i)}] != 1 {
				t.Errorf("%d of %d is lost", i, last)
			}
		}
	}
}
