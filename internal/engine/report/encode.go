package report

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/internal/text"
)

// MarshalJSON encodes texts that are not UTF-8.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	encodeTexts(&r.Host, &r.Message)
	return json.Marshal(plain(r))
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (r *Report) UnmarshalJSON(raw []byte) error {
	type plain Report
	err := json.Unmarshal(raw, (*plain)(r))
	decodeTexts(&r.Host, &r.Message)
	return err
}

// MarshalJSON encodes texts that are not UTF-8.
func (r ResourceReport) MarshalJSON() ([]byte, error) {
	type plain ResourceReport
	encodeTexts(&r.Message, &r.Unknown)
	if r.Author != nil {
		by := *r.Author
		encodeTexts(&by.Executable, &by.Pod)
		r.Author = &by
	}
	return json.Marshal(plain(r))
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (r *ResourceReport) UnmarshalJSON(raw []byte) error {
	type plain ResourceReport
	err := json.Unmarshal(raw, (*plain)(r))
	decodeTexts(&r.Message, &r.Unknown)
	if r.Author != nil {
		decodeTexts(&r.Author.Executable, &r.Author.Pod)
	}
	return err
}

// MarshalJSON encodes texts that are not UTF-8.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	encodeTexts(e.texts()...)
	return json.Marshal(plain(e))
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (e *Event) UnmarshalJSON(raw []byte) error {
	type plain Event
	err := json.Unmarshal(raw, (*plain)(e))
	decodeTexts(e.texts()...)
	return err
}

// texts returns the fields that may contain text from the host.
func (e *Event) texts() []*string {
	return []*string{&e.Is, &e.Should, &e.Historical, &e.Message, &e.Diff, &e.Output}
}

func encodeTexts(all ...*string) {
	for _, s := range all {
		*s = text.Encode(*s)
	}
}

func decodeTexts(all ...*string) {
	for _, s := range all {
		*s = text.Decode(*s)
	}
}
