package dsc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestResourceThatReadsStdin(t *testing.T) {
	w := newWorld(t)
	types := w.build(t, fixtures+"entry/entry.dsc.resource.json")
	equal(t, []string{
		"Entry/a: output: warning: the entry changed", "Entry/a: output: restart required: the service entryd", "Entry/a: created",
	}, w.apply(t, types, `Entry/a {properties: {size: 3, tags: [b, a, a], owner: Ann, colour: Red, since: "2026-01-01T00:00:00Z"}}`))
	equal(t, []string(nil), w.apply(t, types, `Entry/a {properties: {size: 3, tags: [a, b, a], owner: ANN, colour: Red, since: "2026-01-01T01:00:00+01:00"}}`))
	equal(t, []string{
		`Entry/a: size changed 3 to 4`, `Entry/a: output: warning: the entry changed`, `Entry/a: output: restart required: the service entryd`,
		`Entry/a: tags changed ["b","a","a"] to ["a","b"]`,
	}, w.apply(t, types, `Entry/a {properties: {size: 4, tags: [a, b]}}`))
	equal(t, []string{"Entry/a: cannot be applied: the resource says that its desired state is invalid: nobody cannot own an entry"},
		w.plan(t, types, `Entry/a {properties: {owner: nobody}}`))
	equal(t, []string{"Entry/a: change of owner from Ann to nobody failed: the resource says that its desired state is invalid: nobody cannot own an entry"},
		w.apply(t, types, `Entry/a {properties: {owner: nobody}}`))
	equal(t, []string{"Entry/a: change of owner from Ann to locked failed: set: the command exited with 3 (The entry is locked): cannot write a with None"},
		w.apply(t, types, `Entry/a {properties: {owner: locked}}`))
	equal(t, []string{"Entry/a: removed"}, w.apply(t, types, `Entry/a {ensure: absent}`))
	equal(t, []string(nil), w.apply(t, types, `Entry/a {ensure: absent}`))
}

func TestResourceThatReadsArguments(t *testing.T) {
	w := newWorld(t)
	types := w.build(t, fixtures+"package/package.dsc.resource.yaml")
	equal(t, []string{"TestPackage/vim: created"}, w.apply(t, types, `TestPackage/vim {properties: {version: "1.0"}}`))
	equal(t, []string{"TestPackage/vim: version changed 1.0 to 1.1"}, w.apply(t, types, `TestPackage/vim {properties: {version: "1.1"}}`))
	equal(t, []string{"TestPackage/vim: change of version from 1.1 to broken failed: set: the command exited with 4: the archive is broken"},
		w.apply(t, types, `TestPackage/vim {properties: {version: broken}}`))
	equal(t, []string{"TestPackage/vim: removed"}, w.apply(t, types, `TestPackage/vim {ensure: absent}`))
	equal(t, []string(nil), w.apply(t, types, `TestPackage/vim {ensure: absent}`))
}

func TestResourceThatReadsItsEnvironment(t *testing.T) {
	w := newWorld(t)
	types := w.build(t, fixtures+"motd/motd.dsc.resource.json")
	motd := `Motd/a {properties: {text: hello, width: 80, words: [a, b], purge: true}}`
	equal(t, []string{"Motd/a: text defined as hello", "Motd/a: width changed 1 to 80", `Motd/a: words changed [] to ["a","b"]`}, w.apply(t, types, motd))
	equal(t, []string(nil), w.apply(t, types, motd))
	equal(t, []string{"Motd/a: change of text from hello to refused failed: set: the command exited with 5: the text is refused"}, w.apply(t, types, `Motd/a {properties: {text: refused}}`))
	equal(t, []string{`Motd/a: provider dsc lacks the feature removable, which ensure "absent" needs; leave the attribute out or choose another provider`},
		w.apply(t, types, `Motd/a {ensure: absent}`))
	equal(t, []string{
		`Motd/a: singleton "singleton" is also claimed by Motd/b on the same node: keep one, or let their nodeSelector or when exclude each other`,
		`Motd/b: singleton "singleton" is also claimed by Motd/a on the same node: keep one, or let their nodeSelector or when exclude each other`,
	}, w.apply(t, types, motd, `Motd/b {properties: {text: other}}`))
}

func TestResourcesOfAnAdapter(t *testing.T) {
	w := newWorld(t)
	types := w.build(t, w.adapter(t))
	on := `Switch/a {properties: {state: "on", labels: []}}`
	equal(t, []string{"Switch/a: created"}, w.apply(t, types, on))
	equal(t, []string(nil), w.apply(t, types, on))
	equal(t, []string{`Switch/a: state changed on to off`}, w.apply(t, types, `Switch/a {properties: {state: "off"}}`))
	equal(t, []string{"Switch/a: removed"}, w.apply(t, types, `Switch/a {ensure: absent}`))
	equal(t, []string(nil), w.apply(t, types, `Switch/a {ensure: absent}`))
	bulb := `Bulb/one {properties: {id: 1, power: "ON"}}`
	equal(t, []string{"Bulb/one: power changed off to ON"}, w.apply(t, types, bulb))
	equal(t, []string(nil), w.apply(t, types, `Bulb/one {properties: {id: 1, power: "on"}}`))
}

func TestExportedResourcesAreListedAndPurged(t *testing.T) {
	w := newWorld(t)
	types := w.build(t, fixtures+"entry/entry.dsc.resource.json")
	w.apply(t, types, `Entry/a {properties: {size: 1}}`, `Entry/b {properties: {size: 2}}`)
	out, messages, code := w.run(t, "resource", "entry", "--root", w.root, "--types-dir", filepath.Dir(types))
	for _, want := range []string{"name: a\n    size: 1\n", "name: b\n    size: 2\n"} {
		if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "_name") {
			t.Errorf("exit %d, %s\n%s\nwant %s", code, messages, out, want)
		}
	}
	purge := "apiVersion: fettle.dev/v1alpha1\nkind: Purge\nmetadata: {name: p}\nspec: {nodeSelector: {}, kind: Entry, confirm: Entry}\n---\n"
	put(t, w.dir+"/purge.yaml", purge+manifests([]string{`Entry/a {properties: {size: 1}}`})[0])
	out, messages, code = w.run(t, "apply", "--root", w.root, "-f", types, "-f", w.dir+"/purge.yaml")
	if code != 0 || !strings.HasPrefix(out, "Entry/b: removed\n") {
		t.Errorf("exit %d, %s\n%s", code, messages, out)
	}
}

func TestOwnTestOfAResourceDecides(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"entry.py", "entry.dsc.resource.json"} {
		put(t, w.dir+"/"+name, read(t, fixtures+"entry/"+name))
	}
	put(t, w.dir+"/entry.fettle.yaml", "apiVersion: fettle.dev/v1alpha1\nkind: ExternalType\nspec: {dsc: {compare: Test}}\n")
	types := w.build(t, w.dir+"/entry.dsc.resource.json")
	w.apply(t, types, `Entry/a {properties: {size: 3, owner: Ann}}`)
	equal(t, []string(nil), w.apply(t, types, `Entry/a {properties: {size: 3, owner: Ann}}`))
	equal(t, []string{"Entry/a: owner changed Ann to ann (noop) (unknown: runs the program of the type)"}, w.plan(t, types, `Entry/a {properties: {size: 3, owner: ann}}`))
}

func TestSecretsTravelOnStdinOnly(t *testing.T) {
	w := newWorld(t)
	types := w.build(t, fixtures+"entry/entry.dsc.resource.json")
	const marker = "s3cret-marker"
	file := w.dir + "/resources.yaml"
	put(t, file, "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default, labels: {fettle.dev/expose-to-nodes: \"true\"}}\nstringData: {key: "+marker+"}\n---\n"+
		manifests([]string{`Entry/a {properties: {size: 3, owner: locked}, propertiesFrom: [{name: token, secretKeyRef: {name: s, namespace: default, key: key}}]}`})[0])
	out, messages, code := w.run(t, "apply", "--debug", "--root", w.root, "-f", types, "-f", file)
	want := "Entry/a: change of ensure from absent to present failed: set: the command exited with 3 (The entry is locked): cannot write a with [redacted]"
	if code != 1 || !strings.Contains(messages, want) || strings.Contains(out+messages, marker) {
		t.Errorf("exit %d\n%s%s", code, out, messages)
	}
	put(t, file, strings.Replace(read(t, file), "owner: locked", "owner: ann", 1))
	out, messages, code = w.run(t, "apply", "--debug", "--root", w.root, "-f", types, "-f", file)
	if code != 0 || !strings.Contains(out, "Entry/a: created") || strings.Contains(out+messages, marker) {
		t.Errorf("exit %d\n%s%s", code, out, messages)
	}
}

func TestDebugRecordOfACall(t *testing.T) {
	w := newWorld(t)
	types := w.build(t, fixtures+"entry/entry.dsc.resource.json")
	w.apply(t, types, `Entry/a {properties: {owner: Ann}}`)
	file := w.dir + "/resources.yaml"
	put(t, file, manifests([]string{`Entry/a {properties: {owner: ANN, size: 3}}`})[0])
	_, messages, _ := w.run(t, "plan", "--debug", "--root", w.root, "-f", types, "-f", file)
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
	out, err := exec.CommandContext(t.Context(), "chroot", w.root, "sh", "-c", call).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"owner": "Ann"`) {
		t.Errorf("%s: %v\n%s", call, err, out)
	}
	if strings.Contains(messages, "debug: ran ") {
		t.Errorf("a plan ran a command that may change the host:\n%s", messages)
	}
}

func TestGetThatWritesChangesNothing(t *testing.T) {
	w := newWorld(t)
	put(t, w.dir+"/rude.dsc.resource.json", `{"type": "A/Rude", "version": "1",
		"get": {"executable": "sh", "args": ["-c", "touch /var/lib/rude; rm -f /etc/hostname; echo '{\"name\":\"a\",\"size\":1}'"]},
		"schema": {"embedded": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}}}`)
	before := read(t, w.root+"/etc/hostname")
	types := w.build(t, w.dir+"/rude.dsc.resource.json")
	equal(t, []string(nil), w.apply(t, types, `Rude/a {properties: {size: 1}}`))
	equal(t, []string{"Rude/a: change of size from 1 to 2 failed: the manifest has no set: the resource can only be read"}, w.apply(t, types, `Rude/a {properties: {size: 2}}`))
	equal(t, before, read(t, w.root+"/etc/hostname"))
	if _, err := os.Stat(w.root + "/var/lib/rude"); !os.IsNotExist(err) {
		t.Errorf("get wrote a file: %v", err)
	}
}

func TestTypesOfTheFixturesPassTheirTests(t *testing.T) {
	w := newWorld(t)
	for _, manifest := range []string{"entry/entry.dsc.resource.json", "package/package.dsc.resource.yaml", "motd/motd.dsc.resource.json"} {
		out, messages, code := w.run(t, "type", "test", fixtures+manifest)
		if code != 0 {
			t.Errorf("%s: exit %d\n%s%s", manifest, code, out, messages)
		}
		if !strings.Contains(out, "a second set changes nothing") || strings.Contains(out, "FAIL") {
			t.Errorf("%s: %s", manifest, out)
		}
	}
}

func TestCommandsEndAtTheirDeadline(t *testing.T) {
	w := newWorld(t)
	put(t, w.dir+"/slow.dsc.resource.json", `{"type": "A/Slow", "version": "1",
		"get": {"executable": "sh", "args": ["-c", "setsid sleep 1000 & sleep 1000"]},
		"schema": {"embedded": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}}`)
	put(t, w.dir+"/slow.fettle.yaml", "apiVersion: fettle.dev/v1alpha1\nkind: ExternalType\nspec: {timeoutSeconds: 1}\n")
	types := w.build(t, w.dir+"/slow.dsc.resource.json")
	lines := w.apply(t, types, `Slow/a {}`)
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "Slow/a: cannot read the present state: get: ") || !strings.Contains(lines[0], "1s") {
		t.Errorf("the report is %q", lines)
	}
}

func TestTutorialOfDSC(t *testing.T) {
	page := read(t, "../../../docs/external-types-dsc.md")
	w := newWorld(t)
	t.Chdir(w.dir)
	_, script, _ := strings.Cut(page, "TestTutorialOfDSC in test/suites/dsc runs these commands -->\n```sh\n")
	script, _, _ = strings.Cut(script, "\n```")
	ran := 0
	for rest := script; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		if file, ok := strings.CutPrefix(line, "cat > "); ok {
			var text string
			text, rest, _ = strings.Cut(rest, "EOF\n")
			put(t, strings.TrimSuffix(file, " <<'EOF'"), text)
			continue
		}
		command, file, redirected := strings.Cut(line, " > ")
		args := strings.Fields(command)[1:]
		if args[0] != "type" { // they would change this machine
			args = append(args, "--root", w.root)
		}
		out, messages, code := w.run(t, args...)
		if code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", line, code, out, messages)
		}
		if redirected {
			put(t, file, out)
		}
		ran++
	}
	if got := read(t, w.root+"/var/lib/greetings/hello"); got != "Hello!" || ran != 4 {
		t.Errorf("after %d commands, the greeting has %q", ran, got)
	}
}
