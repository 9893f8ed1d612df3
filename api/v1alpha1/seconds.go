package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Seconds is a duration in whole seconds. JSON has it as a number or as a text with units, such as 30d, and it is always written
// as the number: texts that mean the same are the same value.
type Seconds int64

// Duration returns s as a duration, or the longest one if that is too short.
func (s Seconds) Duration() time.Duration {
	return time.Duration(min(int64(s), math.MaxInt64/int64(time.Second))) * time.Second
}

// UnmarshalJSON implements [json.Unmarshaler]. Its errors are of a type to which the decoder adds the name of the field.
func (s *Seconds) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '"' {
		return json.Unmarshal(raw, (*int64)(s))
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	d, err := ParseDuration(text)
	if err != nil || d < 0 || d%time.Second != 0 {
		return &json.UnmarshalTypeError{Value: fmt.Sprintf("%q, which is not a number of seconds (%s),", text, durationForm), Type: reflect.TypeFor[Seconds]()}
	}
	*s = Seconds(d / time.Second)
	return nil
}

const durationForm = "use whole numbers with the units w, d, h, m and s, such as 30d or 1h30m"

// ParseDuration is [time.ParseDuration] with weeks and days, which come first and are whole: 2w, 1d12h.
func ParseDuration(text string) (time.Duration, error) {
	rest := text
	weeks, weeksErr := cutUnit(&rest, "w")
	days, daysErr := cutUnit(&rest, "d")
	var part time.Duration
	var err error
	if rest != "" || text == "" {
		part, err = time.ParseDuration(rest)
	}
	whole := 7*weeks + days
	sum := time.Duration(whole)*day + part
	if errors.Join(err, weeksErr, daysErr) != nil || whole > mostDays || rest != text && part < 0 || sum < part {
		return 0, errors.New("not a duration: " + durationForm)
	}
	return sum, nil
}

const (
	day      = 24 * time.Hour
	mostDays = math.MaxInt64 / int64(day)
)

// cutUnit removes a number with a unit from the beginning of a text, and returns it; 0 if there is none.
func cutUnit(text *string, unit string) (int64, error) {
	number, rest, found := strings.Cut(*text, unit)
	if !found {
		return 0, nil
	}
	*text = rest
	n, err := strconv.ParseUint(number, 10, 32)
	return int64(n), err
}
