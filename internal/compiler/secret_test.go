package compiler_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
)

// secrets returns values of the Secrets token and bad in the namespace ops, which have the key text.
func secrets(ref v1alpha1.KeyRef) compiler.SecretValue {
	value, found := map[string]string{"token/text": "s3cret", "bad/text": "refused s3cret"}[ref.Name+"/"+ref.Key]
	return compiler.SecretValue{Exposed: ref.Name == "token" || ref.Name == "bad", Found: found, Value: []byte(value), Version: "7"}
}

// sealing returns a description of the value instead of sealing it.
func sealing(n *compiler.Node, ref v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
	if n.Name == "weak-1" {
		return v1alpha1.SealedValue{}, errors.New("its key is weak")
	}
	return v1alpha1.SealedValue{Attribute: attribute, From: from, Key: n.PublicKey, Value: fmt.Appendf(nil, "%s of %s on %s", attribute, ref, n.Name)}, nil
}

func TestASecretIsSealedForEachNode(t *testing.T) {
	t.Parallel()

	got := outlineOf(t, compiled(
		[]compiler.Node{node("web-1", "web"), keyless("web-2", "web"), node("weak-1", "web")},
		file("a", "/a", fromSecret("token", "text")), file("b", "/b", requires("File/a")), file("c", "/c"),
	))
	want := outline{
		Nodes: map[string]string{"web-1": "File/a File/b File/c", "web-2": "File/c", "weak-1": "File/c"},
		Withheld: map[string]string{
			"web-2": "File/a:WaitingForKey File/b:WaitingForKey", "weak-1": "File/a:WaitingForKey File/b:WaitingForKey",
		},
		Problems: []string{
			"File/a|weak-1|WaitingForKey|waits for another key of node weak-1: its key is weak",
			"File/a|web-2|WaitingForKey|waits for the key of node web-2, which its agent has not published yet",
			"File/b|weak-1|WaitingForKey|waits for File/a, which is withheld: WaitingForKey",
			"File/b|web-2|WaitingForKey|waits for File/a, which is withheld: WaitingForKey",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func compiled(nodes []compiler.Node, resources ...v1alpha1.Resource) compiler.Result {
	return compiler.Compile(compiler.Input{Nodes: nodes, Resources: resources, Kinds: kinds(), Secret: secrets, Seal: sealing})
}

func TestTheResultContainsNoSecret(t *testing.T) {
	t.Parallel()

	result := compiled([]compiler.Node{node("web-1", "web")}, file("a", "/a", fromSecret("token", "text")), file("bad", "/bad", fromSecret("bad", "text")))
	entry := result.Nodes["web-1"].Spec.Entries[0]
	from := v1alpha1.SealedFrom{KeyRef: v1alpha1.KeyRef{Namespace: "ops", Name: "token", Key: "text"}, Version: "7"}
	want := []v1alpha1.SealedValue{{Attribute: "content", From: from, Key: "key of web-1", Value: []byte("content of File/a on web-1")}}
	if diff := cmp.Diff(want, entry.Sealed); diff != "" {
		t.Error(diff)
	}
	if got := string(entry.Attributes.Raw); got != `{"path":"/a"}` {
		t.Errorf("the attributes are %s", got)
	}
	if len(result.Catalogs) > 0 {
		t.Errorf("got shared catalogs: %v", result.Catalogs)
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if all := string(text) + fmt.Sprintf("%+v %#v", result, result); strings.Contains(all, "s3cret") {
		t.Errorf("it has a secret: %s", all)
	}
	if got := fmt.Sprintf("%v %+v %#v %s", secrets(from.KeyRef), secrets(from.KeyRef), secrets(from.KeyRef), secrets(from.KeyRef)); strings.Contains(got, "s3cret") {
		t.Errorf("a value prints as %s", got)
	}
}

func TestAChangedSecretIsSealedAgain(t *testing.T) {
	t.Parallel()

	resources := []v1alpha1.Resource{file("a", "/a", fromSecret("token", "text")), file("b", "/b", fromSecret("bad", "none")), file("c", "/c", rendering("{{ .node.name }}"))}
	in := compiler.Input{Nodes: []compiler.Node{node("web-1", "web")}, Resources: resources, Kinds: kinds(), Secret: secrets, Seal: sealing}
	before := compiler.Compile(in).Nodes["web-1"]
	if again := compiler.Compile(in).Nodes["web-1"]; !cmp.Equal(before.Spec, again.Spec) || before.Digest != again.Digest {
		t.Error("the same input gives something else")
	}
	in.Secret = func(ref v1alpha1.KeyRef) compiler.SecretValue {
		value := secrets(ref)
		value.Version = "8"
		return value
	}
	after := compiler.Compile(in).Nodes["web-1"]
	if before.Digest == after.Digest || before.EntryHash("File/a") == after.EntryHash("File/a") || before.EntryHash("File/c") != after.EntryHash("File/c") {
		t.Error("a new version does not change exactly the sealed value")
	}
	in.Nodes[0].PublicKey = "another"
	if rotated := compiler.Compile(in).Nodes["web-1"]; after.Digest == rotated.Digest {
		t.Error("a new key does not change the sealed value")
	}
}

func TestAnUnavailableSecretIsAProblem(t *testing.T) {
	t.Parallel()

	const unexposed = "contentFrom names Secret ops/%s, which does not exist or is not labelled fettle.dev/expose-to-nodes=true: create it, or label it"
	for name, tt := range map[string]struct {
		file         *v1alpha1.File
		reason, want string
	}{
		"a Secret that is not exposed":  {file("a", "/a", fromSecret("other", "text")), "UnexposedSecret", fmt.Sprintf(unexposed, "other")},
		"a missing key":                 {file("a", "/a", fromSecret("token", "none")), "MissingSource", `contentFrom names key "none" of Secret ops/token, which has no such key: add it, or correct contentFrom`},
		"a value that the type rejects": {file("a", "/a", fromSecret("bad", "text")), "InvalidSpec", "content is invalid (details omitted: the value is secret): see what the attribute accepts"},
		"nodes that can select themselves": {
			file("a", "/a", fromSecret("token", "text"), on("web"), when(`facts.os.family == "Debian"`)), "UnprotectedTargeting",
			"contentFrom sends a Secret to nodes that are selected by values a kubelet can set on its own node: facts, label role; select by node.name or by labels below node-restriction.kubernetes.io/, " +
				"which kubelets cannot set, or accept the risk with acceptSelfLabelledNodes: true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := compiled([]compiler.Node{node("web-1", "web")}, tt.file)
			want := []compiler.Problem{{Ref: "File/a", Reason: tt.reason, Message: tt.want}}
			if diff := cmp.Diff(want, result.Problems); diff != "" {
				t.Error(diff)
			}
			if len(result.Nodes["web-1"].Spec.Entries) > 0 {
				t.Error("the node has it")
			}
		})
	}
	if got := compiled([]compiler.Node{node("web-1", "web")}, file("a", "/a", fromSecret("token", "text"), on("web"), accepting)); len(got.Problems) > 0 {
		t.Errorf("the resource with acceptSelfLabelledNodes is withheld: %v", got.Problems)
	}
}

func TestPrepareBindsSecrets(t *testing.T) {
	t.Parallel()

	items, _, problems := compiler.Prepare(compiler.Input{Resources: []v1alpha1.Resource{file("a", "/a", fromSecret("token", "text"), on("web"))}, Kinds: kinds(), Secret: secrets})
	if len(problems) > 0 || len(items) != 1 || items[0].Invalid != nil || items[0].Resource == nil {
		t.Fatalf("got %v, %v", items, problems)
	}
}

func TestItemsOpenSealedValues(t *testing.T) {
	t.Parallel()

	entry := compiled([]compiler.Node{node("web-1", "web")}, file("a", "/a", fromSecret("token", "text"))).Nodes["web-1"].Spec.Entries
	open := func(value string, err error) catalog.Opener {
		return func(v1alpha1.ResourceRef, v1alpha1.SealedValue) ([]byte, error) { return []byte(value), err }
	}
	invalid := func(items []resource.Item) string { return fmt.Sprint(items[0].Invalid) }
	for want, got := range map[string]string{
		"<nil>":  invalid(catalog.Items(entry, kinds(), open("s3cret", nil))),
		"no key": invalid(catalog.Items(entry, kinds(), open("", errors.New("no key")))),
		"content of File/a is sealed: only the node that it was sealed for can open it":             invalid(catalog.Items(entry, kinds(), nil)),
		"content is invalid (details omitted: the value is secret): see what the attribute accepts": invalid(catalog.Items(entry, kinds(), open("refused", nil))),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
