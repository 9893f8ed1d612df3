package command

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// writeEnvironment writes the environment of a unit to a file that only root can read. The unit's
// own Environment= would not do: systemd shows it to every user.
func (r *Runner) writeEnvironment(ctx context.Context, u unit) error {
	text, err := environmentFile(u.cmd.Env)
	if err != nil {
		return err
	}
	return r.writePrivate(ctx, environmentPath(u.name), text)
}

// environmentFile renders KEY=value entries for systemd's EnvironmentFile=. An entry that systemd would
// silently drop is an error, which names only the key.
func environmentFile(env []string) (string, error) {
	var b strings.Builder
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if !isVariable(name) {
			return "", fmt.Errorf("environment variable %q: a transient unit takes letters, digits and _ in a name", name)
		}
		if !utf8.ValidString(value) || strings.ContainsFunc(value, isForbidden) {
			return "", fmt.Errorf("environment variable %s: a transient unit takes UTF-8 without control characters in a value", name)
		}
		b.WriteString(name + `="` + quoter.Replace(value) + "\"\n")
	}
	return b.String(), nil
}

// quoter escapes what is special between double quotes. It is never changed.
var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`)

func isForbidden(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n'
}

func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		digit := r >= '0' && r <= '9'
		if !letter && (!digit || i == 0) {
			return false
		}
	}
	return name != ""
}
