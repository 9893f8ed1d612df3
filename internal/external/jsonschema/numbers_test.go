package jsonschema_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/jsonschema"
)

func conforms(t *testing.T, schema, value string) bool {
	t.Helper()
	s, err := jsonschema.Compile([]byte(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return s.Check(decode(t, value)) == nil
}

func TestNumbersAreComparedExactly(t *testing.T) {
	t.Parallel()

	for value, schemas := range map[string]map[string]bool{
		"1e400": {
			`{"minimum":1e399}`: true, `{"maximum":1e399}`: false, `{"type":"integer"}`: true, `{"multipleOf":7}`: false, `{"multipleOf":5}`: true,
			`{"const":10e399}`: true, `{"enum":[1e399,10.0e399]}`: true, `{"enum":[1e399]}`: false, `{"multipleOf":1e400}`: true, `{"multipleOf":1e-400}`: true,
		},
		"-1e-400":          {`{"minimum":0}`: false, `{"exclusiveMaximum":0}`: true, `{"type":"integer"}`: false, `{"multipleOf":1}`: false},
		"0e400":            {`{"const":0}`: true, `{"multipleOf":3}`: true, `{"type":"integer"}`: true},
		"1.0":              {`{"const":1}`: true, `{"enum":[[1],1]}`: true, `{"type":"integer"}`: true},
		"9007199254740993": {`{"const":9007199254740992}`: false, `{"maximum":9007199254740992}`: false},
		`"text"`:           {`{"maxLength":1e400}`: true, `{"minLength":1e400}`: false},
		"[1e400]":          {`{"contains":{"type":"integer"},"maxContains":1e400}`: true, `{"contains":{},"minContains":1e400}`: false},
		"[1e400,10e399]":   {`{"uniqueItems":true}`: false},
	} {
		for schema, want := range schemas {
			if got := conforms(t, schema, value); got != want {
				t.Errorf("schema %s, value %s: %v", schema, value, got)
			}
		}
	}
}

// Written out, these numbers would take all memory. The library panics.
func TestNumbersOfTooManyDigitsAreNotCompared(t *testing.T) {
	t.Parallel()

	s, err := jsonschema.Compile([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []string{"1e1000000000", "-1e-1000000000", "1e99999999999999999999", strings.Repeat("9", 401)} {
		if err := s.CheckAt("at", decode(t, `{"a":[`+number+`]}`)); err == nil || err.Error() != "at has a number of too many digits" {
			t.Errorf("%.30s: %v", number, err)
		}
		if _, err := jsonschema.Compile([]byte(`{"default":` + number + `}`)); err == nil || err.Error() != "the schema has a number of too many digits" {
			t.Errorf("%.30s: %v", number, err)
		}
	}
}

func TestNumbersOfGoAreNumbers(t *testing.T) {
	t.Parallel()

	s, err := jsonschema.Compile([]byte(`{"type":"integer","maximum":100}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{1, int64(100), uint8(7), 2.0, float32(3), json.Number("1e2")} {
		if err := s.Check(value); err != nil {
			t.Errorf("%T: %v", value, err)
		}
	}
	for _, value := range []any{101, 2.5, 1e300, []string{"1"}, json.Number("x"), json.Number("")} {
		if s.Check(value) == nil {
			t.Errorf("%T %v conforms", value, value)
		}
	}
}

// FuzzNumbers compares with the exact numbers of math/big.
func FuzzNumbers(f *testing.F) {
	all := []string{"0", "-0", "1", "1.0", "10e-1", "0.1", "-0.10", "1e2", "100", "3", "0.3", "12.5", "-7", "1E+3", "0.00012e5", "12", "99999999999999999999", "1e-9", "120", "-1200e-2"}
	for _, a := range all {
		for _, b := range all {
			f.Add(a, b)
		}
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := rational(a), rational(b)
		if x == nil || y == nil {
			return
		}
		for schema, want := range map[string]bool{
			`{"const":%}`: x.Cmp(y) == 0, `{"minimum":%}`: x.Cmp(y) >= 0, `{"exclusiveMaximum":%}`: x.Cmp(y) < 0, `{"type":"integer"}`: x.IsInt(),
			`{"multipleOf":%}`: y.Sign() <= 0 || new(big.Rat).Quo(x, y).IsInt(),
		} {
			if strings.Contains(schema, "multipleOf") && y.Sign() <= 0 {
				continue
			}
			schema = strings.Replace(schema, "%", b, 1)
			if got := conforms(t, schema, a); got != want {
				t.Errorf("schema %s, value %s: %v", schema, a, got)
			}
		}
	})
}

// rational returns a number of JSON; nil for other text and for numbers that take much memory.
func rational(text string) *big.Rat {
	const most = 100
	if len(text) > most || !json.Valid([]byte(text)) || strings.Trim(text, "0123456789.eE+-") != "" {
		return nil
	}
	if _, power, _ := strings.Cut(strings.ToLower(text), "e"); len(strings.Trim(power, "+-")) > 2 {
		return nil
	}
	r, _ := new(big.Rat).SetString(text)
	return r
}
