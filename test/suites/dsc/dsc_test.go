package dsc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestResourceThatReadsStdin(t *testing.T) {
	f := newFixture(t)
	types := f.build(t, fixtures+"entry/entry.dsc.resource.json")
	equal(t, []string{
		"Entry/a: output: warning: the entry changed", "Entry/a: output: restart required: the service entryd", "Entry/a: created",
	}, f.apply(t, types, `Entry/a {properties: {size: 3, tags: [b, a, a], owner: Ann, colour: Red, since: "2026-01-01T00:00:00Z"}}`))
	equal(t, []string(nil), f.apply(t, types, `Entry/a {properties: {size: 3, tags: [a, b, a], owner: ANN, colour: Red, since: "2026-01-01T01:00:00+01:00"}}`))
	equal(t, []string{
		`Entry/a: size changed 3 to 4`, `Entry/a: output: warning: the entry changed`, `Entry/a: output: restart required: the service entryd`,
		`Entry/a: tags changed ["b","a","a"] to ["a","b"]`,
	}, f.apply(t, types, `Entry/a {properties: {size: 4, tags: [a, b]}}`))
	equal(t, []string{"Entry/a: cannot be applied: the resource says that its desired state is invalid: nobody cannot own an entry"},
		f.plan(t, types, `Entry/a {properties: {owner: nobody}}`))
	equal(t, []string{"Entry/a: change of owner from Ann to nobody failed: the resource says that its desired state is invalid: nobody cannot own an entry"},
		f.apply(t, types, `Entry/a {properties: {owner: nobody}}`))
	equal(t, []string{"Entry/a: change of owner from Ann to locked failed: set: the command exited with 3 (The entry is locked): cannot write a with None"},
		f.apply(t, types, `Entry/a {properties: {owner: locked}}`))
	equal(t, []string{"Entry/a: removed"}, f.apply(t, types, `Entry/a {ensure: absent}`))
	equal(t, []string(nil), f.apply(t, types, `Entry/a {ensure: absent}`))
}

func TestResourceThatReadsArguments(t *testing.T) {
	f := newFixture(t)
	types := f.build(t, fixtures+"package/package.dsc.resource.yaml")
	equal(t, []string{"TestPackage/vim: created"}, f.apply(t, types, `TestPackage/vim {properties: {version: "1.0"}}`))
	equal(t, []string{"TestPackage/vim: version changed 1.0 to 1.1"}, f.apply(t, types, `TestPackage/vim {properties: {version: "1.1"}}`))
	equal(t, []string{"TestPackage/vim: change of version from 1.1 to broken failed: set: the command exited with 4: the archive is broken"},
		f.apply(t, types, `TestPackage/vim {properties: {version: broken}}`))
	equal(t, []string{"TestPackage/vim: removed"}, f.apply(t, types, `TestPackage/vim {ensure: absent}`))
	equal(t, []string(nil), f.apply(t, types, `TestPackage/vim {ensure: absent}`))
}

func TestResourceThatReadsItsEnvironment(t *testing.T) {
	f := newFixture(t)
	types := f.build(t, fixtures+"motd/motd.dsc.resource.json")
	motd := `Motd/a {properties: {text: hello, width: 80, words: [a, b], purge: true}}`
	equal(t, []string{"Motd/a: text defined as hello", "Motd/a: width changed 1 to 80", `Motd/a: words changed [] to ["a","b"]`}, f.apply(t, types, motd))
	equal(t, []string(nil), f.apply(t, types, motd))
	equal(t, []string{"Motd/a: change of text from hello to refused failed: set: the command exited with 5: the text is refused"}, f.apply(t, types, `Motd/a {properties: {text: refused}}`))
	equal(t, []string{`Motd/a: provider dsc lacks the feature removable, which ensure "absent" needs; leave the attribute out or choose another provider`},
		f.apply(t, types, `Motd/a {ensure: absent}`))
	equal(t, []string{
		`Motd/a: singleton "singleton" is also claimed by Motd/b on the same node: keep one, or let their nodeSelector or when exclude each other`,
		`Motd/b: singleton "singleton" is also claimed by Motd/a on the same node: keep one, or let their nodeSelector or when exclude each other`,
	}, f.apply(t, types, motd, `Motd/b {properties: {text: other}}`))
}

func TestResourcesOfAnAdapter(t *testing.T) {
	f := newFixture(t)
	types := f.build(t, f.installAdapter(t))
	on := `Switch/a {properties: {state: "on", labels: []}}`
	equal(t, []string{"Switch/a: created"}, f.apply(t, types, on))
	equal(t, []string(nil), f.apply(t, types, on))
	equal(t, []string{`Switch/a: state changed on to off`}, f.apply(t, types, `Switch/a {properties: {state: "off"}}`))
	equal(t, []string{"Switch/a: removed"}, f.apply(t, types, `Switch/a {ensure: absent}`))
	equal(t, []string(nil), f.apply(t, types, `Switch/a {ensure: absent}`))
	bulb := `Bulb/one {properties: {id: 1, power: "ON"}}`
	equal(t, []string{"Bulb/one: power changed off to ON"}, f.apply(t, types, bulb))
	equal(t, []string(nil), f.apply(t, types, `Bulb/one {properties: {id: 1, power: "on"}}`))
}

func TestExportedResourcesAreListedAndPurged(t *testing.T) {
	f := newFixture(t)
	types := f.build(t, fixtures+"entry/entry.dsc.resource.json")
	f.apply(t, types, `Entry/a {properties: {size: 1}}`, `Entry/b {properties: {size: 2}}`)
	out, messages, code := f.run(t, "resource", "entry", "--root", f.root, "--types-dir", filepath.Dir(types))
	for _, want := range []string{"name: a\n    size: 1\n", "name: b\n    size: 2\n"} {
		if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "_name") {
			t.Errorf("exit %d, %s\n%s\nwant %s", code, messages, out, want)
		}
	}
	purge := "apiVersion: fettle.dev/v1alpha1\nkind: Purge\nmetadata: {name: p}\nspec: {nodeSelector: {}, kind: Entry, confirm: Entry}\n---\n"
	writeFile(t, f.dir+"/purge.yaml", purge+manifests([]string{`Entry/a {properties: {size: 1}}`})[0])
	out, messages, code = f.run(t, "apply", "--root", f.root, "-f", types, "-f", f.dir+"/purge.yaml")
	if code != 0 || !strings.HasPrefix(out, "Entry/b: removed\n") {
		t.Errorf("exit %d, %s\n%s", code, messages, out)
	}
}

func TestOwnTestOfAResourceDecides(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"entry.py", "entry.dsc.resource.json"} {
		writeFile(t, f.dir+"/"+name, readFile(t, fixtures+"entry/"+name))
	}
	writeFile(t, f.dir+"/entry.fettle.yaml", "apiVersion: fettle.dev/v1alpha1\nkind: ExternalType\nspec: {dsc: {compare: Test}}\n")
	types := f.build(t, f.dir+"/entry.dsc.resource.json")
	f.apply(t, types, `Entry/a {properties: {size: 3, owner: Ann}}`)
	equal(t, []string(nil), f.apply(t, types, `Entry/a {properties: {size: 3, owner: Ann}}`))
	equal(t, []string{"Entry/a: owner changed Ann to ann (noop) (unknown: runs the program of the type)"}, f.plan(t, types, `Entry/a {properties: {size: 3, owner: ann}}`))
}

func TestSecretsTravelOnStdinOnly(t *testing.T) {
	f := newFixture(t)
	types := f.build(t, fixtures+"entry/entry.dsc.resource.json")
	const marker = "s3cret-marker"
	file := f.dir + "/resources.yaml"
	writeFile(t, file, "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default, labels: {fettle.dev/expose-to-nodes: \"true\"}}\nstringData: {key: "+marker+"}\n---\n"+
		manifests([]string{`Entry/a {properties: {size: 3, owner: locked}, propertiesFrom: [{name: token, secretKeyRef: {name: s, namespace: default, key: key}}]}`})[0])
	out, messages, code := f.run(t, "apply", "--debug", "--root", f.root, "-f", types, "-f", file)
	want := "Entry/a: change of ensure from absent to present failed: set: the command exited with 3 (The entry is locked): cannot write a with [redacted]"
	if code != 1 || !strings.Contains(messages, want) || strings.Contains(out+messages, marker) {
		t.Errorf("exit %d\n%s%s", code, out, messages)
	}
	writeFile(t, file, strings.Replace(readFile(t, file), "owner: locked", "owner: ann", 1))
	out, messages, code = f.run(t, "apply", "--debug", "--root", f.root, "-f", types, "-f", file)
	if code != 0 || !strings.Contains(out, "Entry/a: created") || strings.Contains(out+messages, marker) {
		t.Errorf("exit %d\n%s%s", code, out, messages)
	}
}

func TestDebugRecordOfACall(t *testing.T) {
	f := newFixture(t)
	types := f.build(t, fixtures+"entry/entry.dsc.resource.json")
	f.apply(t, types, `Entry/a {properties: {owner: Ann}}`)
	file := f.dir + "/resources.yaml"
	writeFile(t, file, manifests([]string{`Entry/a {properties: {owner: ANN, size: 3}}`})[0])
	_, messages, _ := f.run(t, "plan", "--debug", "--root", f.root, "-f", types, "-f", file)
	for _, want := range []string{
		`' | /var/lib/fettle/local-programs/sha256-`,
		` get: exit 0 in `,
		`debug: output: reply: {"_exist":true,"extra":"unknown","name":"a","owner":"Ann","revision":1}`,
		`debug: output: desired: {"_exist":true,"name":"a","owner":"ANN","size":3}`,
		`debug: output: canonical: {"_exist":true,"name":"a","owner":"Ann","size":3}`,
		`debug: output: ignored, because the type does not have them: extra`,
		`debug: Entry/a: owner: current Ann, target Ann`,
		`debug: Entry/a: size: current absent, target 3`,
	} {
		if !strings.Contains(messages, want) {
			t.Errorf("%s is not in\n%s", want, messages)
		}
	}
	_, call, _ := strings.Cut(messages, "debug: repeat with: ")
	call, _, _ = strings.Cut(call, "\n")
	out, err := exec.CommandContext(t.Context(), "chroot", f.root, "sh", "-c", call).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"owner": "Ann"`) {
		t.Errorf("%s: %v\n%s", call, err, out)
	}
	if strings.Contains(messages, "debug: ran ") {
		t.Errorf("a plan ran a command that may change the host:\n%s", messages)
	}
}

func TestGetThatWritesChangesNothing(t *testing.T) {
	f := newFixture(t)
	writeFile(t, f.dir+"/rude.dsc.resource.json", `{"type": "A/Rude", "version": "1",
		"get": {"executable": "sh", "args": ["-c", "touch /var/lib/rude; rm -f /etc/hostname; echo '{\"name\":\"a\",\"size\":1}'"]},
		"schema": {"embedded": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}}}`)
	before := readFile(t, f.root+"/etc/hostname")
	types := f.build(t, f.dir+"/rude.dsc.resource.json")
	equal(t, []string(nil), f.apply(t, types, `Rude/a {properties: {size: 1}}`))
	equal(t, []string{"Rude/a: change of size from 1 to 2 failed: the manifest has no set: the resource can only be read"}, f.apply(t, types, `Rude/a {properties: {size: 2}}`))
	equal(t, before, readFile(t, f.root+"/etc/hostname"))
	if _, err := os.Stat(f.root + "/var/lib/rude"); !os.IsNotExist(err) {
		t.Errorf("get wrote a file: %v", err)
	}
}

func TestTypesOfTheFixturesPassTheirTests(t *testing.T) {
	f := newFixture(t)
	for _, manifest := range []string{"entry/entry.dsc.resource.json", "package/package.dsc.resource.yaml", "motd/motd.dsc.resource.json"} {
		out, messages, code := f.run(t, "type", "test", fixtures+manifest)
		if code != 0 {
			t.Errorf("%s: exit %d\n%s%s", manifest, code, out, messages)
		}
		if !strings.Contains(out, "a second set changes nothing") || strings.Contains(out, "FAIL") {
			t.Errorf("%s: %s", manifest, out)
		}
	}
}

func TestCommandsEndAtTheirDeadline(t *testing.T) {
	f := newFixture(t)
	writeFile(t, f.dir+"/slow.dsc.resource.json", `{"type": "A/Slow", "version": "1",
		"get": {"executable": "sh", "args": ["-c", "setsid sleep 1000 & sleep 1000"]},
		"schema": {"embedded": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}}`)
	writeFile(t, f.dir+"/slow.fettle.yaml", "apiVersion: fettle.dev/v1alpha1\nkind: ExternalType\nspec: {timeoutSeconds: 1}\n")
	types := f.build(t, f.dir+"/slow.dsc.resource.json")
	lines := f.apply(t, types, `Slow/a {}`)
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "Slow/a: cannot read the present state: get: ") || !strings.Contains(lines[0], "1s") {
		t.Errorf("the report is %q", lines)
	}
}

func TestTutorialOfDSC(t *testing.T) {
	page := readFile(t, "../../../docs/external-types-dsc.md")
	f := newFixture(t)
	t.Chdir(f.dir)
	_, script, _ := strings.Cut(page, "TestTutorialOfDSC in test/suites/dsc runs these commands -->\n```sh\n")
	script, _, _ = strings.Cut(script, "\n```")
	ran := 0
	for rest := script; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		if file, ok := strings.CutPrefix(line, "cat > "); ok {
			var text string
			text, rest, _ = strings.Cut(rest, "EOF\n")
			writeFile(t, strings.TrimSuffix(file, " <<'EOF'"), text)
			continue
		}
		command, file, redirected := strings.Cut(line, " > ")
		args := strings.Fields(command)[1:]
		if args[0] != "type" { // they would change this machine
			args = append(args, "--root", f.root)
		}
		out, messages, code := f.run(t, args...)
		if code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", line, code, out, messages)
		}
		if redirected {
			writeFile(t, file, out)
		}
		ran++
	}
	if got := readFile(t, f.root+"/var/lib/greetings/hello"); got != "Hello!" || ran != 4 {
		t.Errorf("after %d commands, the greeting has %q", ran, got)
	}
}
