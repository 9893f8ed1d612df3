package resourcetest_test

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

var errRefused = errors.New("refused")

// slips keeps each number on a slip, a file below /slips. Its fields break laws.
type slips struct {
	query     string // a command to run on every look
	trace     string // a file that removing leaves
	keeps     bool   // what was there is not changed
	mixesUp   bool   // the second of many takes the first one's state
	listsNone bool   // although there are some
	tells     bool   // the number to a command
	reveals   bool   // the number that is shown
	shows     bool   // the number, as the output of a command, to people who debug
}

// blind has a method Watch that is not that of a [resource.Watcher].
type blind struct{ slips }

func (blind) Watch(resource.Reader, attributes) []string { return nil }

func (slips) Name() string                            { return "slips" }
func (slips) Suits(resource.Facts, host.Reader) error { return nil }

func (s slips) Read(ctx context.Context, h resource.Reader, want attributes) (attributes, error) {
	if s.query != "" {
		if _, err := h.Query(ctx, host.Cmd{Args: []string{s.query}}); err != nil {
			return attributes{}, err
		}
	}
	is := attributes{Name: want.Name, Ensure: new(resource.Absent)}
	text, err := h.ReadFile("/slips/" + want.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return is, nil
	}
	if err != nil {
		return is, err
	}
	is.Ensure = new(resource.Present)
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && (want.GID != nil || s.reveals) {
		is.GID = &n
	}
	return is, nil
}

func (s slips) ReadAll(ctx context.Context, h resource.Reader, wants []attributes) []resource.Result[attributes] {
	results := make([]resource.Result[attributes], len(wants))
	for i, want := range wants {
		is, err := s.Read(ctx, h, want)
		if s.mixesUp && i > 0 {
			is.Name += "x"
		}
		results[i] = resource.Result[attributes]{State: is, Err: err}
	}
	return results
}

func (s slips) List(ctx context.Context, h resource.Reader) ([]attributes, error) {
	names, err := h.ReadDir("/slips")
	if err != nil || s.listsNone {
		return nil, err
	}
	var all []attributes
	for _, name := range names {
		is, err := s.Read(ctx, h, attributes{Name: name})
		if err != nil {
			return nil, err
		}
		all = append(all, is)
	}
	return all, nil
}

func (s slips) Write(ctx context.Context, h resource.Writer, is, want attributes, _ []resource.Change) error {
	path := "/slips/" + want.Name
	if *want.Ensure == resource.Absent {
		if s.trace != "" {
			if err := put(ctx, h, s.trace, ""); err != nil {
				return err
			}
		}
		return h.Remove(path)
	}
	number := strconv.FormatInt(*want.GID, 10)
	if s.tells {
		if _, err := h.Run(ctx, host.Cmd{Args: []string{"tell", number}}); err != nil {
			return err
		}
	}
	if s.shows {
		if _, err := h.Run(ctx, host.Cmd{Args: []string{"show"}, Stdin: []byte(number), Show: host.Output}); err != nil {
			return err
		}
	}
	if s.keeps && *is.Ensure == resource.Present {
		return nil
	}
	return put(ctx, h, path, number)
}

func put(ctx context.Context, h host.Host, path, text string) error {
	_, err := h.WriteFile(ctx, path, host.NewFile{Content: strings.NewReader(text), UID: -1, GID: -1})
	return err
}
