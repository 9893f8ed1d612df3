package fettle_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	fettle "github.com/fettle-dev/fettle/sdk/go"
)

// notes are resources in memory. Those with special names fail.
type notes map[string]fettle.State

func (n notes) Read(_ context.Context, r *fettle.Resource) (fettle.State, error) {
	if r.Name == "unreadable" {
		return nil, errors.New("the disk is broken")
	}
	if len(r.Related) > 0 {
		other := r.Related[0]
		return fettle.State{"text": fmt.Sprint(other.Kind, " ", other.Name, " ", other.Should.Text("server"), " ", other.Omitted)}, nil
	}
	if r.Name == "compared" {
		r.InSync("text", false, "it is old")
	}
	return n[r.Name], nil
}

func (n notes) Create(_ context.Context, r *fettle.Resource) error {
	n[r.Name] = maps.Clone(r.Should)
	r.Note("wrote %s", r.Should.Text("text"))
	return nil
}

func (n notes) Update(_ context.Context, r *fettle.Resource) error {
	if r.Changed("size") {
		return fettle.AttributeErrors{"size": "it is full"}
	}
	panic("not written")
}

func (n notes) Delete(_ context.Context, r *fettle.Resource) error {
	delete(n, r.Name)
	return nil
}

func (n notes) List(context.Context) (map[string]fettle.State, error) { return n, nil }

func (n notes) Check(_ context.Context, r *fettle.Resource) error {
	if r.Name == "buggy" {
		panic("a bug")
	}
	if r.Name == "wrong" {
		return errors.New("not now")
	}
	return nil
}

func (n notes) Refresh(_ context.Context, r *fettle.Resource) error {
	return fettle.ErrNothingToRefresh
}

func (n notes) Canonicalize(should fettle.State) (fettle.State, error) {
	return fettle.State{"text": strings.ToLower(should.Text("text")), "size": should["size"]}, nil
}

const hello = `{"request":"hello","protocol":"Fettle/1","kind":"Note"}` + "\n"

// serve returns the answers after the first.
func serve(t *testing.T, p fettle.Provider, requests string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := fettle.Serve(t.Context(), func(kind string) (fettle.Provider, bool) { return p, kind == "Note" }, strings.NewReader(hello+requests), &out)
	return strings.TrimPrefix(out.String(), `{"answer":"hello","protocol":"Fettle/1"}`+"\n"), err
}

func TestSimpleProvider(t *testing.T) {
	for name, tt := range map[string]struct{ request, want string }{
		"a resource that exists": {`{"request":"get","resources":[{"name":"a","should":{}}]}`, `{"answer":"get","name":"a","state":{"text":"x"}}`},
		"one that does not":      {`{"request":"get","resources":[{"name":"b","should":{}}]}`, `{"answer":"get","name":"b","state":null}`},
		"one error does not fail the others": {
			`{"request":"get","resources":[{"name":"unreadable","should":{}},{"name":"a","should":{}}]}`,
			`{"answer":"get","name":"unreadable","error":"the disk is broken"}` + "\n" + `{"answer":"get","name":"a","state":{"text":"x"}}`,
		},
		"a comparison of its own": {
			`{"request":"get","resources":[{"name":"compared","should":{}}]}`,
			`{"answer":"get","name":"compared","state":null,"inSync":{"text":[false,"it is old"]}}`,
		},
		"a check": {
			`{"request":"check","resources":[{"name":"a","should":{}},{"name":"wrong","should":{}}]}`,
			`{"answer":"check","name":"a"}` + "\n" + `{"answer":"check","name":"wrong","error":"not now"}`,
		},
		"another resource": {
			`{"request":"get","resources":[{"name":"b","should":{},"related":[{"kind":"Zone","name":"z","should":{"server":"ns1"},"omitted":["key"]}]}]}`,
			`{"answer":"get","name":"b","state":{"text":"Zone z ns1 [key]"}}`,
		},
		"creation": {
			`{"request":"set","resources":[{"name":"b","should":{"ensure":"present","text":"<x>"}}]}` + "\n" + `{"request":"list"}`,
			`{"answer":"set","name":"b","notes":["wrote <x>"]}` + "\n" + `{"answer":"list","name":"a","state":{"text":"x"}}` + "\n" +
				`{"answer":"list","name":"b","state":{"ensure":"present","text":"<x>"}}`,
		},
		"errors of attributes": {
			`{"request":"set","resources":[{"name":"a","should":{"ensure":"present"},"is":{"text":"x"},"changes":["size"]}]}`,
			`{"answer":"set","name":"a","errors":{"size":"it is full"}}`,
		},
		"a panic": {
			`{"request":"set","resources":[{"name":"a","should":{"ensure":"present"},"is":{"text":"x"},"changes":["text"]}]}`,
			`{"answer":"set","name":"a","error":"the provider panicked: not written"}`,
		},
		"removal": {
			`{"request":"set","resources":[{"name":"a","should":{"ensure":"absent"},"is":{"text":"x"}}]}` + "\n" + `{"request":"list"}`,
			`{"answer":"set","name":"a"}`,
		},
		"numbers keep their digits": {
			`{"request":"canonicalize","resources":[{"name":"a","should":{"text":"X","size":9007199254740993}}]}`,
			`{"answer":"canonicalize","name":"a","state":{"size":9007199254740993,"text":"x"}}`,
		},
		"nothing to refresh":       {`{"request":"refresh","resources":[{"name":"a","should":{}}]}`, `{"answer":"refresh","name":"a","nothingToRefresh":true}`},
		"a request that it lacks":  {`{"request":"validate","resources":[{"name":"a","should":{}}]}`, `{"answer":"validate","name":"a","error":"unknown request validate"}`},
		"a request of the future":  {`{"request":"fly","resources":[{"name":"a","should":{}}]}`, `{"answer":"fly","name":"a","error":"unknown request fly"}`},
		"an empty line is ignored": {"\n" + `{"request":"get","resources":[{"name":"b","should":{}}]}`, `{"answer":"get","name":"b","state":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serve(t, fettle.Simple(notes{"a": {"text": "x"}}), tt.request)
			if err != nil || got != tt.want+"\n" {
				t.Errorf("got %v\n%swant\n%s", err, got, tt.want)
			}
		})
	}
}

// batch answers for some resources, and then fails.
type batch struct{ err error }

func (b batch) Get(_ context.Context, resources []*fettle.Resource) error {
	resources[0].Answer(fettle.State{"text": "x"}, nil)
	resources[0].Answer(nil, errors.New("too late"))
	return b.err
}

func (b batch) Set(_ context.Context, resources []*fettle.Resource) error { return b.err }

func TestBatchProvider(t *testing.T) {
	const two = `{"request":"get","resources":[{"name":"a","should":{}},{"name":"b","should":{}}]}`
	for name, tt := range map[string]struct {
		err           error
		request, want string
	}{
		"what has no answer does not exist":   {nil, two, `{"answer":"get","name":"b","state":null}`},
		"an error is that of what is left":    {errors.New("no network"), two, `{"answer":"get","name":"b","error":"no network"}`},
		"what has no answer was changed":      {nil, `{"request":"set","resources":[{"name":"b","should":{}}]}`, `{"answer":"set","name":"b"}`},
		"optional methods may be missing":     {nil, `{"request":"refresh","resources":[{"name":"b","should":{}}]}`, `{"answer":"refresh","name":"b","error":"unknown request refresh"}`},
		"a list fails without the method":     {nil, `{"request":"list"}`, `{"answer":"list","error":"this provider cannot list resources"}`},
		"an error without text has its type":  {silent{}, `{"request":"set","resources":[{"name":"b","should":{}}]}`, `{"answer":"set","name":"b","error":"fettle_test.silent"}`},
		"the first answer counts, not others": {nil, two, `{"answer":"get","name":"a","state":{"text":"x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serve(t, batch{tt.err}, tt.request)
			if err != nil || strings.Count(got, tt.want+"\n") != 1 || strings.Contains(got, "too late") {
				t.Errorf("got %v\n%swant\n%s", err, got, tt.want)
			}
		})
	}
}

type silent struct{}

func (silent) Error() string { return "" }

func TestInvalidRequestsEndTheProgram(t *testing.T) {
	for _, input := range []string{"not JSON", "[]", `{"request":`, "\x00\xff", `{"request":"hello","protocol":"Fettle/2"}`, `{"request":"hello","protocol":"Fettle/1","kind":"Other"}`} {
		if got, err := serve(t, batch{}, input); err == nil {
			t.Errorf("%q: got %s", input, got)
		}
	}
	var out strings.Builder
	none := func(string) (fettle.Provider, bool) { return nil, false }
	if err := fettle.Serve(t.Context(), none, strings.NewReader(`{"request":"get","resources":[]}`), &out); err == nil || err.Error() != "the first request is not hello" {
		t.Errorf("got %v", err)
	}
}

func TestAFaultOfTheProgramIsNoErrorOfACheck(t *testing.T) {
	if got, err := serve(t, batch{}, `{"request":"check","resources":[{"name":"a"}]}`); got != "" || err == nil {
		t.Errorf("without the method: got %q, %v", got, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a panic does not end the program")
		}
	}()
	got, err := serve(t, fettle.Simple(notes{}), `{"request":"check","resources":[{"name":"buggy"}]}`)
	t.Errorf("got %q, %v", got, err)
}

func ExampleState_Decode() {
	var note struct{ Text string }
	err := fettle.State{"text": "hello"}.Decode(&note)
	fmt.Println(note.Text, err)
	// Output: hello <nil>
}
