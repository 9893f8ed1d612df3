// Package hostile makes texts that a local user could put into a name, a file or the output
// of a command to deceive whoever reads a terminal, a log or JSON.
package hostile

import (
	"math/rand/v2"
	"strings"
)

// Parts are what such texts are made of.
var parts = []string{
	"\x1b[31m", "\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x1b\\", "\x1bP1$r\x1b\\", "\u009b2K", "\u0085", "\x7f", "\b\b\b", "\x00",
	"\n", "\r", "\r\n", "\t", "\v\f", "\u2028", "\u2029",
	"\nFile/motd: created", "\n1 resource: 1 in sync", "\r\x1b[KUser/root: created", "\n{\"level\":\"INFO\"}", "\n---\n", "\n- injected: true\n",
	"\u202e", "\u2066\u2067\u2069", "\u200b", "\u200d", "\ufeff", "\u00ad", "\U000e0041", "\ue000",
	"\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80\x81", "\xe2\x80", `\xff`, `\x5c`, `\x`, `\`, `\u202e`, "\ufffd",
	"a", "b c", "/etc/passwd", "Zoë", "日本", "%s%n", "{{", "\"", "'", "<&>", ": ", "#", "|", "&a", "*a", "!!python", "no", "~", "0x1f", "1e3", " ", "",
}

// String is a text of up to six parts.
func String(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

// Name is a text that can be the name of a file: without a slash and NUL, and not empty.
func Name(r *rand.Rand) string {
	name := strings.NewReplacer("/", "_", "\x00", "_").Replace(String(r))
	return name[:min(len(name), 200)] + "x"
}
