package authorizedkeys_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/fettle-dev/fettle/internal/authorizedkeys"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

const (
	ed25519 = "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	other   = "AAAAC3NzaC1lZDI1NTE5AAAAIP/+/fz7+vn49/b19PPy8fDv7u3s6+rp6Ofm5eTj4uHg"
)

const path = "/home/ann/.ssh/authorized_keys"

func TestParse(t *testing.T) {
	tests := map[string]struct {
		line string
		want []authorizedkeys.Named
	}{
		"a key with a comment": {
			"ssh-ed25519 " + ed25519 + " ann@laptop\n",
			[]authorizedkeys.Named{{"ann@laptop", authorizedkeys.Key{Type: "ssh-ed25519", Key: ed25519, Comment: "ann@laptop"}}},
		},
		"several words, tabs and a CRLF line end": {
			" \tssh-ed25519\t" + ed25519 + " \t ann on  the train \t\r\n",
			[]authorizedkeys.Named{{"ann on  the train", authorizedkeys.Key{Type: "ssh-ed25519", Key: ed25519, Comment: "ann on  the train"}}},
		},
		"no comment and no line end": {
			"ssh-ed25519 " + ed25519,
			[]authorizedkeys.Named{{path + ":unnamed-1", authorizedkeys.Key{Type: "ssh-ed25519", Key: ed25519}}},
		},
		"a CRLF line end after the key": {
			"ssh-ed25519 " + ed25519 + "\r\n",
			[]authorizedkeys.Named{{path + ":unnamed-1", authorizedkeys.Key{Type: "ssh-ed25519", Key: ed25519}}},
		},
		"options with quoted values": {
			`no-pty,command="echo \"a, b\" c",environment="A=ssh-rsa AAAA" ssh-ed25519 ` + ed25519 + " x\n",
			[]authorizedkeys.Named{{"x", authorizedkeys.Key{
				Options: []string{"no-pty", `command="echo \"a, b\" c"`, `environment="A=ssh-rsa AAAA"`},
				Type:    "ssh-ed25519", Key: ed25519, Comment: "x",
			}}},
		},
		"an unknown type": {
			"mldsa-2030@example.org AAAAE x\n",
			[]authorizedkeys.Named{{"x", authorizedkeys.Key{Type: "mldsa-2030@example.org", Key: "AAAAE", Comment: "x"}}},
		},
		"a comment that is not UTF-8": {
			"ssh-ed25519 " + ed25519 + " a\xffb\n",
			[]authorizedkeys.Named{{"a\uFFFDb", authorizedkeys.Key{Type: "ssh-ed25519", Key: ed25519, Comment: "a\uFFFDb"}}},
		},
		"a comment line is not a key":    {"# ssh-ed25519 " + ed25519 + "\n", nil},
		"a blank line is not a key":      {" \t\r\n", nil},
		"a single word is not a key":     {"ssh-ed25519\n", nil},
		"a sentence is not a key":        {"let me in please now\n", nil},
		"an unclosed quote is not a key": {`command="ssh-ed25519 ` + ed25519 + " x\n", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := authorizedkeys.Parse([]byte(test.line))
			if diff := cmp.Diff(test.want, f.Keys(path)); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if got := string(f.Bytes()); got != test.line {
				t.Errorf("it became %q", got)
			}
		})
	}
}

func TestEditChangesOnlyTheNamedKey(t *testing.T) {
	const before = "# mine\r\n\nssh-ed25519 " + ed25519 + "\r\nssh-ed25519 " + ed25519 + " a\n garbage\nssh-ed25519 " + other + " a \nssh-ed25519 " + other
	key := authorizedkeys.Key{Options: []string{"no-pty", `from="a,b"`}, Type: "ssh-ed25519", Key: other}
	tests := map[string]struct {
		edit func(*authorizedkeys.File)
		want string
	}{
		"a new key is appended": {
			func(f *authorizedkeys.File) { f.Put(path, "new", named(key, "new")) },
			before + "\n" + `no-pty,from="a,b" ssh-ed25519 ` + other + " new\n",
		},
		"an existing key keeps its place and replaces duplicates": {
			func(f *authorizedkeys.File) { f.Put(path, "a", named(key, "a")) },
			"# mine\r\n\nssh-ed25519 " + ed25519 + "\r\n" + `no-pty,from="a,b" ssh-ed25519 ` + other + " a\n garbage\nssh-ed25519 " + other,
		},
		"all keys of the name are removed": {
			func(f *authorizedkeys.File) { f.Drop(path, "a") },
			"# mine\r\n\nssh-ed25519 " + ed25519 + "\r\n garbage\nssh-ed25519 " + other,
		},
		"a key without a comment is removed by its number": {
			func(f *authorizedkeys.File) { f.Drop(path, path+":unnamed-2") },
			"# mine\r\n\nssh-ed25519 " + ed25519 + "\r\nssh-ed25519 " + ed25519 + " a\n garbage\nssh-ed25519 " + other + " a \n",
		},
		"an unknown name changes nothing": {
			func(f *authorizedkeys.File) { f.Drop(path, path+":unnamed-3") },
			before,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := authorizedkeys.Parse([]byte(before))
			test.edit(&f)
			if diff := cmp.Diff(test.want, string(f.Bytes())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func named(k authorizedkeys.Key, name string) authorizedkeys.Key {
	k.Comment = name
	return k
}

func TestInvalidOptionsAndKeys(t *testing.T) {
	options := map[string]string{
		`no-pty`:                   "",
		`command="a \"b\" c, d"`:   "",
		`command=""`:               "",
		`command="a\\b"`:           "",
		`command=a`:                "its value is not in double quotes",
		`command="`:                "its value is not in double quotes",
		`no pty`:                   "its name may only contain letters, digits and -",
		``:                         "its name may only contain letters, digits and -",
		`a,b`:                      "its name may only contain letters, digits and -",
		`a="b",c="d"`:              `a quote inside its value is not escaped as \"`,
		`a="b" ssh-rsa AAAA x="d"`: `a quote inside its value is not escaped as \"`,
		`a="b\"`:                   `a quote inside its value is not escaped as \"`,
		"a=\"b\nc\"":               "it contains a line break",
	}
	for option, want := range options {
		if got := errorText(authorizedkeys.CheckOption(option)); got != want {
			t.Errorf("option %s: got %q, want %q", option, got, want)
		}
	}
	keys := map[[2]string]string{
		{"ssh-ed25519", ed25519}:           "",
		{"ssh-rsa", ed25519}:               `has the type "ssh-ed25519", but type is "ssh-rsa": make them equal`,
		{"ssh-ed25519", "AAAA"}:            "is truncated: use the whole second word of the public key file",
		{"ssh-ed25519", "AAAAC3Nz"}:        "is truncated: use the whole second word of the public key file",
		{"ssh-ed25519", ed25519 + " x"}:    "is not base64: use only the second word of the public key file",
		{"ssh-ed25519", ed25519 + "\nAAA"}: "is not base64: use only the second word of the public key file",
	}
	for key, want := range keys {
		if got := errorText(authorizedkeys.CheckKey(key[0], key[1])); got != want {
			t.Errorf("key %q: got %q, want %q", key, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The library of the Go project reads such files too, but drops lines that it does
// not understand. Each of its keys is a key here, and no line is lost.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"ssh-ed25519 " + ed25519 + " ann@laptop\n# x\r\n\n",
		`no-pty,command="echo \"a, b\" c" ssh-ed25519 ` + ed25519 + "\n",
		`a="b\\" ssh-ed25519 ` + ed25519 + " x y \t\nssh-ed25519 " + other,
		"\v ssh-ed25519 " + ed25519 + "\tx\xff\r\n",
	} {
		f.Add(seed, "ann@laptop")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		file := authorizedkeys.Parse([]byte(text))
		if string(file.Bytes()) != text {
			t.Fatalf("%q became %q", text, file.Bytes())
		}
		if line, _, more := strings.Cut(text, "\n"); !more && !strings.Contains(text, "\r") {
			agree(t, line, file.Keys(path))
		}
		before := len(file.Keys(path))
		file.Drop(path, name)
		if name = authorizedkeys.Canonical(name); name == "" || strings.Contains(name, "\n") {
			return
		}
		file.Drop(path, name)
		if got := len(file.Keys(path)); got > before {
			t.Fatalf("%d keys became %d", before, got)
		}
		file.Put(path, name, authorizedkeys.Key{Type: "ssh-ed25519", Key: ed25519, Comment: name})
		last := file.Keys(path)[len(file.Keys(path))-1]
		if diff := cmp.Diff(authorizedkeys.Named{Name: name, Key: authorizedkeys.Key{Type: "ssh-ed25519", Key: ed25519, Comment: name}}, last); diff != "" {
			t.Fatalf("the written key reads differently (-want +got):\n%s", diff)
		}
	})
}

// agree compares a line with the library's result.
func agree(t *testing.T, line string, got []authorizedkeys.Named) {
	t.Helper()
	key, comment, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return
	}
	if len(got) != 1 || got[0].Type != key.Type() || got[0].Comment != authorizedkeys.Canonical(comment) {
		t.Fatalf("%q is the key %s %q with %q; got %+v", line, key.Type(), comment, options, got)
	}
}

// A user controls the content of the file, but not the memory that it takes.
func TestOtherLinesTakeLittleMemory(t *testing.T) {
	text := bytes.Repeat([]byte("\n"), authorizedkeys.MaxSize/2)
	text = append(text, bytes.Repeat([]byte(","), authorizedkeys.MaxSize/2)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f := authorizedkeys.Parse(text)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4*authorizedkeys.MaxSize {
		t.Errorf("it took %d bytes", took)
	}
	if !bytes.Equal(f.Bytes(), text) {
		t.Error("the text is another")
	}
}

func TestTooLargeFileIsAnError(t *testing.T) {
	h := hosttest.New(t)
	h.Put("/keys", strings.Repeat("#", authorizedkeys.MaxSize+1))
	place, err := authorizedkeys.Accounts{}.Of("", "/keys")
	if err == nil {
		_, err = place.Read(h)
	}
	if err == nil || !strings.Contains(err.Error(), "/keys is larger than 4194304 bytes") {
		t.Errorf("got %v", err)
	}
}
