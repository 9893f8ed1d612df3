package secrets_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// difficultSecrets are secrets that each language prints in another way.
var difficultSecrets = []string{
	"Marked-5ecret", `it's "quoted" \ and \n more`, "p\u00e4ssw\u00f6rd-\u4f60\u597d-\U0001f511", "line one\nline two\ttabbed\r\nline 3\n", `C:\dir\new\u0041\x41`,
	"50%20off & <b>more</b> %41", "a+b/c=d==", "$(rm -rf) `x` ${y} #{z} !w", "bell\a\x1b[31m\x7f", "\u043f\u0430\u0440\u043e\u043b\u044c", "hunter2", `back\`, "q?q?q?q",
	"-----BEGIN KEY-----\nMIIB+/xyzzy==\n-----END KEY-----\n",
}

// printers are programs that print each argument in the ways of their languages, each as a JSON string in a line.
var printers = map[string][]string{
	"python3": {"-c", `
import sys, json, base64, html, pprint, shlex, urllib.parse, xml.sax.saxutils as sax
for s in sys.argv[1:]:
    for e in [repr(s), ascii(s), repr([s]), repr(s.encode()), json.dumps(s), json.dumps({"p": s}, ensure_ascii=False), json.dumps(json.dumps(s)), repr(json.dumps(s)),
              shlex.quote(s), urllib.parse.quote(s), urllib.parse.quote_plus(s), html.escape(s), sax.escape(s), sax.quoteattr(s), s.encode().hex(), s.encode().hex(":"),
              str(base64.b64encode(s.encode())), str(base64.encodebytes(s.encode())), s.encode("unicode_escape").decode(), str(list(s.encode())),
              s.encode("ascii", "backslashreplace").decode(), s.encode("ascii", "xmlcharrefreplace").decode(), s.encode().decode("latin-1"), repr(KeyError(s)),
              str(ValueError("bad: %r" % s)), pprint.pformat([s], width=20)]:
        print(json.dumps([s, e]))
`},
	"ruby": {"-rjson", "-ruri", "-rcgi", "-rbase64", "-rshellwords", "-ryaml", "-e", `
ARGV.each do |a|
  s = a.dup.force_encoding("UTF-8")
  [s.inspect, [s].inspect, s.dump, s.to_json, {p: s}.to_json, s.b.inspect, Shellwords.escape(s), URI.encode_www_form_component(s), CGI.escapeHTML(s), Base64.encode64(s),
   Base64.strict_encode64(s), s.unpack1("H*"), s.to_yaml, s.bytes.inspect].each { |e| puts [s, e.dup.force_encoding("UTF-8")].to_json }
end
`},
	"bash": {"-c", `
p() { jq -Rsc --arg s "$s" '[$s, .]'; }
for s; do
  printf '%q' "$s" | p; printf '%s' "${s@Q}" | p; printf '%s' "$s" | base64 | p; printf '%s' "$s" | od -An -tx1 | p; printf '%s' "$s" | od -An -to1 | p
  jq -nc --arg s "$s" '$s | [., (tojson, @uri, @sh, @html, @base64, @json, ([.] | @csv, @tsv))] | .[0] as $s | .[1:][] | [$s, .]'
done
`, "bash"},
	"perl": {"-MJSON::PP", "-MData::Dumper", "-e", `
my $j = JSON::PP->new->ascii;
$Data::Dumper::Terse = 1;
for my $s (@ARGV) {
  my $u = $s; utf8::decode($u);
  my @all = (Dumper($s), do { local $Data::Dumper::Useqq = 1; (Dumper($u), Dumper($s)) }, unpack("H*", $s), quotemeta($s));
  print $j->encode([$u, $_]), "\n" for @all;
}
`, "--"},
}

// Real languages print the secrets: an expectation of our own would only repeat what the search assumes.
func TestSecretsAreFoundAsLanguagesPrintThem(t *testing.T) {
	root := debian.Root(t, debian.Layer{Install: []string{"python3", "ruby", "perl", "jq"}})
	for program, args := range printers {
		lines := 0
		for line := range strings.Lines(debian.Chroot(t, root, append(append([]string{"env", "LANG=C.UTF-8", program}, args...), difficultSecrets...)...)) {
			var pair [2]string
			if err := json.Unmarshal([]byte(line), &pair); err != nil {
				t.Fatalf("%s: %q: %v", program, line, err)
			}
			lines++
			secret, printed := pair[0], pair[1]
			const around = 24 // quotes, names and padding
			got := redact.Of(secret).Text("before (" + printed + ") after")
			left := len(strings.ReplaceAll(got, redact.Mark, "")) - len("before () after")
			if !strings.HasPrefix(got, "before (") || !strings.HasSuffix(got, ") after") || !strings.Contains(got, redact.Mark) || left > around {
				t.Errorf("%s: %q, printed as %q, becomes %q", program, secret, printed, got)
			}
		}
		if lines < len(difficultSecrets) {
			t.Errorf("%s printed %d lines", program, lines)
		}
	}
}
