package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// copyOfRoot returns the root of an overlay over the files of this machine.
func copyOfRoot(t *testing.T) string {
	t.Helper()
	debian.Require(t, "python3", "jq")
	return debian.Copy(t)
}

// author runs the command of someone who writes types, in a directory.
func author(t *testing.T, dir, root string, args ...string) outcome {
	t.Helper()
	t.Chdir(dir)
	return invoke(t, cli.Options{CopyOfRoot: func(use func(string) error) error { return use(root) }}, args)
}

func TestScaffoldedTypesPassTheirTest(t *testing.T) {
	root, dir := copyOfRoot(t), t.TempDir()
	library, err := filepath.Abs("../../sdk/go")
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"python", "sh", "go"} {
		kind := "Note" + language
		if got := author(t, dir, root, "type", "new", kind, "--language", language); got.code != 0 {
			t.Fatal(got.err)
		}
		if language == "go" {
			install(t, library, filepath.Join(dir, "notego"), filepath.Join(root, "opt/fettle/notegos/notego"))
		}
		got := author(t, dir, root, "type", "test", strings.ToLower(kind))
		if got.code != 0 || strings.Contains(got.out, "FAIL") || !strings.Contains(got.out, "ok    "+kind+": a second removal changes nothing") {
			t.Errorf("%s: exit %d\n%s%s", language, got.code, got.out, got.err)
		}
	}
}

// install builds a program as its type.yaml says, with the library of this checkout.
func install(t *testing.T, library, dir, program string) {
	t.Helper()
	const module = "github.com/fettle-dev/fettle/sdk/go"
	for _, args := range [][]string{
		{"mod", "edit", "-require=" + module + "@v0.0.0", "-replace=" + module + "=" + library},
		{"vet", "."},
		{"build", "-o", program, "."},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOPROXY=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
}

func TestDerivedTypesPassTheirTest(t *testing.T) {
	root, dir := copyOfRoot(t), t.TempDir()
	if got := author(t, dir, root, "type", "new", "Note"); got.code != 0 {
		t.Fatal(got.err)
	}
	put(t, filepath.Join(dir, "secret/type.yaml"), `{apiVersion: fettle.dev/v1alpha1, kind: ExternalType, metadata: {name: privatenotes}, base: ../note, fixed: {mode: "0600"},
		namevars: [{name: topic, programName: name, programValue: "private-{topic}", schema: {type: string, maxLength: 40, pattern: "^[a-z0-9-]+$"}}], spec: {
		kind: PrivateNote, version: 1.0.0, description: Manages a note that only root reads.,
		example: "{apiVersion: types.fettle.dev/v1alpha1, kind: PrivateNote, metadata: {name: example}, spec: {nodeSelector: {}, properties: {content: hello}}}"}}`)
	got := author(t, dir, root, "type", "test", "secret")
	if got.code != 0 || !strings.Contains(got.out, "ok    PrivateNote: a second removal changes nothing") {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.err)
	}
	built := author(t, dir, root, "type", "build", "secret")
	put(t, filepath.Join(dir, "a.yaml"), built.out+`---
{apiVersion: types.fettle.dev/v1alpha1, kind: PrivateNote, metadata: {name: a}, spec: {nodeSelector: {}, properties: {content: a}}}
`)
	if got := author(t, dir, root, "apply", "--root", root, "-f", "a.yaml"); got.code != 0 {
		t.Fatal(got.out + got.err)
	}
	if info, err := os.Stat(filepath.Join(root, "var/lib/notes/private-a")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	put(t, filepath.Join(dir, "b.yaml"), strings.Replace(read(t, filepath.Join(dir, "a.yaml")), "content: a}", `content: a, mode: "0644"}`, 1))
	if got := author(t, dir, root, "validate", "-f", "b.yaml"); got.code != 1 || !strings.Contains(got.err, "spec.properties.mode: Unsupported value") {
		t.Errorf("another value is accepted: exit %d\n%s%s", got.code, got.out, got.err)
	}
}

func TestResourcesOfTheExampleAreSentToRelatedOnes(t *testing.T) {
	root, dir := copyOfRoot(t), t.TempDir()
	if got := author(t, dir, root, "type", "new", "Note"); got.code != 0 {
		t.Fatal(got.err)
	}
	program, typ := filepath.Join(dir, "note/main.py"), filepath.Join(dir, "note/type.yaml")
	var text map[string]any
	if err := yaml.Unmarshal([]byte(read(t, typ)), &text); err != nil {
		t.Fatal(err)
	}
	spec := text["spec"].(map[string]any)
	spec["relations"] = []map[string]any{{"relation": "require", "kind": "File", "name": "/etc/note.conf", "sendDesired": true}}
	spec["example"] = spec["example"].(string) + `---
{apiVersion: fettle.dev/v1alpha1, kind: File, metadata: {name: conf}, spec: {nodeSelector: {}, path: /etc/note.conf, content: x, require: [Package/note]}}
`
	out, err := yaml.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	put(t, typ, string(out))
	put(t, program, strings.Replace(read(t, program), "        return state(resource.name)", `        if [r["should"]["content"] for r in resource.related] != ["x"]:
            raise fettle.Error("related has %s" % resource.related)
        return state(resource.name)`, 1))
	chmodAll(t, dir, "note/main.py")
	got := author(t, dir, root, "type", "test", "note")
	if got.code != 0 || !strings.Contains(got.out, "ok    Note: a second removal changes nothing") {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.err)
	}
	if _, err := os.Stat(filepath.Join(root, "etc/note.conf")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the File of the example was applied: %v", err)
	}
}

func TestOnlyAProgramThatAllowsRunsPassesItsTest(t *testing.T) {
	root, dir := copyOfRoot(t), t.TempDir()
	if got := author(t, dir, root, "type", "new", "Note"); got.code != 0 {
		t.Fatal(got.err)
	}
	program, typ := filepath.Join(dir, "note/main.py"), filepath.Join(dir, "note/type.yaml")
	good := read(t, program)
	put(t, typ, strings.Replace(read(t, typ), "requests: [List]", "requests: [List, Check]", 1))
	for body, want := range map[string]string{
		"return {}": "ok    Note: check answers each name, without an error, before",
		"return {resources[0].name: fettle.Error('not today')}": `FAIL  Note: check answers each name, without an error, before: "example" of the example would prevent each run: not today`,
		"yield resources[0].name, ValueError('a bug')":          "FAIL  Note: check answers each name, without an error, before: the program exited with 1: ",
		"raise fettle.Error('the notes are full')":              `FAIL  Note: check answers each name, without an error, before: "example" of the example would prevent each run: the notes are full`,
		"return resources[0].unknown":                           "FAIL  Note: check answers each name, without an error, before: the program exited with 1: ",
	} {
		put(t, program, strings.Replace(good, "    def create(", "    def check(self, resources):\n        "+body+"\n\n    def create(", 1))
		chmodAll(t, dir, "note/main.py")
		got := author(t, dir, root, "type", "test", "note")
		if (got.code == 0) != strings.HasPrefix(want, "ok") || !strings.Contains(got.out, want) {
			t.Errorf("%s: exit %d\n%s%s\nwant %s", body, got.code, got.out, got.err, want)
		}
	}
}

func TestBrokenProgramsFailTheirTest(t *testing.T) {
	root, dir := copyOfRoot(t), t.TempDir()
	if got := author(t, dir, root, "type", "new", "Note"); got.code != 0 {
		t.Fatal(got.err)
	}
	program, typ := filepath.Join(dir, "note/main.py"), filepath.Join(dir, "note/type.yaml")
	good, goodType := read(t, program), read(t, typ)
	for name, tt := range map[string]struct{ old, replacement, want string }{
		"unstable get":              {`"content": file.read()`, `"content": str(__import__("time").time())`, "FAIL  Note: get answers each name, with the same state each time, while it exists: two reads of \"example\" differ"},
		"set that does nothing":     {`        os.rename(temporary, path(resource.name))`, `        pass`, "FAIL  Note: set brings the example in sync"},
		"removal that does nothing": {`        os.remove(path(resource.name))`, `        pass`, "FAIL  Note: removal makes it absent"},
		"a change each time":        {`"content": file.read()`, `"content": file.read() + "x"`, "FAIL  Note: set brings the example in sync"},
		"no protocol":               {`fettle.run(KIND())`, `print("hello")`, "FAIL  Note: get answers each name"},
		"ignored garbage":           {`fettle.run(Note())`, "import sys, json, io\nok = []\nfor line in sys.stdin:\n    try:\n        json.loads(line)['request']\n        ok.append(line)\n    except Exception:\n        pass\nfettle.run(Note(), io.StringIO(''.join(ok)))", "FAIL  Note: invalid input ends the program, before: the program ignored"},
		"answers to all requests":   {`fettle.run(Note())`, "import sys, json, io\nlines = sys.stdin.read()\nif 'fly' in lines:\n    print('{\"answer\":\"hello\",\"protocol\":\"Fettle/1\"}')\n    print('{\"answer\":\"fly\",\"name\":\"example\"}')\nelse:\n    fettle.run(Note(), io.StringIO(lines))", "FAIL  Note: unknown requests are refused or ignored, before: the program answered a request that does not exist"},
		"leak in set":               {`        os.makedirs(DIRECTORY, exist_ok=True)`, "        raise fettle.Error('cannot write %s' % resource.should)", "FAIL  Note: secrets are in no answer's errors and notes, while it is changed: a sensitive value is in the errors or notes of \"example\""},
		"garbage that is reported":  {`fettle.run(Note())`, "import sys, json\ntry:\n    fettle.run(Note())\nexcept Exception as e:\n    print('ignored', file=sys.stderr)", "FAIL  Note: invalid input ends the program, before: the program ignored"},
		"other names":               {`        return state(resource.name)`, "        return state('example') if resource.name == 'example' else {'content': ''}", "FAIL  Note: get answers other names, before: \"fettle-no-such-resource\" exists, but nobody created it"},
		"other names fail":          {`        return state(resource.name)`, "        return state(['example'][['example'].index(resource.name)])", "FAIL  Note: get answers other names, before: with the name \"fettle-no-such-resource\": ValueError"},
		"leak as JSON":              {`        return state(resource.name)`, "        raise fettle.Error(__import__('json').dumps(resource.should))", "FAIL  Note: secrets are in no answer's errors and notes, before: a sensitive value is in the errors or notes of \"example\""},
		"leak in base64":            {`        return state(resource.name)`, "        print(__import__('base64').b64encode(repr(resource.should).encode()), file=__import__('sys').stderr)\n        return state(resource.name)", "FAIL  Note: secrets are in no answer's errors and notes, before: a sensitive value is in the output to stderr"},
		"leak of what was there":    {`        temporary = path("." + resource.name)`, "        if os.path.exists(path(resource.name)):\n            raise fettle.Error('replaces %a' % open(path(resource.name)).read())\n        temporary = path('.' + resource.name)", "FAIL  Note: secrets are in no answer's errors and notes, while it is changed: a sensitive value is in the errors or notes of \"example\""},
		"leak":                      {`        return state(resource.name)`, "        raise fettle.Error('cannot read %s' % resource.should)", "FAIL  Note: secrets are in no answer's errors and notes, before: a sensitive value is in the errors or notes of \"example\""},
	} {
		put(t, program, strings.Replace(good, strings.ReplaceAll(tt.old, "KIND", "Note"), tt.replacement, 1))
		put(t, typ, strings.Replace(goodType, "    description: The content of the file.\n", "    description: The content of the file.\n    sensitive: true\n", 1))
		if !strings.HasPrefix(name, "leak") {
			put(t, typ, goodType)
		}
		chmodAll(t, dir, "note/main.py")
		// What the program of another case left decides whether "create" or "update" runs.
		if err := os.RemoveAll(filepath.Join(root, "var/lib/notes")); err != nil {
			t.Fatal(err)
		}
		got := author(t, dir, root, "type", "test", "note")
		if got.code != 1 || !strings.Contains(got.out, tt.want) {
			t.Errorf("%s: exit %d\n%s%s\nwant %s", name, got.code, got.out, got.err, tt.want)
		}
	}
}

func TestAResourceOnWhichItsProgramFailsFailsAlone(t *testing.T) {
	root, dir := copyOfRoot(t), t.TempDir()
	if got := author(t, dir, root, "type", "new", "Note"); got.code != 0 {
		t.Fatal(got.err)
	}
	program, typ := filepath.Join(dir, "note/main.py"), filepath.Join(dir, "note/type.yaml")
	good, goodType := read(t, program), read(t, typ)
	for how, c := range map[string]struct{ body, want string }{
		"crash":   {"os.kill(os.getpid(), 11)", "the program exited with 139"},
		"hang":    {"__import__('time').sleep(1000)", "killed after its timeout of "},
		"garbage": {"os.write(1, b'Traceback')", "a line of the program's output is not an answer"},
		"memory":  {"[bytearray(1 << 26) for _ in range(1 << 14)]", "MemoryError"},
	} {
		for _, method := range []string{"read", "create"} {
			if method == "create" && how == "hang" {
				continue // it is a process like any other, and takes long
			}
			put(t, typ, goodType)
			if how == "hang" {
				put(t, typ, goodType+"  timeoutSeconds: 8\n")
			}
			head := "    def " + method + "(self, resource):\n"
			put(t, program, strings.Replace(good, head, head+"        if resource.name == 'c':\n            "+c.body+"\n", 1))
			chmodAll(t, dir, "note/main.py")
			built := author(t, dir, root, "type", "build", "note")
			text := built.out
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				text += "---\n" + strings.ReplaceAll(hello, "hello", name)
			}
			put(t, filepath.Join(dir, "all.yaml"), text)
			if err := os.RemoveAll(filepath.Join(root, "var/lib/notes")); err != nil {
				t.Fatal(err)
			}
			got := author(t, dir, root, "apply", "--root", root, "-f", "all.yaml")
			for _, name := range []string{"a", "b", "d", "e"} {
				if !strings.Contains(got.out, "Note/"+name+": created") {
					t.Errorf("%s in %s: %s is not created", how, method, name)
				}
			}
			if shown := got.out + got.err; !strings.Contains(shown, "Note/c: ") || !strings.Contains(shown, c.want) {
				t.Errorf("%s in %s: exit %d, want %s\n%s%s", how, method, got.code, c.want, got.out, got.err)
			}
		}
	}
}

func TestTypesAndResourcesInOneManifest(t *testing.T) {
	root, dir := copyOfRoot(t), t.TempDir()
	if got := author(t, dir, root, "type", "new", "Note"); got.code != 0 {
		t.Fatal(got.err)
	}
	built := author(t, dir, root, "type", "build", "note")
	if built.code != 0 {
		t.Fatal(built.err)
	}
	put(t, filepath.Join(dir, "a.yaml"), built.out+`---
{apiVersion: types.fettle.dev/v1alpha1, kind: Note, metadata: {name: hello}, spec: {nodeSelector: {}, require: [File/motd], properties: {content: one}}}
---
`+file("motd", "path: /etc/motd, content: a"))
	types := filepath.Join(dir, "types.d")
	put(t, filepath.Join(types, "note.yaml"), built.out)
	for _, step := range []struct {
		args string
		want []string
		code int
	}{
		{"validate -f a.yaml", []string{"2 resources are valid"}, 0},
		{"graph -f a.yaml", []string{`"File/motd" -> "Note/hello"`}, 0},
		{"plan --root ROOT -f a.yaml", []string{"File/motd: content", "Note/hello: created (noop)"}, 0},
		{"apply --root ROOT -f a.yaml", []string{"Note/hello: created"}, 0},
		{"apply --root ROOT -f a.yaml --detailed-exitcodes", []string{"2 resources"}, 0},
		{"describe note --root ROOT --types-dir types.d", []string{"Manages a file below /var/lib/notes.", "is this host's default"}, 0},
		{"resource note --root ROOT --types-dir types.d", []string{"apiVersion: types.fettle.dev/v1alpha1", "properties:\n    content: one\n    mode: \"0644\"\n    name: hello\n"}, 0},
		{"resource note hello content=two --root ROOT --types-dir types.d", []string{"content: two"}, 0},
		{"resource note hello content=two mode=9 --root ROOT --types-dir types.d", []string{"Note/hello: mode: Invalid value"}, 1},
		{"apply --root ROOT -f a.yaml", []string{"Note/hello: content changed two to one"}, 0},
	} {
		got := author(t, dir, root, strings.Fields(strings.ReplaceAll(step.args, "ROOT", root))...)
		for _, want := range step.want {
			if !strings.Contains(got.out+got.err, want) || got.code != step.code {
				t.Errorf("%s: exit %d, want %d and %q\n%s%s", step.args, got.code, step.code, want, got.out, got.err)
			}
		}
	}
	if got := read(t, filepath.Join(root, "var/lib/notes/hello")); got != "one" {
		t.Errorf("the note has %q", got)
	}
	listed := author(t, dir, root, "resource", "note", "--root", root, "--types-dir", "types.d")
	put(t, filepath.Join(dir, "listed.yaml"), listed.out)
	if got := author(t, dir, root, "apply", "--root", root, "--types-dir", "types.d", "-f", "listed.yaml", "--detailed-exitcodes"); got.code != 0 {
		t.Errorf("the listed resources cannot be applied again: %d\n%s%s", got.code, got.out, got.err)
	}
}

func TestTypesThatOthersCanChangeAreNotUsed(t *testing.T) {
	dir := t.TempDir()
	types := filepath.Join(dir, "types.d")
	put(t, filepath.Join(types, "a.yaml"), "")
	for name, mode := range map[string]os.FileMode{types: 0o777, filepath.Join(types, "a.yaml"): 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		got := fettle(t, file("motd", "path: /etc/motd, content: a"), "validate", "-f", "-", "--types-dir", types)
		if want := "external types in " + name + " are not used: others than root can change it"; got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("exit %d, %s; want %s", got.code, got.err, want)
		}
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// A cluster accepts these types: they could be in use.
func TestTypesThatCannotWorkAreNotBuilt(t *testing.T) {
	dir := t.TempDir()
	if got := author(t, dir, "", "type", "new", "Note"); got.code != 0 {
		t.Fatal(got.err)
	}
	file := filepath.Join(dir, "note/type.yaml")
	text := read(t, file)
	for _, c := range []struct{ schema, want string }{
		{"{type: string, enum: [a, 1]}", "note: spec.attributes[mode].schema.enum[1] is 1, which the rest of the schema excludes: value in body must be of type string"},
		{"{type: string, enum: [a]}\n    default: \"'b'\"", `note: spec.attributes[mode].default: Unsupported value: "b": supported values: "a"`},
	} {
		changed := strings.Replace(text, `{type: string, pattern: "^0[0-7]{3}$"}`, c.schema, 1)
		put(t, file, changed)
		if got := author(t, dir, "", "type", "build", "note"); changed == text || got.code == 0 || !strings.Contains(got.err, c.want) {
			t.Errorf("exit %d, %s; want %s", got.code, got.err, c.want)
		}
		put(t, filepath.Join(dir, "motd.yaml"), strings.Replace(hello, `{content: "hello"}`, "{content: hello, mode: a}", 1)+"---\n"+changed)
		if got := author(t, dir, "", "validate", "-f", "motd.yaml"); got.code != 0 {
			t.Errorf("exit %d, %s", got.code, got.err)
		}
	}
}

func TestBuiltTypeHasTheFilesOfItsDirectory(t *testing.T) {
	dir := t.TempDir()
	if got := author(t, dir, "", "type", "new", "Note"); got.code != 0 {
		t.Fatal(got.err)
	}
	built := author(t, dir, "", "type", "build", "note")
	documents := strings.Split(strings.TrimPrefix(built.out, "---\n"), "\n---\n")
	if built.code != 0 || len(documents) != 2 {
		t.Fatalf("exit %d, %d documents\n%s", built.code, len(documents), built.err)
	}
	var typ struct {
		Kind string
		Spec struct {
			Source struct{ Files map[string]string }
		}
	}
	if err := yaml.Unmarshal([]byte(documents[1]), &typ); err != nil {
		t.Fatal(err)
	}
	files := typ.Spec.Source.Files
	if typ.Kind != "ExternalType" || files["main.py"] != read(t, filepath.Join(dir, "note/main.py")) || !strings.Contains(files["fettle.py"], "class SimpleProvider") {
		t.Errorf("got %s", documents[1])
	}
	again := author(t, dir, "", "type", "build", "note")
	if again.out != built.out {
		t.Error("a second build differs")
	}
	for name, tt := range map[string]struct{ old, replacement, want string }{
		"missing file":  {`main.py: ""`, `main.py: "", other.py: ""`, "spec.source.files[other.py]"},
		"outside":       {`main.py: ""`, `main.py: "", ../secret: ""`, `note/type.yaml:1: ExternalType/notes: spec.source.files has the name "../secret"`},
		"unknown field": {"requests: [List]", "request: [List]", "note/type.yaml:29: ExternalType/notes: spec.request: unknown field; did you mean requests?"},
		"bad schema":    {"maxLength: 65536", "length: 65536", `spec.attributes[content].schema: unknown field "length"`},
	} {
		good := read(t, filepath.Join(dir, "note/type.yaml"))
		put(t, filepath.Join(dir, "note/type.yaml"), strings.Replace(good, tt.old, tt.replacement, 1))
		if got := author(t, dir, "", "type", "build", "note"); got.code != 1 || !strings.Contains(got.err, tt.want) || got.out != "" {
			t.Errorf("%s: exit %d\n%s%s\nwant %s", name, got.code, got.out, got.err, tt.want)
		}
		put(t, filepath.Join(dir, "note/type.yaml"), good)
	}
}
