package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// recordType is a type with two Namevars, whose program keeps records in a file and tells which attributes it was asked with.
const recordType = `apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: zonerecords}
spec:
  kind: ZoneRecord
  version: "1"
  description: A record.
  attributes:
  - {name: zone, description: Its zone., behaviour: Namevar, schema: {type: string, pattern: "^[a-z.]+$"}}
  - {name: label, description: Its name., behaviour: Namevar, schema: {type: string, pattern: "^[a-z]+$"}}
  - {name: server, description: Its server., behaviour: Parameter, required: true, default: "'ns.' + self.zone", schema: {type: string}}
  - {name: token, description: Its token., behaviour: Parameter, sensitive: true, schema: {type: string}}
  - {name: target, description: Its target., required: true, schema: {type: string}}
  - {name: ttl, description: Its lifetime., default: "300", schema: {type: integer, minimum: 5}}
  - {name: asked, description: What was asked., behaviour: ReadOnly, schema: {type: string}}
  - {name: url, description: Its address., schema: {type: string}}
  providers: [{name: file, command: [./main.py]}]
  source: {hostPath: /opt/records}
`

const recordProgram = `#!/usr/bin/env python3
import json, sys
FILE = "/var/lib/records.json"
def records():
    try:
        with open(FILE) as f: return json.load(f)
    except FileNotFoundError: return {}
for line in sys.stdin:
    r = json.loads(line)
    if r["request"] == "hello": print(json.dumps({"answer": "hello", "protocol": "Fettle/1"}))
    for x in r.get("resources", []):
        s, name = x["should"], x["name"]
        key = s["zone"] + " " + s["label"]
        answer = {"answer": r["request"], "name": name}
        if r["request"] == "get":
            state = records().get(key)
            if state is not None:
                state = dict(state, ensure="present", zone=s["zone"], label=s["label"], asked=" ".join(sorted(s)) + " of " + s["server"])
            answer["state"] = state
        else:
            all = records()
            all[key] = {k: v for k, v in s.items() if k not in ("ensure", "asked")}
            all[key]["url"] = "https://ann:%s@%s" % (s.get("token", ""), s["server"])
            with open(FILE, "w") as f: json.dump(all, f)
        print(json.dumps(answer))
`

func TestResourcesOfExternalTypesAreBoundAsManifests(t *testing.T) {
	debian.Require(t, "python3")
	root, types := debian.Copy(t), t.TempDir()
	put(t, types+"/types.yaml", recordType)
	if err := os.MkdirAll(filepath.Join(root, "opt/records"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, root+"/opt/records/main.py", recordProgram)
	if err := os.Chmod(root+"/opt/records/main.py", 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(words ...string) outcome {
		return fettle(t, "", append([]string{"resource", "zonerecord", "--root", root, "--types-dir", types}, words...)...)
	}
	for _, c := range []struct {
		words, err string // what is said
	}{
		{"www", "label is missing: a ZoneRecord is identified by zone and label; add label=VALUE, or write the name as ZONE/LABEL"},
		{"www target=x", "label is missing"},
		{"../../../etc/os-release", "label: Invalid value"}, // the zone .. has no other name
		{"example.org/../../etc/os-release", "label: Invalid value"},
		{"example.org/WWW", "label: Invalid value"},
		{"example.org/../../etc/os-release target=x", "label: Invalid value"},
		{"WWW zone=example.org", "label: Invalid value"},
		{"www zone=example.org label=mail", `the name "www" is another one than that of the attributes, "example.org/mail"`},
		{"www zone=example.org ttl=300", "properties.target is missing: ZoneRecord requires it"},
		{"www zone=example.org target=x ttl=1", "ttl: Invalid value: 1"},
		{"www zone=example.org target=x weight=1", `has no attribute "weight"`},
	} {
		got := run(strings.Fields(c.words)...)
		if got.code != 1 || !strings.Contains(got.err, c.err) || got.out != "" {
			t.Errorf("%s: exit %d\n%s%s", c.words, got.code, got.out, got.err)
		}
	}
	if _, err := os.Stat(root + "/var/lib/records.json"); err == nil {
		t.Error("an invalid resource reached the program")
	}

	absent := run("www", "zone=example.org")
	if absent.code != 0 || !strings.Contains(absent.out, "ensure: absent") {
		t.Errorf("exit %d\n%s%s", absent.code, absent.out, absent.err)
	}
	created := run("www", "zone=example.org", "token=Marked-5ecret", "target=x")
	if created.code != 0 || created.err != "ZoneRecord/www: created\n" {
		t.Errorf("exit %d\n%s%s", created.code, created.out, created.err)
	}
	for _, words := range []string{"www zone=example.org", "example.org/www"} {
		shown := run(strings.Fields(words)...)
		for _, want := range []string{"ensure: present", "label: www", "zone: example.org", "server: ns.example.org", "ttl: 300", "target: x", "url: https://ann:[redacted]@ns.example.org"} {
			if !strings.Contains(shown.out, want) {
				t.Errorf("%s: %s is missing\n%s%s", words, want, shown.out, shown.err)
			}
		}
		again := fettle(t, shown.out, "apply", "-f", "-", "--root", root, "--types-dir", types, "--noop")
		if again.code != 0 {
			t.Errorf("the output cannot be applied: %s%s", again.out, again.err)
		}
	}
	for name, got := range map[string]outcome{"created": created, "json": run("example.org/www", "--output=json"), "debug": run("example.org/www", "token=Marked-5ecret", "--debug")} {
		if got.code != 0 || strings.Contains(got.out+got.err, "5ecret") {
			t.Errorf("%s: exit %d\n%s%s", name, got.code, got.out, got.err)
		}
	}
}
