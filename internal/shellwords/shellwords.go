// Package shellwords splits command lines that no shell runs.
//
// Quotes and backslashes work as in a POSIX shell. Whatever else a shell would act on, such as a pipe, a variable or a pattern, is an
// error: the author of such a line expects a shell, and without one the command would run with other arguments, and might succeed.
package shellwords

import (
	"errors"
	"fmt"
	"strings"
)

// Split returns the words of a line. The first is not empty. An error continues a sentence that begins with the line. It quotes nothing
// of the line but single characters, the name of a variable and words of shells. shell ends it, and says how to get a shell.
func Split(line, shell string) ([]string, error) {
	s := scanner{line: line}
	for s.skipBlanks() {
		s.readWord()
	}
	if s.fault != "" {
		return nil, fmt.Errorf("%s, or %s", s.fault, shell)
	}
	if len(s.words) == 0 || s.words[0] == "" {
		return nil, errors.New("has no command: its first word is empty")
	}
	if fault := firstWord(s.words[0], s.first); fault != "" {
		return nil, fmt.Errorf("%s, or %s", fault, shell)
	}
	return s.words, nil
}

// firstWord returns why only a shell can run a line with this first word, or "". bare is the part of it before any quote.
func firstWord(word, bare string) string {
	if name, _, found := strings.Cut(bare, "="); found && isName(name) {
		return fmt.Sprintf("sets the variable %s, which only a shell does: begin it with /usr/bin/env", name)
	}
	if bare == word && isBuiltin(word) {
		return fmt.Sprintf("begins with %s, which only a shell has: begin it with a program", word)
	}
	return ""
}

// isBuiltin reports whether a shell does by itself what a word stands for. It leaves out those that hosts also have as
// programs, such as test and echo.
func isBuiltin(word string) bool {
	switch word {
	case "!", ".", ":", "[[", "{", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue", "declare", "eval", "exec",
		"exit", "export", "fg", "for", "function", "getopts", "hash", "if", "jobs", "local", "popd", "pushd", "read", "readonly",
		"return", "set", "shift", "shopt", "source", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset",
		"until", "wait", "while":
		return true
	}
	return false
}

// isName reports whether a text is the name of a variable.
func isName(text string) bool {
	for i := range len(text) {
		if !inName(text[i]) || i == 0 && isDigit(text[i]) {
			return false
		}
	}
	return text != ""
}

func inName(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
