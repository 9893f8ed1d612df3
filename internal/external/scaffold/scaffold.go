// Package scaffold writes the beginning of an external type.
package scaffold

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed templates/*
var templates embed.FS

// TypeFile is the name of the file with the type in its directory.
const TypeFile = "type.yaml"

// Languages returns the languages of programs.
func Languages() []string { return []string{"python", "sh"} }

// kindName matches the name of a kind. It is never changed.
var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)

// Files returns the files of a new type by name: its definition and a program that manages files. kind is the name of the
// kind, such as DNSZone.
func Files(kind, language string) (map[string]string, error) {
	if !kindName.MatchString(kind) {
		return nil, fmt.Errorf("kind %q is not a name such as DNSZone: use letters and digits, and begin with a capital letter", kind)
	}
	if !slices.Contains(Languages(), language) {
		return nil, fmt.Errorf("unknown language %q: use one of %s", language, strings.Join(Languages(), ", "))
	}
	program, interpreter, files := "main.py", "python3", `main.py: "", fettle.py: ""`
	if language == "sh" {
		program, interpreter, files = "main.sh", "jq", `main.sh: ""`
	}
	words := strings.NewReplacer("PLURAL", strings.ToLower(kind)+"s", "KIND", kind, "PROGRAM", program, "INTERPRETER", interpreter, "FILES", files)
	all := map[string]string{}
	for _, name := range []string{TypeFile, program} {
		text, err := templates.ReadFile("templates/" + name)
		if err != nil {
			return nil, err
		}
		all[name] = words.Replace(string(text))
	}
	return all, nil
}
