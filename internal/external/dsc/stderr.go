package dsc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Level is the level of a message.
type Level string

// Levels.
const (
	LevelError Level = "error"
	LevelWarn  Level = "warn"
	LevelInfo  Level = "info"
	LevelDebug Level = "debug"
	LevelTrace Level = "trace"
)

// A Message is a line that a command wrote to stderr.
type Message struct {
	Level Level
	Text  string
}

// Messages reads what a command wrote to stderr. A line that is neither {"error": "text"}, or another level, nor a trace of
// Rust in JSON is the text of an error.
func Messages(stderr []byte) []Message {
	var all []Message
	for line := range bytes.Lines(bytes.TrimPrefix(stderr, []byte(byteOrderMark))) {
		text := strings.TrimSpace(string(line))
		if text == "" {
			continue
		}
		all = append(all, message(text))
	}
	return all
}

func message(line string) Message {
	var fields map[string]any
	if json.Unmarshal([]byte(line), &fields) != nil {
		return Message{LevelError, line}
	}
	if m, ok := ofLevel(fields); ok {
		return m
	}
	if m, ok := ofTracing(fields); ok {
		return m
	}
	return Message{LevelError, line}
}

// levels are all levels, the most important first.
func levels() []Level { return []Level{LevelError, LevelWarn, LevelInfo, LevelDebug, LevelTrace} }

// ofLevel reads {"error": "text"}.
func ofLevel(fields map[string]any) (Message, bool) {
	for _, level := range levels() {
		if text, ok := fields[string(level)].(string); ok {
			return Message{level, text}, true
		}
	}
	return Message{}, false
}

// ofTracing reads {"timestamp": ..., "level": "ERROR", "fields": {"message": "text"}, "target": ...}.
func ofTracing(fields map[string]any) (Message, bool) {
	name, _ := fields["level"].(string)
	level := Level(strings.ToLower(name))
	if !slices.Contains(levels(), level) {
		return Message{}, false
	}
	inner, _ := fields["fields"].(map[string]any)
	nested, _ := inner["message"].(string)
	plain, _ := fields["message"].(string)
	text := cmp.Or(nested, plain)
	return Message{level, text}, text != ""
}

// Texts returns the texts of messages of a level.
func Texts(all []Message, level Level) []string {
	var texts []string
	for _, m := range all {
		if m.Level == level {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// Failure describes how a command failed: its exit code as the manifest explains it, and what it wrote to stderr. The
// text of the exit code does not replace the errors.
func (m *Manifest) Failure(exit int, stderr []byte) string {
	text := fmt.Sprintf("the command exited with %d", exit)
	if meaning := m.ExitCodes[fmt.Sprint(exit)]; meaning != "" {
		text += " (" + meaning + ")"
	}
	messages := Messages(stderr)
	words := Texts(messages, LevelError)
	if len(words) == 0 {
		words = Texts(messages, LevelWarn)
	}
	const most = 3
	words = words[max(0, len(words)-most):]
	if len(words) > 0 {
		text += ": " + strings.Join(words, "; ")
	}
	return text
}
