package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

func TestSecondsAreOneNumberInEveryForm(t *testing.T) {
	for raw, want := range map[string]string{
		`2592000`:                 `2592000`,
		`"30d"`:                   `2592000`,
		`"720h"`:                  `2592000`,
		`"4w2d"`:                  `2592000`,
		`"1h30m"`:                 `5400`,
		`"90s"`:                   `90`,
		`"0s"`:                    `0`,
		`0`:                       `0`,
		`-1`:                      `-1`, // the schema refuses it
		`"1.5s"`:                  refused(`"1.5s"`),
		`"-1s"`:                   refused(`"-1s"`),
		`"30"`:                    refused(`"30"`),
		`""`:                      refused(`""`),
		`"30 days"`:               refused(`"30 days"`),
		`"5ms"`:                   refused(`"5ms"`),
		`"20000w"`:                refused(`"20000w"`),
		`"106751d2500000h"`:       refused(`"106751d2500000h"`),
		`"99999999999999999999d"`: refused(`"99999999999999999999d"`),
		`1.5`:                     `json: cannot unmarshal number 1.5 into Go value of type int64`,
		`true`:                    `json: cannot unmarshal bool into Go value of type int64`,
	} {
		var s v1alpha1.Seconds
		got := ""
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			got = err.Error()
		} else if text, err := json.Marshal(s); err == nil {
			got = string(text)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

func refused(text string) string {
	return "json: cannot unmarshal " + text + ", which is not a number of seconds (" + form + "), into Go value of type v1alpha1.Seconds"
}

// The field is named.
func TestSecondsNameTheirField(t *testing.T) {
	var a v1alpha1.TidyAttributes
	err := json.Unmarshal([]byte(`{"ageSeconds": "30 days"}`), &a)
	const want = `json: cannot unmarshal "30 days", which is not a number of seconds (` + form + `), into Go struct field TidyAttributes.ageSeconds of type v1alpha1.Seconds`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

const form = "use whole numbers with the units w, d, h, m and s, such as 30d or 1h30m"

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]string{
		"7d": "168h0m0s", "2w": "336h0m0s", "1w1d1h": "193h0m0s", "1d1.5s": "24h0m1.5s", "300ms": "300ms", "24h": "24h0m0s", "-5m": "-5m0s", "0": "0s", "106751d": "2562024h0m0s",
		"": "", "d": "", "-7d": "", "1.5d": "", "1h7d": "", "7d-1h": "", "1d2w": "", "7": "", "106752d": "", "106751d24h": "", "7 d": "",
	} {
		got := ""
		if d, err := v1alpha1.ParseDuration(text); err == nil {
			got = d.String()
		} else if err.Error() != "not a duration: "+form {
			t.Errorf("%q: %v", text, err)
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestSecondsAreNoLongerThanTheLongestDuration(t *testing.T) {
	for s, want := range map[v1alpha1.Seconds]time.Duration{0: 0, 90: 90 * time.Second, 1 << 60: 9223372036 * time.Second} {
		if got := s.Duration(); got != want {
			t.Errorf("%s is %s, want %s", fmt.Sprint(int64(s)), got, want)
		}
	}
}
