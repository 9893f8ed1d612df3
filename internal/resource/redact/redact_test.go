package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

func TestOutputOfCommandsIsRedacted(t *testing.T) {
	t.Parallel()

	secrets := redact.OfEnvironment([]string{"A=s3cret", "B=s3cret-token", "C=first line\nsecond", "D=yes", "E=Zoë1", "F=a\xffb\xfec", "G", "H=token-ring", "I=pre-s3cret-post"})
	for _, c := range []struct {
		truncated            bool
		stdout, stderr       string
		wantStdout, wantErrs string
	}{
		{false, "s3cret-token s3cret yes", "first line, second", "[redacted] [redacted] yes", "[redacted], [redacted]"},
		{false, "s3cr", "a s3cret-tok", "s3cr", "a [redacted]-tok"},
		{true, "a s3cr", "a s3cret-tok", "a ", "a "},
		{true, "a s3cret", "s3cret-token", "a ", "[redacted]"},
		{true, "a first line\nsec", "nothing", "a ", "nothing"},
		{true, "a Zo\xc3", "a\xffb\xfe", "a ", ""},              // in the middle of a character
		{true, "a s3cret-token", "b tok", "a [redacted]", "b "}, // the end of one secret is the beginning of another
		{true, "a pre-s3cret-p", "", "a ", ""},                  // the beginning of one has another in it
		{true, `a Zo\u00e`, "a Zo%C3", "a ", "a "},              // in the middle of an escape
		{true, "a czNjcmV0L", "a 7333637265742d74", "a ", "a "}, // the first ones of which are a secret, too
		{false, "s3cret-token-ring", "s3crets3cret", "[redacted]", "[redacted]"},
		{false, "a\xffb\xfec", "s3\xffcret", "[redacted]", "s3\xffcret"}, // nothing is dropped that would complete a secret later
	} {
		got := secrets.Output(host.Result{Stdout: []byte(c.stdout), Stderr: []byte(c.stderr), Truncated: c.truncated})
		want := host.Result{Stdout: []byte(c.wantStdout), Stderr: []byte(c.wantErrs), Truncated: c.truncated}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q, %q (-want +got):\n%s", c.stdout, c.stderr, diff)
		}
	}
}

// hard are secrets that encodings change, and plain ones.
var hard = []string{
	"Marked-5ecret", `it's "quoted" \ and \n more`, "p\u00e4ssw\u00f6rd-\u4f60\u597d-\U0001f511", "line one\nline two\ttabbed\r\nline 3\n", `C:\dir\new\u0041\x41`,
	"50%20off & <b>more</b> %41", "a+b/c=d==", "$(rm -rf) `x` ${y} #{z} !w", "bell\a\x1b[31m\x7f", "\u043f\u0430\u0440\u043e\u043b\u044c", "hunter2", "back\\", "q?q?q?q", "tr\u00fcb", "-----BEGIN KEY-----\nMIIB+/xyzzy==\n-----END KEY-----\n",
}

// encodings are ways in which programs in Go print a text. Other languages are asked themselves.
var encodings = map[string]func(string) string{
	"as it is":      func(s string) string { return s },
	"%q":            func(s string) string { return fmt.Sprintf("%q", s) },
	"%+q":           func(s string) string { return fmt.Sprintf("%+q", s) },
	"%d":            func(s string) string { return fmt.Sprintf("%d", []byte(s)) },
	"%x":            func(s string) string { return fmt.Sprintf("%x", s) },
	"% X":           func(s string) string { return fmt.Sprintf("% X", s) },
	"%#x":           func(s string) string { return fmt.Sprintf("% #x", s) },
	"hex dump":      func(s string) string { return strings.Trim(hex.EncodeToString([]byte("x"+s)), "7") },
	"JSON":          toJSON,
	"JSON in JSON":  func(s string) string { return toJSON(toJSON(s)) },
	"and once more": func(s string) string { return toJSON(toJSON(toJSON(s))) },
	"base64":        func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64url":     func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"basic":         func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+s)) },
	"glued":         func(s string) string { return "token-" + base64.RawURLEncoding.EncodeToString([]byte("x"+s+"y")) },
	"base64 twice":  func(s string) string { return toBase64(toBase64(s)) },
	"base64 of JSON": func(s string) string {
		return toBase64(`{"password":` + toJSON(s) + `}`)
	},
	"JSON of base64": func(s string) string { return toJSON(toBase64(s)) },
	"wrapped base64": func(s string) string { return wrapped(toBase64(s), "\n  ") },
	"wrapped in JSON": func(s string) string {
		return toJSON(wrapped(toBase64(s), "\r\n"))
	},
	"UTF-16 in base64": func(s string) string {
		var raw []byte
		for _, unit := range utf16.Encode([]rune(s)) {
			raw = append(raw, byte(unit), byte(unit>>8))
		}
		return base64.StdEncoding.EncodeToString(raw)
	},
	"query":               url.QueryEscape,
	"path":                url.PathEscape,
	"query twice":         func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	"query in lower case": func(s string) string { return strings.ToLower(url.QueryEscape(s)) },
	"base64 in a query":   func(s string) string { return url.QueryEscape(toBase64(s)) },
	"HTML":                html.EscapeString,
	"HTML in JSON":        func(s string) string { return toJSON(html.EscapeString(s)) },
	"upper case":          strings.ToUpper,
	"a shell":             func(s string) string { return `'` + strings.ReplaceAll(s, `'`, `'\''`) + `'` },
	"another shell":       func(s string) string { return `'` + strings.ReplaceAll(s, `'`, `'"'"'`) + `'` },
}

func toJSON(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func toBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func wrapped(s, end string) string {
	var lines []string
	for len(s) > 16 {
		lines, s = append(lines, s[:16]), s[16:]
	}
	return strings.Join(append(lines, s), end)
}

// redacted compares a redacted text with one whose secret is a mark. What is left of an encoding beside the mark tells less than a byte.
func redacted(t *testing.T, how, secret, encoded string, secrets redact.Secrets) {
	t.Helper()
	got := secrets.Text("before (" + encoded + ") after")
	before, rest, ok := strings.Cut(got, "before (")
	_, after, ends := strings.Cut(rest, ") after")
	const left = 32 // quotes, what is added to the secret, and padding
	if remains := len(got) - len("before () after"); !ok || !ends || before != "" || after != "" || strings.Count(got, redact.Mark) == 0 || remains > strings.Count(got, redact.Mark)*len(redact.Mark)+left {
		t.Errorf("%q as %s, %q, becomes %q", secret, how, encoded, got)
	}
}

func TestSecretsAreFoundInEveryEncoding(t *testing.T) {
	t.Parallel()

	for _, secret := range hard {
		for how, encode := range encodings {
			redacted(t, how, secret, encode(secret), redact.Of(secret))
			redacted(t, how+", nested", secret, encode(secret), redact.Of(map[string]any{"a": []any{"other text", map[string]any{"b": secret}}}))
		}
	}
}

func TestWhatIsLeftOfAShortenedSecretIsHidden(t *testing.T) {
	t.Parallel()

	const secret = "Marked-5ecret \"value\"\nof two lines"
	for from := range len("Marked-5") {
		const least = 8
		for to := from + least; to <= len("Marked-5ecret"); to++ {
			for _, part := range []string{secret[from:to], toBase64(secret[from:to]), fmt.Sprintf("%x", secret[from:to])} {
				if got := strings.TrimRight(redact.Of(secret).Text("bad: "+part+"..."), "=."); got != "bad: "+redact.Mark {
					t.Errorf("%q remains of %q", got, part)
				}
			}
		}
	}
	for line, want := range map[string]string{
		"line 2 is: of two lines": "line 2 is: [redacted]", "no such user: Marked": "no such user: Marked", "no value": "no [redacted]",
	} {
		if got := redact.Of(secret).Text(line); got != want {
			t.Errorf("%q becomes %q", line, got)
		}
	}
}

// What surrounds a mark tells a short secret, unless all that it could be is marked.
func TestShortSecretsAreNotToldByTheirMarks(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		secret     any
		text, want string
	}{
		{"5432", "port 5432, 5.432e3 or 5432.0 of 65535, 0x1538", "port [redacted], [redacted] or [redacted] of [redacted], [redacted]"},
		{json.Number("1"), "line 1 of 20, 1,000 and 1e3; v1.2", "line [redacted] of [redacted], [redacted] and [redacted]; v[redacted]"},
		{json.Number("1000"), "1e3, 1000.0, 1_000, MTAwMA== and 31303030", "[redacted], [redacted], [redacted], [redacted]== and [redacted]"},
		{7, "exit 7", "exit [redacted]"},
		{2.5, "0.25e1", "[redacted]"},
		{true, "enabled is True, not false", "enabled is [redacted], not [redacted]"},
		{false, `"x"=>false, 0, nobody`, `"x"=>[redacted], [redacted], nobody`},
		{"1", "line 1 of 20", "line [redacted] of [redacted]"},
		{"sa", "no such user: sa", redact.Mark},
		{"sa", `{"user":"SA"}`, redact.Mark},
		{"sa", `login:\nsa`, redact.Mark},
		{"sa", "c2E=", redact.Mark},
		{"sa", "7361", redact.Mark},
		{"sa", "no such message", "no such message"},
		{`"`, `it's "x"`, redact.Mark},
		{`""''`, "anything", redact.Mark}, // encodings change all of it
		{"ab\n", "ab", redact.Mark},
		{"", "nothing is secret", "nothing is secret"},
		{" \n", "nothing is secret", "nothing is secret"},
		{nil, "nothing is null", "nothing is null"},
		{[]any{"", map[string]any{"user": "sa", "tls": true}}, "user sa", redact.Mark},
		{map[string]any{"user": "sa", "tls": true, "port": 22}, "user root, port 22: no route", "user root, port [redacted]: [redacted] route"},
	} {
		if got := redact.Of(c.secret).Text(c.text); got != c.want {
			t.Errorf("%v: %q becomes %q, want %q", c.secret, c.text, got, c.want)
		}
	}
}

func TestValuesBesideHiddenOnesTellNone(t *testing.T) {
	t.Parallel()

	got := redact.Attributes(json.RawMessage(`{"password":"Marked-5ecret","pin":7,"url":"https://ann:Marked-5ecret@example.org","port":7,`+
		`"all":[{"key Marked-5ecret":"TWFya2VkLTVlY3JldA=="}]}`), []string{"password", "pin", "absent"})
	want := `{"all":[{"key [redacted]":"[redacted]=="}],"port":7,"url":"https://ann:[redacted]@example.org"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	tree := redact.Of(json.Number("7")).Tree(map[string]any{"port": json.Number("12"), "text": "line 3", "on": true, "none": nil})
	if diff := cmp.Diff(map[string]any{"port": redact.Mark, "text": "line [redacted]", "on": true, "none": nil}, tree); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A program that joins, wraps or prints a text character by character has a secret in parts that no search of words finds.
func TestDividedSecretsAreFound(t *testing.T) {
	t.Parallel()

	characters := func(format string) func(string) string {
		return func(s string) string {
			var out strings.Builder
			for _, r := range s {
				fmt.Fprintf(&out, format, r)
			}
			return out.String()
		}
	}
	divided := map[string]func(string) string{
		"joined": characters("%c, "), "a list": characters("'%c', "), "spaced": characters("%c "), "lines": characters("%c\n"), "separated invisibly": characters("%c\u200b"),
		"lines of 5":                  func(s string) string { return s[:5] + "\n    " + s[5:10] + "\n    " + s[10:] },
		"an expression over lines":    func(s string) string { return `"` + s[:7] + "\" +\n  \"" + s[7:] + `"` },
		"characters of numbers":       characters("%02x;"),
		"characters in columns":       characters("%02x | "),
		"quoted-printable, all of it": characters("=%02X"),
	}
	for _, secret := range []string{"Tr0ub4dor&3xKq9", "correct horse battery staple"} {
		for how, divide := range divided {
			redacted(t, how, secret, divide(secret), redact.Of(secret))
		}
	}
	for text, want := range map[string]string{"h, u, n, t, e, r, 2": redact.Mark, "the hunt of 2 others": "the hunt of 2 others"} {
		if got := redact.Of("hunter2").Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// A program that tells much more than a secret can have must not take the memory of an agent.
func TestSecretsOfManyMegabytesHideAllTexts(t *testing.T) {
	t.Parallel()

	var long strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&long, "%d;", i*i)
	}
	secrets := redact.Of(long.String(), "Marked-5ecret")
	if got := secrets.Text("no such user"); got != redact.Mark {
		t.Errorf("the text becomes %q", got)
	}
	tree := secrets.Value(map[string]any{"a": "x " + long.String(), "b": "Marked-5ecret", "c": "no such user"})
	if diff := cmp.Diff(map[string]any{"a": "x " + redact.Mark, "b": redact.Mark, "c": "no such user"}, tree); diff != "" {
		t.Errorf("(-want +got):\n%.400s", diff)
	}
}

func TestLongTextsAreSearched(t *testing.T) {
	t.Parallel()

	const secret = "Marked-5ecret \u00fc"
	filler := strings.Repeat("All work and no play makes a dull text. ", 5000)
	for _, encode := range encodings {
		got := redact.Of(secret).Text(filler + " (" + encode(secret) + ") " + filler)
		if !strings.HasPrefix(got, filler) || !strings.HasSuffix(got, filler) || strings.Count(got, redact.Mark) == 0 {
			t.Errorf("%q becomes %q", encode(secret), strings.ReplaceAll(got, filler, "..."))
		}
	}
}

// FuzzText checks that no secret remains as it is, and that decoding has no fault.
func FuzzText(f *testing.F) {
	for _, secret := range hard {
		for _, encode := range encodings {
			f.Add(secret, encode(secret))
		}
	}
	f.Add("abcd", `\u{d83d}\x{}\U0011ffff%2525&#1114112;\ud83d\\\`)
	f.Fuzz(func(t *testing.T, secret, text string) {
		secrets := redact.Of(secret)
		got := secrets.Text(text + secret + text)
		if len(strings.TrimSpace(secret)) >= 4 && strings.Contains(strings.ReplaceAll(got, redact.Mark, "\x01"), secret) {
			t.Errorf("%q remains in %q", secret, got)
		}
		_ = secrets.Output(host.Result{Stdout: []byte(text), Truncated: true})
		_ = redact.OfEnvironment([]string{"A=" + secret}).And(secrets).Text(text)
	})
}

func BenchmarkText(b *testing.B) {
	secrets := redact.Of("Marked-5ecret", "line one\nline two\ttabbed\r\nline 3\n")
	text := strings.Repeat("2026-11-23T22:18:27Z main.go:17: cannot reach https://example.org/a%20b: \"no route\"\n", 1<<20/83)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		secrets.Text(text)
	}
}
