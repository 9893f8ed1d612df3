package nodeagent_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/image/archive"
)

// note is a program for one resource, which writes its version.
const note = `#!/bin/sh
echo '{"answer":"hello","protocol":"Fettle/1"}'
while read -r line; do
	case $line in
	*'"request":"get"'*)
		state=null
		if [ -e /etc/note ]; then state='{"name":"hello"}'; fi
		echo '{"answer":"get","name":"hello","state":'"$state"'}' ;;
	*'"request":"set"'*)
		echo VERSION >/etc/note
		echo '{"answer":"set","name":"hello"}' ;;
	esac
done
`

// A shutRegistry answers nothing while it is shut.
type shutRegistry struct {
	http.Handler
	shut atomic.Bool
}

func (r *shutRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if r.shut.Load() {
		http.Error(w, "maintenance", http.StatusForbidden)
		return
	}
	r.Handler.ServeHTTP(w, req)
}

// notes returns a version of a type with its program in a registry.
func notes(t *testing.T, at, version string) *v1alpha1.ExternalType {
	t.Helper()
	program := archive.Source{Name: "main.sh", Executable: true, Content: []byte(strings.ReplaceAll(note, "VERSION", version))}
	ref, err := image.Push(t.Context(), at+"/types/note:"+version, map[image.Platform][]archive.Source{{}: {program}})
	must(t, err)
	return noteType(version, v1alpha1.ExternalSource{Image: ref})
}

func noteType(version string, source v1alpha1.ExternalSource) *v1alpha1.ExternalType {
	typ := &v1alpha1.ExternalType{Spec: v1alpha1.ExternalTypeSpec{
		Kind: "Note", Version: version, Description: "Manages a note.",
		Attributes: []v1alpha1.ExternalAttribute{{
			Name: "name", Description: "Its name.", Behaviour: v1alpha1.BehaviourNamevar, Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string"}`)},
		}},
		Providers: []v1alpha1.ExternalProvider{{Name: "sh", Command: []string{"./main.sh"}}},
		Source:    source,
	}}
	typ.Name = "notes"
	return typ
}

// useType applies a type, and sets the machine's desired state to a note and a file.
func (m *machine) useType(typ *v1alpha1.ExternalType) *v1alpha1.NodeCatalog {
	m.t.Helper()
	var is v1alpha1.ExternalType
	if err := m.w.admin.Get(m.t.Context(), client.ObjectKeyFromObject(typ), &is); err != nil {
		must(m.t, client.IgnoreNotFound(err))
		must(m.t, m.w.admin.Create(m.t.Context(), typ.DeepCopy()))
	} else {
		is.Spec = typ.Spec
		must(m.t, m.w.admin.Update(m.t.Context(), &is))
	}
	must(m.t, m.w.admin.Get(m.t.Context(), client.ObjectKeyFromObject(typ), &is))
	digest, err := definition.Digest(is.Spec)
	must(m.t, err)
	hello := v1alpha1.CatalogEntry{Kind: "Note", Name: "hello", Type: "notes@" + digest, Attributes: &runtime.RawExtension{Raw: []byte(`{"ensure": "present"}`)}}
	return m.should(hello, fileEntry("motd", typ.Spec.Version))
}

func keepsLastProgram(t *testing.T, m *machine) {
	m.installDebian()
	images := &shutRegistry{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	s := httptest.NewServer(images)
	t.Cleanup(s.Close)
	at := strings.TrimPrefix(s.URL, "http://")
	one, two := notes(t, at, "1"), notes(t, at, "2")
	images.shut.Store(true)
	m.start()
	failed := m.applied(m.useType(one))
	m.Expect(m.file("motd").text()).To(Equal("1"))
	m.Expect(condition(failed, "Ready")).To(Equal("False ResourcesFailed: 1 failed: Note/hello"))
	why := fmt.Sprintf("cannot pull %s: the registry responded with 403 Forbidden: check the credentials in --registry-config, and what they may read", one.Spec.Source.Image)
	m.Expect(failed.Status.Resources[0].Message).To(ContainSubstring(why))

	images.shut.Store(false)
	m.passes("the image is pulled", func(g Gomega) { g.Expect(condition(m.object(), "Ready")).To(HavePrefix("True")) })
	m.Expect(m.file("note").text()).To(Equal("1\n"))

	images.shut.Store(true)
	outdated := m.applied(m.useType(two))
	m.Expect(m.file("motd").text()).To(Equal("2"))
	m.Expect(condition(outdated, "Ready")).To(HavePrefix("True"))
	m.Expect(condition(outdated, "Degraded")).To(Equal("True TypesOutdated: Note: " + strings.ReplaceAll(why, one.Spec.Source.Image, two.Spec.Source.Image) + "; version 1 stays in use"))
	m.stop()
	m.file("note").remove()
	m.start() // also an agent that has just been started has the last program
	m.passes("the old program corrects drift", func(g Gomega) { g.Expect(m.file("note").text()).To(Equal("1\n")) })

	images.shut.Store(false)
	m.passes("the new image is pulled", func(g Gomega) { g.Expect(condition(m.object(), "Degraded")).To(HavePrefix("False")) })
	m.file("note").remove()
	m.passes("the new program corrects drift", func(g Gomega) { g.Expect(m.file("note").text()).To(Equal("2\n")) })
}
