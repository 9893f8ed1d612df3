package reportsapi_test

import (
	"bytes"
	"errors"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
)

// There is a watch for each node of a fleet, and what a filter of an API server holds adds up.
func TestAWatchWaitsOutsideOfTheFilters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	questions, err := w.agent("quiet").Watch(t.Context(), &v1alpha1.NodeQuestionList{})
	must(t, err)
	defer questions.Stop()
	w.eventually("the watch waits outside of the filters", func() error {
		var stacks bytes.Buffer
		must(t, pprof.Lookup("goroutine").WriteTo(&stacks, 1))
		waiting := 0
		for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
			if strings.Contains(stack, "handlers.(*WatchServer)") {
				return errors.New(stack)
			}
			if strings.Contains(stack, "reportsapi.streams.ServeHTTP") {
				waiting++
			}
		}
		if !w.hub.Connected("quiet") || waiting == 0 {
			return errors.New("no watch waits")
		}
		return nil
	}, func(err error) bool { return err == nil })
}
