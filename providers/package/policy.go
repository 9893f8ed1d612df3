package pkg

import "strings"

// An offer is what apt's index has of a package. The zero value is nothing.
type offer struct {
	candidate string   // what apt would install now; "" for nothing
	versions  []string // all that can be had, or are there
	providers []string // of what is no package, but provided by others
	source    string   // the file that it is, in place of the index
}

// parsePolicy reads the output of apt-cache policy: offers by name. It takes names as
// expressions too, so there may be more than was asked for.
func parsePolicy(out string) map[string]offer {
	offers := map[string]offer{}
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
		case line[0] != ' ':
			name = strings.TrimSuffix(line, ":")
			offers[name] = offer{}
		default:
			offers[name] = offers[name].with(line)
		}
	}
	delete(offers, "")
	return offers
}

// with adds what an indented line says.
func (o offer) with(line string) offer {
	if candidate, ok := strings.CutPrefix(line, "  Candidate: "); ok && candidate != "(none)" {
		o.candidate = candidate
	}
	if version, ok := versionLine(line); ok {
		o.versions = append(o.versions, version)
	}
	return o
}

// versionLine reads a line of the version table that begins a version; further ones
// below it say where the version is from.
func versionLine(line string) (string, bool) {
	const mark = len(" *** ")
	if len(line) <= mark || line[mark] == ' ' || line[:mark] != " *** " && line[:mark] != "     " {
		return "", false
	}
	version, _, _ := strings.Cut(line[mark:], " ")
	return version, true
}
