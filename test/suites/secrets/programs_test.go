package secrets_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// printModule is a Python module that prints values in the ways of Python and other languages.
const printModule = `
import base64, html, json, shlex, urllib.parse
def ways(s):
    t = s if isinstance(s, str) else json.dumps(s)
    return [t, repr(s), ascii(t), json.dumps(s), json.dumps(json.dumps(s)), shlex.quote(t), urllib.parse.quote(t), html.escape(t), t.encode().hex(),
            base64.b64encode(t.encode()).decode(), str(list(t.encode())), t[:11]]
def tell(*values):
    return "; ".join(w for v in values if v is not None for w in ways(v))
`

// leakyProgram prints desired and present secrets wherever a program can print something, each resource in its own place.
const leakyProgram = `#!/usr/bin/env python3
import json, sys
from told import tell
PRESENT = {"password": "Former-5ecret 'p\u00e9' \\ two", "pin": 2342108, "keys": [{"key": "Third-5ecret \"q\" \u20ac"}]}
def answer(request, name, **more): print(json.dumps(dict(more, answer=request, name=name)), flush=True)
for line in sys.stdin:
    r = json.loads(line)
    if r["request"] == "hello":
        print(json.dumps({"answer": "hello", "protocol": "Fettle/1"}))
    for x in r.get("resources", []):
        s, name = x["should"], x["name"]
        secrets = tell(s.get("password"), s.get("pin"), s.get("keys"), PRESENT["password"], PRESENT["pin"], PRESENT["keys"])
        state = dict(PRESENT, ensure="present", name=name, note=secrets if name == "note" else "")
        if name == "crash" and r["request"] == "get":
            print(json.dumps({"answer": "get", "name": "other", "state": state}))
            sys.exit(secrets)
        elif name == "stderr":
            print(secrets, file=sys.stderr)
            print("{" + secrets, file=sys.stderr)
            answer(r["request"], name, state=state)
        elif r["request"] == name:
            answer(name, name, error=secrets, state=state)
        elif r["request"] == "get":
            in_sync = {"note": [False, secrets]} if name == "verdict" else {}
            answer("get", name, state=state, inSync=in_sync)
        elif r["request"] == "set" and name == "errors":
            answer("set", name, errors={"note": secrets})
        elif r["request"] == "set" and name == "notes":
            answer("set", name, notes=[secrets])
        elif r["request"] == "garbage":
            print(secrets)
        else:
            answer(r["request"], name)
    if r["request"] == "list":
        print(json.dumps({"answer": "list", "name": "a", "state": dict(PRESENT, ensure="present", name="a", note=tell(*PRESENT.values()))}))
`

const leakyType = `apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: leaks}
spec:
  kind: Leak
  version: "1"
  description: It tells everything.
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
  - {name: password, description: A text., sensitive: true, schema: {type: string}}
  - {name: pin, description: A number., sensitive: true, schema: {type: integer}}
  - {name: keys, description: A tree., sensitive: true, behaviour: Parameter, schema: {type: array, items: {type: object, properties: {key: {type: string}}}}}
  - {name: note, description: A text., schema: {type: string}}
  requests: [List, Validate, Check]
  providers: [{name: python, command: [./main.py]}]
  source: {hostPath: /opt/leaks}
`

const leakyDSC = `#!/usr/bin/env python3
import json, sys
from told import tell
PRESENT = "Former-5ecret 'p\u00e9' \\ two"
s = json.loads(sys.stdin.read() or "{}")
secrets = tell(s.get("password"), s.get("pin"), PRESENT)
state = {"name": s.get("name", "a"), "password": PRESENT, "note": secrets if s.get("name") == "note" else ""}
if sys.argv[1] == "validate":
    print(json.dumps({"valid": s.get("name") != "validate", "reason": secrets}))
elif s.get("name") == sys.argv[1]:
    print(json.dumps(state))
    print(json.dumps({"error": secrets}), file=sys.stderr)
    print(secrets, file=sys.stderr)
    sys.exit(3)
else:
    print(json.dumps({"warn": secrets}), file=sys.stderr)
    print(json.dumps(state))
`

const leakyManifest = `{"$schema": "https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json", "type": "Test/Leak", "version": "1.0.0", "description": "It tells everything.",
  "get": {"executable": "/opt/leaks/dsc.py", "args": ["get"], "input": "stdin"}, "set": {"executable": "/opt/leaks/dsc.py", "args": ["set"], "input": "stdin", "return": "state"},
  "validate": {"executable": "/opt/leaks/dsc.py", "args": ["validate"], "input": "stdin"}, "export": {"executable": "/opt/leaks/dsc.py", "args": ["export"]},
  "schema": {"embedded": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["name"], "properties": {
    "name": {"type": "string"}, "password": {"type": "string", "format": "password", "writeOnly": true}, "note": {"type": "string"}}}}}
`

// The desired secrets of the programs above; the present ones are theirs.
const (
	desiredText = "Marked-5ecret \"d\u00e4\" \\ one"
	presentText = "Former-5ecret 'p\u00e9' \\ two"
	thirdText   = "Third-5ecret \"q\" \u20ac"
)

func TestProgramsThatTellSecretsAreNotQuoted(t *testing.T) {
	debian.Require(t, "python3", "jq")
	root, dir := debian.Copy(t), t.TempDir()
	for name, text := range map[string]string{"told.py": printModule, "main.py": leakyProgram, "dsc.py": leakyDSC} {
		writeFile(t, filepath.Join(root, "opt/leaks", name), text, 0o755)
	}
	writeFile(t, filepath.Join(dir, "fettle1.yaml"), leakyType, 0o644)
	writeFile(t, filepath.Join(dir, "leak.dsc.resource.json"), leakyManifest, 0o644)
	built := fettle(t, "", "type", "build", filepath.Join(dir, "leak.dsc.resource.json"))
	writeFile(t, filepath.Join(dir, "dsc.yaml"), built, 0o644)
	encoded := printedSecrets(t, root)

	for protocol, kind := range map[string]struct{ file, properties string }{
		"Fettle/1": {"fettle1.yaml", `password: DESIRED, pin: 481516, keys: [{key: DESIRED}], note: new`},
		"DSC":      {"dsc.yaml", `password: DESIRED, note: new`},
	} {
		t.Run(protocol, func(t *testing.T) {
			quoted, err := json.Marshal(desiredText)
			must(t, err)
			outputs := map[string]string{}
			for _, name := range []string{"plain", "get", "set", "errors", "notes", "verdict", "note", "crash", "stderr", "check", "validate"} {
				manifest := "{apiVersion: types.fettle.dev/v1alpha1, kind: Leak, metadata: {name: " + name + "}, spec: {nodeSelector: {}, properties: {name: " + name + ", " +
					strings.ReplaceAll(kind.properties, "DESIRED", string(quoted)) + "}}}\n"
				for _, args := range []string{"plan --debug", "apply --debug", "apply -o json", "apply --noop -o yaml"} {
					words := append(strings.Fields(args), "--root", root, "-f", filepath.Join(dir, kind.file), "-f", "-")
					outputs[name+": fettle "+args] = fettle(t, manifest, words...)
				}
				writeFile(t, filepath.Join(dir, "types", kind.file), readFile(t, filepath.Join(dir, kind.file)), 0o644)
				outputs[name+": fettle resource"] = fettle(t, "", "resource", "leak", name, "--debug", "--root", root, "--types-dir", filepath.Join(dir, "types"))
			}
			outputs["the list"] = fettle(t, "", "resource", "leak", "--debug", "--root", root, "--types-dir", filepath.Join(dir, "types"))
			must(t, os.RemoveAll(filepath.Join(dir, "types")))
			maps.Copy(outputs, filesIn(t, filepath.Join(root, "var/lib/fettle")))
			for _, name := range []string{"get", "set", "note", "validate"} {
				if what := name + ": fettle apply --debug"; !strings.Contains(outputs[what], "[redacted]; '[redacted]'; ") {
					t.Errorf("%s: the program told nothing:\n%s", what, outputs[what])
				}
			}
			for what, text := range outputs {
				for _, secret := range encoded {
					if part := leakedPart(text, secret); part != "" {
						t.Errorf("%s has %q of %q:\n%.3000s", what, part, secret, text)
						break
					}
				}
			}
		})
	}
}

// printedSecrets returns the secrets in every form in which the programs print them.
func printedSecrets(t *testing.T, root string) []string {
	t.Helper()
	values, err := json.Marshal([]string{desiredText, presentText, thirdText})
	must(t, err)
	out := debian.Chroot(t, root, "env", "PYTHONPATH=/opt/leaks", "python3", "-c",
		"import json, sys\nfrom told import ways\nprint(json.dumps([w for v in json.loads(sys.argv[1]) for w in ways(v)] + ['481516', '2342108', '4.81516e5']))", string(values))
	var all []string
	must(t, json.Unmarshal([]byte(out), &all))
	return all
}

// leakedPart returns a part of a secret that occurs in a text and is long enough to reveal the secret.
func leakedPart(text, secret string) string {
	const enough, bytes = 11, 30 // in lists of bytes, three or four characters are one
	n := min(enough, len(secret))
	if strings.HasPrefix(secret, "[") {
		n = min(bytes, len(secret))
	}
	for i := 0; i+n <= len(secret); i++ {
		if strings.Contains(text, secret[i:i+n]) {
			return secret[i : i+n]
		}
	}
	return ""
}

func writeFile(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), mode))
	must(t, os.Chmod(name, mode))
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}
