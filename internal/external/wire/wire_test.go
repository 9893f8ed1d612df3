package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/wire"
)

const hello = `{"answer":"hello","protocol":"Fettle/1"}` + "\n"

func TestAnswersBeforeAFaultAreReturned(t *testing.T) {
	t.Parallel()

	a := wire.Decode([]byte(hello + `{"answer":"get","name":"a","state":{"ttl":9007199254740993}}` + "\n\nSegmentation fault\n" + `{"answer":"get","name":"b"}`))
	got, err := a.Of(wire.Get, "a")
	if err != nil || got.State["ttl"] != json.Number("9007199254740993") {
		t.Errorf("the answer is %v, %v", got, err)
	}
	if _, err := a.Of(wire.Get, "b"); err == nil || !strings.Contains(err.Error(), "is not an answer") {
		t.Errorf("what follows a fault counts: %v", err)
	}
}

func TestFaultsOfAnOutput(t *testing.T) {
	t.Parallel()

	for output, want := range map[string]string{
		"": "the program did not answer hello",
		`{"answer":"hello","protocol":"Fettle/2"}`: `the program speaks "Fettle/2"`,
		hello + `{"answer":"get","nam":"a"}`:       `unknown field "nam"`,
		hello + `[]`:                               "is not an answer",
		hello:                                      `did not answer the request get for "a"`,
		hello + `{"answer":"get","name":"a"}` + "\n" + `{"answer":"get","name":"a"}`:                                        `answered the request "get" for "a" twice`,
		hello + `{"answer":"get","name":"a","error":"no"}`:                                                                  "no",
		hello + `{"answer":"get","name":"a"}` + "\n" + `{"answer":"get","name":"b"}` + "\n" + `{"answer":"get","name":"b"}`: "",
	} {
		_, err := wire.Decode([]byte(output)).Of(wire.Get, "a")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", output, err, want)
		}
	}
}

func TestAVerdictIsABooleanOrAPairWithAMessage(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]wire.Verdict{
		"true": {InSync: true}, "false": {}, `[false,"it is rude"]`: {Message: "it is rude"}, `[true,""]`: {InSync: true},
	} {
		var v wire.Verdict
		if err := json.Unmarshal([]byte(text), &v); err != nil || v != want {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
	for _, text := range []string{`"yes"`, "1", `[true]`, `["no","x"]`, `[false,1]`} {
		if err := json.Unmarshal([]byte(text), new(wire.Verdict)); err == nil {
			t.Errorf("%s is a verdict", text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(hello + `{"answer":"get","name":"a","state":null}`))
	f.Add([]byte(hello + `{"answer":"list","name":"a","state":{"x":[1,{"y":"z"}]},"inSync":{"x":[true,"m"]}}`))
	f.Add([]byte("{\"answer\":\"hello\"}\n\x00"))
	f.Fuzz(func(t *testing.T, output []byte) {
		a := wire.Decode(output)
		if _, err := a.Of(wire.Hello, ""); err == nil && !strings.Contains(string(output), wire.Protocol) {
			t.Errorf("%q answers hello", output)
		}
	})
}
