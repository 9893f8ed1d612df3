package compiler_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/test/fixtures/hostile"
)

// An outline summarizes a result: the entries and the withheld resources of each node, and the problems.
type outline struct {
	Nodes    map[string]string
	Withheld map[string]string
	Problems []string
}

func outlineOf(t *testing.T, r compiler.Result) outline {
	t.Helper()
	o := outline{Nodes: map[string]string{}, Withheld: map[string]string{}}
	for name, n := range r.Nodes {
		entries, digest, err := catalog.Assemble(n.Spec, func(name string) (*v1alpha1.Catalog, error) {
			return r.Catalogs[name], catalog.Verify(name, r.Catalogs[name])
		})
		if err != nil {
			t.Fatalf("cannot assemble the entries of %s: %v", name, err)
		}
		if digest != n.Digest {
			t.Errorf("node %s: Assemble's digest is %s, Compile's %s", name, digest, n.Digest)
		}
		var has []string
		for _, e := range entries {
			if n.EntryHash(e.Ref()) == "" {
				t.Errorf("node %s: %s has no hash", name, e.Ref())
			}
			has = append(has, string(e.Ref()))
		}
		o.Nodes[name] = strings.Join(has, " ")
		for _, w := range n.Spec.Withheld {
			if n.EntryHash(w.Ref) != "" {
				t.Errorf("node %s: %s is withheld and has a hash", name, w.Ref)
			}
			o.Withheld[name] = strings.TrimSpace(o.Withheld[name] + " " + string(w.Ref) + ":" + w.Reason)
		}
	}
	for _, p := range r.Problems {
		o.Problems = append(o.Problems, strings.TrimSuffix(strings.Join([]string{string(p.Ref), p.Node, p.Reason, p.Message}, "|"), "|"))
	}
	return o
}

func TestCompile(t *testing.T) {
	t.Parallel()

	configMaps := func(ref v1alpha1.KeyRef) (string, bool) {
		return "hello\n", ref == v1alpha1.KeyRef{Namespace: "ops", Name: "motd", Key: "text"}
	}
	for name, tt := range map[string]struct {
		nodes     []compiler.Node
		resources []v1alpha1.Resource
		want      outline
	}{
		"a resource reaches the nodes that it selects": {
			nodes:     []compiler.Node{node("web-1", "web"), node("db-1", "db")},
			resources: []v1alpha1.Resource{file("a", "/a", on("web")), file("b", "/b")},
			want:      outline{Nodes: map[string]string{"web-1": "File/a File/b", "db-1": "File/b"}},
		},
		"an empty nodeSelector selects no node": {
			nodes:     []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{file("a", "/a", func(f *v1alpha1.File) { f.Spec.NodeSelector = nil })},
			want:      outline{Nodes: map[string]string{"web-1": ""}},
		},
		"when compares facts, including numbers": {
			nodes: []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{
				file("a", "/a", when(`facts.os.family == "Debian" && facts.processors.count >= 4`)),
				file("b", "/b", when(`facts.os.family == "RedHat"`)),
				file("c", "/c", when(`node.labels.role == "web" && node.name.startsWith("web-")`)),
			},
			want: outline{Nodes: map[string]string{"web-1": "File/a File/c"}},
		},
		"when waits for facts, and so do dependents": {
			nodes: []compiler.Node{factless("web-1", "web")},
			resources: []v1alpha1.Resource{
				file("a", "/a", when(`facts.os.family == "Debian"`)), file("b", "/b", requires("File/a")), file("c", "/c", when("true")),
			},
			want: outline{
				Nodes:    map[string]string{"web-1": "File/c"},
				Withheld: map[string]string{"web-1": "File/a:WaitingForFacts File/b:WaitingForFacts"},
				Problems: []string{
					"File/a||WaitingForFacts|waits for the facts of node web-1, which its agent has not reported yet",
					"File/b||WaitingForFacts|waits for File/a, which is withheld: WaitingForFacts",
				},
			},
		},
		"an error of when names the node and the expression": {
			nodes:     []compiler.Node{node("web-1", "web"), node("web-2", "web")},
			resources: []v1alpha1.Resource{file("a", "/a", when(`node.name == "web-1" || facts.rack == "7"`))},
			want: outline{
				Nodes:    map[string]string{"web-1": "File/a", "web-2": ""},
				Withheld: map[string]string{"web-2": "File/a:InvalidWhen"},
				Problems: []string{`File/a|web-2|InvalidWhen|when "node.name == \"web-1\" || facts.rack == \"7\"" fails on node web-2: no such key: rack`},
			},
		},
		"when must be a CEL expression of type bool": {
			nodes:     []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{file("a", "/a", when("fact.x")), file("b", "/b", when("1 + 1")), file("c", "/c", when("facts.os.family")), file("d", "/d")},
			want: outline{
				Nodes:    map[string]string{"web-1": "File/d"},
				Withheld: map[string]string{"web-1": "File/a:InvalidWhen File/b:InvalidWhen File/c:InvalidWhen"},
				Problems: []string{
					`File/a||InvalidWhen|when "fact.x" is invalid: line 1, column 1: undeclared reference to 'fact' (in container '')`,
					`File/b||InvalidWhen|when "1 + 1" is invalid: it returns int, but must return bool`,
					`File/c||InvalidWhen|when "facts.os.family" fails on node web-1: it returns string, but must return bool`,
				},
			},
		},
		"an invalid nodeSelector is reported": {
			nodes: []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{file("a", "/a", func(f *v1alpha1.File) {
				f.Spec.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "role", Operator: "Like"}}}
			})},
			want: outline{
				Nodes:    map[string]string{"web-1": ""},
				Problems: []string{`File/a||InvalidSelector|nodeSelector is invalid: "Like" is not a valid label selector operator`},
			},
		},
		"two resources with one path are withheld and name each other": {
			nodes:     []compiler.Node{node("web-1", "web"), node("db-1", "db")},
			resources: []v1alpha1.Resource{file("a", "/etc/motd"), file("b", "/etc/motd/", on("web")), file("c", "/c")},
			want: outline{
				Nodes:    map[string]string{"web-1": "File/c", "db-1": "File/a File/c"},
				Withheld: map[string]string{"web-1": "File/a:Conflict File/b:Conflict"},
				Problems: []string{
					`File/a|web-1|Conflict|path "/etc/motd" is also claimed by File/b on the same node: keep one, or let their nodeSelector or when exclude each other`,
					`File/b||Conflict|path "/etc/motd" is also claimed by File/a on the same node: keep one, or let their nodeSelector or when exclude each other`,
				},
			},
		},
		"a conflict names at most five others": {
			nodes: []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{
				file("0", "/0"), file("a", "/a", on("web")), file("b", "/a", on("web")), file("c", "/a", on("web")),
				file("d", "/a", on("web")), file("e", "/a", on("web")), file("f", "/a", on("web")),
			},
			want: outline{
				Nodes:    map[string]string{"web-1": "File/0"},
				Withheld: map[string]string{"web-1": "File/a:Conflict File/b:Conflict File/c:Conflict File/d:Conflict File/e:Conflict File/f:Conflict"},
				Problems: []string{
					conflictOver("a", "File/b, File/c, File/d, File/e, File/f"), conflictOver("b", "File/a, File/c, File/d, File/e, File/f"),
					conflictOver("c", "File/a, File/b, File/d, File/e, File/f"), conflictOver("d", "File/a, File/b, File/c, File/e, File/f"),
					conflictOver("e", "File/a, File/b, File/c, File/d, File/f"), conflictOver("f", "File/a, File/b, File/c, File/d, File/e"),
				},
			},
		},
		"two kinds may use the same name": {
			nodes:     []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{service("nginx"), pkg("nginx")},
			want:      outline{Nodes: map[string]string{"web-1": "Package/nginx SystemService/nginx"}},
		},
		"a missing reference lists what exists": {
			nodes: []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{
				file("a", "/a", requires("File/bb")), file("b", "/b", notifies("SystemService/nginx")),
				file("c", "/c", requires("File/d")), file("d", "/d", on("db")),
			},
			want: outline{
				Nodes:    map[string]string{"web-1": ""},
				Withheld: map[string]string{"web-1": "File/a:MissingReference File/b:MissingReference File/c:MissingReference"},
				Problems: []string{
					"File/a||MissingReference|require names File/bb, which does not exist; the node has File/a, File/b, File/c",
					"File/b||MissingReference|notify names SystemService/nginx, which does not exist; the node has no SystemService",
					"File/c||MissingReference|require names File/d, which does not apply to the same node: see its nodeSelector and when",
				},
			},
		},
		"a reference to a resource of Puppet names the kind": {
			nodes:     []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{file("a", "/a", notifies("Service/nginx"), requires("Cron/a"))},
			want: outline{
				Nodes:    map[string]string{"web-1": ""},
				Withheld: map[string]string{"web-1": "File/a:MissingReference"},
				Problems: []string{
					"File/a||MissingReference|notify names Service/nginx, which does not exist: write SystemService/nginx",
					"File/a||MissingReference|require names Cron/a, which does not exist: Puppet's cron does not exist here: use a File in /etc/cron.d, or Files for a systemd timer",
				},
			},
		},
		"a cycle is reported with its path, and dependents wait": {
			nodes: []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{
				file("a", "/a", requires("File/c")), file("b", "/b", requires("File/a")), file("c", "/c", requires("File/b")),
				file("d", "/d", requires("File/a")), file("e", "/e"),
			},
			want: outline{
				Nodes:    map[string]string{"web-1": "File/e"},
				Withheld: map[string]string{"web-1": "File/a:DependencyCycle File/b:DependencyCycle File/c:DependencyCycle File/d:DependsOnProblem"},
				Problems: []string{
					"File/a||DependencyCycle|File/a -> File/b -> File/c -> File/a is a cycle: remove one of these edges",
					"File/b||DependencyCycle|File/a -> File/b -> File/c -> File/a is a cycle: remove one of these edges",
					"File/c||DependencyCycle|File/a -> File/b -> File/c -> File/a is a cycle: remove one of these edges",
					"File/d||DependsOnProblem|waits for File/a, which is withheld: DependencyCycle",
				},
			},
		},
		"a resource that requires itself is a cycle": {
			nodes:     []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{file("a", "/a", requires("File/a"))},
			want: outline{
				Nodes:    map[string]string{"web-1": ""},
				Withheld: map[string]string{"web-1": "File/a:DependencyCycle"},
				Problems: []string{"File/a||DependencyCycle|File/a -> File/a is a cycle: remove one of these edges"},
			},
		},
		"direct and indirect dependents of a withheld resource wait": {
			nodes: []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{
				file("a", "/x", notifies("SystemService/s")), file("b", "/x"), service("s"), file("z", "/z", requires("SystemService/s")),
			},
			want: outline{
				Nodes:    map[string]string{"web-1": ""},
				Withheld: map[string]string{"web-1": "File/a:Conflict File/b:Conflict File/z:DependsOnProblem SystemService/s:DependsOnProblem"},
				Problems: []string{
					`File/a||Conflict|path "/x" is also claimed by File/b on the same node: keep one, or let their nodeSelector or when exclude each other`,
					`File/b||Conflict|path "/x" is also claimed by File/a on the same node: keep one, or let their nodeSelector or when exclude each other`,
					"File/z||DependsOnProblem|waits for File/a, which is withheld: Conflict",
					"SystemService/s||DependsOnProblem|waits for File/a, which is withheld: Conflict",
				},
			},
		},
		"content is read from a ConfigMap": {
			nodes:     []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{file("a", "/a", from("motd", "text")), file("b", "/b", from("motd", "other"))},
			want: outline{
				Nodes:    map[string]string{"web-1": "File/a"},
				Withheld: map[string]string{"web-1": "File/b:MissingSource"},
				Problems: []string{`File/b||MissingSource|contentFrom names key "other" of ConfigMap ops/motd, which does not exist: create it, or correct contentFrom`},
			},
		},
		"templates are rendered, wait for facts, and fail with node and line": {
			nodes: []compiler.Node{node("web-1", "web"), factless("web-2", "web")},
			resources: []v1alpha1.Resource{
				file("a", "/a", rendering("{{ .facts.os.family | upper }}")),
				file("b", "/b", rendering("ok\n{{ .node.labels.rack }}")),
				file("c", "/c", rendering("{{ if }}")),
				file("d", "/d", rendering("{{ .node.name }}")),
				file("e", "/e", rendering("{{ now }}")),
				file("f", "/f", rendering(`{{ "refu" }}sed`)),
				file("g", "/g", rendering(`{{ range 1000000000 }}{{ end }}`)),
			},
			want: outline{
				Nodes: map[string]string{"web-1": "File/a File/d", "web-2": "File/d"},
				Withheld: map[string]string{
					"web-1": "File/b:InvalidTemplate File/c:InvalidTemplate File/e:InvalidTemplate File/f:InvalidSpec File/g:InvalidTemplate",
					"web-2": "File/a:WaitingForFacts File/b:InvalidTemplate File/c:InvalidTemplate File/e:InvalidTemplate File/f:InvalidSpec File/g:InvalidTemplate",
				},
				Problems: []string{
					"File/a|web-2|WaitingForFacts|waits for the facts of node web-2, which its agent has not reported yet",
					`File/b|web-1|InvalidTemplate|cannot render contentTemplate on node web-1: line 2:8: executing "contentTemplate" at <.node.labels.rack>: map has no entry for key "rack"`,
					`File/b|web-2|InvalidTemplate|cannot render contentTemplate on node web-2: line 2:8: executing "contentTemplate" at <.node.labels.rack>: map has no entry for key "rack"`,
					"File/c||InvalidTemplate|cannot parse contentTemplate: line 1: missing value for if",
					`File/e||InvalidTemplate|cannot parse contentTemplate: line 1: function "now" not defined`,
					`File/f||InvalidSpec|content "refused" is not allowed: write something else`,
					"File/g|web-1|InvalidTemplate|cannot render contentTemplate on node web-1: it exceeds the limit of one evaluation, about 100 ms or 48 MiB: loop over less, or generate less text and shorter lists",
					"File/g|web-2|InvalidTemplate|cannot render contentTemplate on node web-2: it exceeds the limit of one evaluation, about 100 ms or 48 MiB: loop over less, or generate less text and shorter lists",
				},
			},
		},
		"rejected attributes affect only their resource": {
			nodes:     []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{file("a", "/a", content("refused")), file("b", "/b")},
			want: outline{
				Nodes:    map[string]string{"web-1": "File/b"},
				Withheld: map[string]string{"web-1": "File/a:InvalidSpec"},
				Problems: []string{`File/a||InvalidSpec|content "refused" is not allowed: write something else`},
			},
		},
		"an unknown kind is reported": {
			nodes:     []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{&v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: "ann"}, Spec: v1alpha1.UserSpec{Targeting: v1alpha1.Targeting{NodeSelector: everywhere()}}}},
			want: outline{
				Nodes:    map[string]string{"web-1": ""},
				Withheld: map[string]string{"web-1": "User/ann:InvalidSpec"},
				Problems: []string{`User/ann||InvalidSpec|kind "User" is not known to this version of Fettle, which has: File, Package, SystemService`},
			},
		},
		"an unknown provider is reported": {
			nodes: []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{
				file("a", "/a", func(f *v1alpha1.File) { f.Spec.Provider = "windows" }), file("b", "/b"),
			},
			want: outline{
				Nodes:    map[string]string{"web-1": "File/b"},
				Withheld: map[string]string{"web-1": "File/a:InvalidSpec"},
				Problems: []string{`File/a||InvalidSpec|provider "windows" is not one of kind File, which has []`},
			},
		},
		"two resources with the same name are both withheld": {
			nodes:     []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{file("a", "/a"), file("a", "/b")},
			want: outline{
				Nodes:    map[string]string{"web-1": ""},
				Withheld: map[string]string{"web-1": "File/a:Conflict"},
				Problems: []string{"File/a||Conflict|File/a is defined more than once: give each its own metadata.name"},
			},
		},
		"an entry too large for a catalog is reported": {
			nodes:     []compiler.Node{node("web-1", "web")},
			resources: []v1alpha1.Resource{file("a", "/a", content(strings.Repeat("x", 600<<10))), file("b", "/b", rendering(`{{ repeat 400000 "x" }}`))},
			want: outline{
				Nodes:    map[string]string{"web-1": ""},
				Withheld: map[string]string{"web-1": "File/a:TooLarge File/b:TooLarge"},
				Problems: []string{
					"File/a||TooLarge|it takes 600 KiB, and a catalog has room for 512: let the host fetch so large a file",
					"File/b||TooLarge|cannot render contentTemplate on node web-1: content is longer than 384 KiB",
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := outlineOf(t, compiler.Compile(compiler.Input{Nodes: tt.nodes, Resources: tt.resources, Kinds: kinds(), ConfigMap: configMaps, Secret: secrets, Seal: sealing}))
			if tt.want.Withheld == nil {
				tt.want.Withheld = map[string]string{}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// conflictOver returns the problem of a file that has the same path as others.
func conflictOver(name, others string) string {
	return "File/" + name + `||Conflict|path "/a" is also claimed by ` + others + " on the same node: keep one, or let their nodeSelector or when exclude each other"
}

// Errors quote text that authors and nodes choose.
func TestMessagesArePrintableWhateverTheyQuote(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for range 500 {
		s := hostile.String(random)
		quoted := strconv.Quote(strings.ToValidUTF8(s, "?"))
		n := node("web-1", "web")
		n.Facts = func() resource.Facts {
			return resource.Facts{"os": map[string]any{"family": s}, s: map[string]any{s: s}}
		}
		result := new(compiler.Compiler).Compile(compiler.Input{Kinds: kinds(), Nodes: []compiler.Node{n}, Resources: []v1alpha1.Resource{
			file("a", "/a", when(s)),
			file("b", "/b", when(`facts.os.family.matches("(")`)),
			file("c", "/c", when(`facts[`+quoted+`][facts.os.family + "x"] == 1`)),
			file("d", "/d", rendering("{{"+s+"}}")),
			file("e", "/e", rendering("{{ fail .facts.os.family }}")),
			file("f", "/f", rendering("{{ atoi .facts.os.family | add `"+strings.ReplaceAll(s, "`", "'")+"` }}")),
			file("g", "/g", content("refused"), func(f *v1alpha1.File) { f.Spec.Path += s }),
			file("h", "/h", requires(v1alpha1.ResourceRef("File/"+s))),
			file("i", "/i", from(s, s)),
			file("j", "/j", fromSecret(s, s)),
			file("k", "/k"+s), file("l", "/k"+s),
			file("m", "/m", func(f *v1alpha1.File) { f.Spec.Provider = s + "x" }),
			file("n", "/n", func(f *v1alpha1.File) {
				f.Spec.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: s, Operator: metav1.LabelSelectorOperator(s)}}}
			}),
			file("o", "/o", requires(v1alpha1.ResourceRef(s))),
		}})
		messages := map[string]string{}
		for _, p := range result.Problems {
			messages[string(p.Ref)+" "+p.Reason] = p.Message
			seen[p.Reason] = true
		}
		for _, w := range result.Nodes["web-1"].Spec.Withheld {
			messages[string(w.Ref)+" withheld"] = w.Message
		}
		for where, message := range messages {
			if message != text.Line(message) {
				t.Fatalf("%q: %s says %q", s, where, message)
			}
		}
	}
	if want := 7; len(seen) < want {
		t.Errorf("saw %v, want %d reasons at least", seen, want)
	}
}
