package seal_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/seal"
)

func newKey(t testing.TB) *seal.PrivateKey {
	t.Helper()
	key, err := seal.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sealed(t testing.TB, to *seal.PrivateKey, purpose seal.Purpose, value string) []byte {
	t.Helper()
	closed, err := seal.Seal(to.PublicKey(), purpose, []byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return closed
}

func purpose() seal.Purpose {
	return seal.Purpose{Node: "web-1", Ref: "File/token", Attribute: "content"}
}

func TestASealedValueOpensForItsPurpose(t *testing.T) {
	t.Parallel()

	key := newKey(t)
	for name, value := range map[string]string{"nothing": "", "a word": "hunter2", "bytes": "\x00\xff\n", "a megabyte": strings.Repeat("x", 1<<20)} {
		got, err := key.Open(purpose(), sealed(t, key, purpose(), value))
		if err != nil || string(got) != value {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
	}
	if bytes.Equal(sealed(t, key, purpose(), "hunter2"), sealed(t, key, purpose(), "hunter2")) {
		t.Error("two sealed forms of one value are equal, which shows that the values are equal")
	}
}

func TestASealedValueOpensForNoOtherPurposeOrKey(t *testing.T) {
	t.Parallel()

	key := newKey(t)
	closed := sealed(t, key, purpose(), "hunter2")
	changed := func(at int) []byte {
		c := bytes.Clone(closed)
		c[at] ^= 1
		return c
	}
	other := func(change func(*seal.Purpose)) seal.Purpose {
		p := purpose()
		change(&p)
		return p
	}
	const closedError = "it was sealed to another key or for another purpose, or it was changed"
	for name, tt := range map[string]struct {
		key     *seal.PrivateKey
		purpose seal.Purpose
		sealed  []byte
		want    string
	}{
		"for another node":                        {key, other(func(p *seal.Purpose) { p.Node = "web-2" }), closed, closedError},
		"for another resource":                    {key, other(func(p *seal.Purpose) { p.Ref = "File/other" }), closed, closedError},
		"for another attribute":                   {key, other(func(p *seal.Purpose) { p.Attribute = "target" }), closed, closedError},
		"with parts whose concatenation is equal": {key, seal.Purpose{Node: "web-1File", Ref: "/token", Attribute: "content"}, closed, closedError},
		"with another key":                        {newKey(t), purpose(), closed, closedError},
		"with a bit of the key flipped":           {key, purpose(), changed(0), closedError},
		"with a bit of the curve flipped":         {key, purpose(), changed(1100), closedError},
		"with a bit of the value flipped":         {key, purpose(), changed(len(closed) - 17), closedError},
		"with a bit of the tag flipped":           {key, purpose(), changed(len(closed) - 1), closedError},
		"with a truncated tag":                    {key, purpose(), closed[:len(closed)-1], closedError},
		"with trailing bytes":                     {key, purpose(), append(bytes.Clone(closed), 0), closedError},
		"with only the overhead":                  {key, purpose(), closed[:1135], "it has 1135 bytes, and the shortest sealed value has 1136"},
		"with no bytes":                           {key, purpose(), nil, "it has 0 bytes, and the shortest sealed value has 1136"},
	} {
		got, err := tt.key.Open(tt.purpose, tt.sealed)
		if err == nil {
			t.Errorf("%s: it opens", name)
			continue
		}
		if got != nil || !strings.HasSuffix(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.purpose.String()) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error contains the value: %v", name, err)
		}
	}
}

func TestKeysRoundTrip(t *testing.T) {
	t.Parallel()

	key := newKey(t)
	private, err := seal.ParsePrivateKey(key.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(key.Bytes()) != 32 || !bytes.Equal(private.Bytes(), key.Bytes()) {
		t.Error("a private key of 32 bytes is not the same when it was read again")
	}
	if value, err := private.Open(purpose(), sealed(t, key, purpose(), "hunter2")); err != nil || string(value) != "hunter2" {
		t.Errorf("a key that was read again opens %q, %v", value, err)
	}
	public, err := seal.ParsePublicKey(key.PublicKey().String())
	if err != nil {
		t.Fatal(err)
	}
	if public.String() != key.PublicKey().String() || public.Fingerprint() != key.PublicKey().Fingerprint() || public.IsZero() {
		t.Error("a public key is not the same when it was read again")
	}
	if newKey(t).PublicKey().Fingerprint() == public.Fingerprint() {
		t.Error("two keys have one fingerprint")
	}
}

// Nodes have seeds on disk, so their format must not change unnoticed.
func TestASeedAlwaysGivesTheSameKey(t *testing.T) {
	t.Parallel()

	key, err := seal.ParsePrivateKey([]byte("01234567890123456789012345678901"))
	if err != nil {
		t.Fatal(err)
	}
	if got := key.PublicKey().Fingerprint(); got != "sha256-6c3fe0bc6efe14f0ae6e5b3557785b167ed658d17acb0db9007ff562d0ccbbb3" {
		t.Errorf("the fingerprint is %s", got)
	}
}

func TestTheZeroPublicKeyIsZero(t *testing.T) {
	t.Parallel()

	var none seal.PublicKey
	if diff := cmp.Diff([]any{"", "", true}, []any{none.String(), none.Fingerprint(), none.IsZero()}); diff != "" {
		t.Error(diff)
	}
	if _, err := seal.Seal(none, purpose(), []byte("hunter2")); err == nil || err.Error() != "cannot seal content of File/token on node web-1: there is no public key" {
		t.Errorf("got %v", err)
	}
}

func TestInvalidKeysAreRejected(t *testing.T) {
	t.Parallel()

	text := newKey(t).PublicKey().String()
	encoded := strings.TrimPrefix(text, "mlkem768-x25519:")
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":                            {"", "has an unknown algorithm: it must begin with mlkem768-x25519:"},
		"another algorithm":                  {"rsa:" + encoded, "has an unknown algorithm: it must begin with mlkem768-x25519:"},
		"not base64":                         {"mlkem768-x25519:???", "is not base64"},
		"a line break":                       {"mlkem768-x25519:" + encoded[:100] + "\n" + encoded[100:], "is not base64"},
		"another encoding of the final bits": {"mlkem768-x25519:QQ==" + "\n", "is not base64"},
		"a short key":                        {"mlkem768-x25519:QUFB", "is invalid: invalid public key size"},
		"numbers that are out of range":      {"mlkem768-x25519:" + strings.Repeat("/", len(encoded)-4) + encoded[len(encoded)-4:], "is invalid: mlkem: invalid polynomial encoding"},
	} {
		key, err := seal.ParsePublicKey(tt.text)
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) || !key.IsZero() {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := seal.ParsePrivateKey([]byte("short")); err == nil || !strings.HasPrefix(err.Error(), "cannot read a private key of 5 bytes: ") || strings.Contains(err.Error(), "short") {
		t.Errorf("got %v", err)
	}
}

func TestAnErrorQuotesAtMost40BytesOfAKey(t *testing.T) {
	t.Parallel()

	const forty = "a text that is neither a key nor an hour"
	for text, quoted := range map[string]string{forty: forty, forty + "!": forty[:37] + "..."} {
		_, err := seal.ParsePublicKey(text)
		want := fmt.Sprintf("public key %q has an unknown algorithm: it must begin with mlkem768-x25519:", quoted)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// With a point of low order as its key, everyone could open values sealed to a node.
func TestSealRejectsAKeyWithAKnownSecret(t *testing.T) {
	t.Parallel()

	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(newKey(t).PublicKey().String(), "mlkem768-x25519:"))
	if err != nil {
		t.Fatal(err)
	}
	clear(raw[1184:]) // the point of X25519
	weak, err := seal.ParsePublicKey("mlkem768-x25519:" + base64.StdEncoding.EncodeToString(raw))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Seal(weak, purpose(), []byte("hunter2")); err == nil {
		t.Error("it was sealed to a point of low order")
	}
}

func TestAPrivateKeyFormatsAsAMark(t *testing.T) {
	t.Parallel()

	key := newKey(t)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("a key", "key", key)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("a key", "key", key)
	want := "[private key of " + key.PublicKey().Fingerprint() + "]"
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
		if got := fmt.Sprintf(verb, key); got != want {
			t.Errorf("%s: got %s", verb, got)
		}
	}
	if text := log.String(); !strings.Contains(text, want) || strings.Contains(text, fmt.Sprintf("%x", key.Bytes())) || strings.Contains(text, string(key.Bytes())) {
		t.Errorf("the log has %s", text)
	}
}

func FuzzParsePublicKey(f *testing.F) {
	f.Add("")
	f.Add("mlkem768-x25519:")
	f.Add("mlkem768-x25519:QQ==")
	f.Add(newKey(f).PublicKey().String())
	f.Fuzz(func(t *testing.T, text string) {
		key, err := seal.ParsePublicKey(text)
		if err != nil {
			if !key.IsZero() {
				t.Error("got a key and an error")
			}
			return
		}
		if key.String() != text {
			t.Errorf("%q reads as %q: a key has more than one name", text, key)
		}
	})
}

func FuzzOpen(f *testing.F) {
	key := newKey(f)
	closed := sealed(f, key, purpose(), "hunter2")
	f.Add([]byte(nil))
	f.Add(closed[:len(closed)-1])
	f.Add(bytes.Repeat([]byte{0}, 1136))
	f.Fuzz(func(t *testing.T, text []byte) {
		value, err := key.Open(purpose(), text)
		if err == nil || value != nil {
			t.Errorf("%x opens, although it was never sealed", text)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	to := newKey(b).PublicKey()
	value := bytes.Repeat([]byte("x"), 1024)
	for b.Loop() {
		if _, err := seal.Seal(to, purpose(), value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	key := newKey(b)
	closed := sealed(b, key, purpose(), strings.Repeat("x", 1024))
	for b.Loop() {
		if _, err := key.Open(purpose(), closed); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParsePublicKey(b *testing.B) {
	text := newKey(b).PublicKey().String()
	for b.Loop() {
		if _, err := seal.ParsePublicKey(text); err != nil {
			b.Fatal(err)
		}
	}
}
