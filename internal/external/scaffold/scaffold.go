// Package scaffold writes the beginning of an external type.
package scaffold

import (
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed templates/*
var templates embed.FS

// TypeFile is the name of the file with the type in its directory.
const TypeFile = "type.yaml"

// A language is what a program is written in.
type language struct {
	// files maps the files beside type.yaml to the templates that they are made of.
	files map[string]string
	// program is the file that Fettle starts, needs are the program's requirements, and source is where its files are.
	program, needs, source string
}

// inline is the source of a program whose files are part of the type.
const inline = "# An empty value is read from the file of this name beside this one; fettle.py comes with fettle.\n  source: {files: {%s}}"

func languages() map[string]language {
	return map[string]language{
		"python": {
			files: map[string]string{"main.py": "main.py"}, program: "main.py",
			needs: "{commands: [python3], remedy: install the package python3}", source: fmt.Sprintf(inline, `main.py: "", fettle.py: ""`),
		},
		"sh": {
			files: map[string]string{"main.sh": "main.sh"}, program: "main.sh",
			needs: "{commands: [jq], remedy: install the package jq}", source: fmt.Sprintf(inline, `main.sh: ""`),
		},
		"go": {
			files: map[string]string{"main.go": "main.go.tmpl", "go.mod": "go.mod.tmpl"}, program: "LOWER",
			needs: "{files: [/opt/fettle/PLURAL/LOWER], remedy: install the program LOWER in /opt/fettle/PLURAL}",
			source: "# A compiled program is too large for an object of Kubernetes: install it on each node. Build it here with\n" +
				"  # go get github.com/fettle-dev/fettle/sdk/go && CGO_ENABLED=0 go build -o /opt/fettle/PLURAL/LOWER .\n" +
				"  source: {hostPath: /opt/fettle/PLURAL}",
		},
	}
}

// Languages returns the languages of programs.
func Languages() []string { return slices.Sorted(maps.Keys(languages())) }

// kindName matches the name of a kind. It is never changed.
var kindName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`) })

// Files returns the files of a new type by name: its definition and a program that manages files. kind is the name of the
// kind, such as DNSZone, and name names a language.
func Files(kind, name string) (map[string]string, error) {
	if !kindName().MatchString(kind) {
		return nil, kindError(kind)
	}
	l, known := languages()[name]
	if !known {
		return nil, fmt.Errorf("unknown language %q: use one of %s", name, strings.Join(Languages(), ", "))
	}
	words := strings.NewReplacer("PLURAL", plural(kind), "LOWER", strings.ToLower(kind), "KIND", kind)
	l.program = words.Replace(l.program)
	more := strings.NewReplacer("PROGRAM", l.program, "NEEDS", words.Replace(l.needs), "SOURCE", words.Replace(l.source))
	all := map[string]string{}
	l.files[TypeFile] = TypeFile
	for file, from := range l.files {
		text, err := templates.ReadFile("templates/" + from)
		if err != nil {
			return nil, err
		}
		all[file] = words.Replace(more.Replace(string(text)))
	}
	return all, nil
}

func kindError(kind string) error {
	return fmt.Errorf("kind %q is not a name such as DNSZone: use letters and digits, and begin with a capital letter", kind)
}

// plural returns the name of the ExternalType of a kind.
func plural(kind string) string { return strings.ToLower(kind) + "s" }
