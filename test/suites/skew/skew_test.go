//go:build rare

package skew_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// The steps go through all combinations of older and newer definitions, managers and agents, and exchange one of the three each time. A File that does not
// change must not be written again in any of them.
func TestVersionsWorkTogether(t *testing.T) {
	f := newFixture(t)
	now := thisVersion(t)
	old := olderVersion(t, now)

	var previous *change
	steady := &change{f: f, name: "steady"}
	step := func(name string, exchange func()) {
		t.Logf("step: %s", name)
		exchange()
		next := &change{f: f, name: fmt.Sprintf("step-%s", strings.ReplaceAll(name, " ", "-"))}
		next.apply()
		previous.remove()
		next.awaitApplied()
		previous.awaitRemoved()
		previous = next
		steady.checkNotWritten()
	}
	step("everything is older", func() {
		f.install(old)
		f.startManager(old)
		f.startAgent(old)
		steady.apply()
		steady.awaitApplied()
		record(t, f)
	})
	step("only definitions are newer", func() { f.install(now) })
	step("only the agent is older", func() { f.startManager(now) })
	step("only the manager is newer", func() { f.install(old) })
	step("only definitions are older", func() { f.startAgent(now) })
	step("nothing is older", func() { f.install(now) })
	step("only the manager is older", func() { f.startManager(old) })
	step("only the agent is newer", func() { f.install(old) })
	step("everything is older again", func() { f.startAgent(old) })
}

func record(t *testing.T, f *fixture) {
	t.Helper()
	if os.Getenv("FETTLE_SKEW_RECORD") == "" {
		return
	}
	var catalogs v1alpha1.CatalogList
	must(t, f.admin.List(t.Context(), &catalogs))
	var nc v1alpha1.NodeCatalog
	must(t, f.admin.Get(t.Context(), client.ObjectKey{Name: node}, &nc))
	nc.ManagedFields = nil
	nc.Status.Facts = &runtime.RawExtension{Raw: []byte(`{"kernel":"Linux"}`)} // the others describe the machine of the test
	for file, object := range map[string]any{recordedCatalogs: catalogs, recordedNode: nc} {
		text, err := yaml.Marshal(object)
		must(t, err)
		must(t, os.WriteFile(file, text, 0o644))
	}
}

// A change is a File, an Exec, and a File with a sealed value, which are created and removed together.
type change struct {
	f    *fixture
	name string

	firstWritten time.Time
}

// checkNotWritten checks that the file on the host has not been written since the first call.
func (c *change) checkNotWritten() {
	c.f.t.Helper()
	is, err := os.Stat(filepath.Join(c.f.root, c.path()))
	must(c.f.t, err)
	if c.firstWritten.IsZero() {
		c.firstWritten = is.ModTime()
	}
	c.f.Expect(is.ModTime()).To(Equal(c.firstWritten))
}

func (c *change) path() string { return "/etc/" + c.name }

// resources returns new objects.
func (c *change) resources() []v1alpha1.Resource {
	file := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: c.name}}
	file.Spec.NodeSelector, file.Spec.DeletionPolicy = &metav1.LabelSelector{}, v1alpha1.DeletionDelete
	file.Spec.Path, file.Spec.Content = c.path(), new(c.name+"\n")

	exec := &v1alpha1.Exec{ObjectMeta: metav1.ObjectMeta{Name: c.name}}
	exec.Spec.NodeSelector, exec.Spec.Require = &metav1.LabelSelector{}, []v1alpha1.ResourceRef{v1alpha1.ResourceRef("File/" + c.name)}
	exec.Spec.Command, exec.Spec.Shell = fmt.Sprintf("cat %s >> /executed && touch %s.done", c.path(), c.path()), new(true)
	exec.Spec.Creates = []string{c.path() + ".done"}

	sealed := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: c.name + "-sealed"}}
	sealed.Spec.NodeSelector, sealed.Spec.DeletionPolicy = &metav1.LabelSelector{MatchLabels: map[string]string{protected: "web"}}, v1alpha1.DeletionDelete
	sealed.Spec.Path, sealed.Spec.ContentFrom = c.path()+"-sealed", &v1alpha1.ValueSource{SecretKeyRef: &v1alpha1.KeyRef{Namespace: "default", Name: "password", Key: "value"}}
	return []v1alpha1.Resource{file, exec, sealed}
}

func (c *change) apply() {
	c.f.t.Helper()
	for _, o := range c.resources() {
		must(c.f.t, c.f.admin.Create(c.f.t.Context(), o))
	}
}

// awaitApplied waits until the host has the change and the statuses say so. Commands of earlier changes must not have run again.
func (c *change) awaitApplied() {
	c.f.t.Helper()
	for _, o := range c.resources() {
		c.f.awaitReady(o)
	}
	c.f.Expect(c.f.hostFile(c.path())).To(Equal(c.name + "\n"))
	c.f.Expect(c.f.hostFile(c.path() + "-sealed")).To(Equal("sealed\n"))
	executed := strings.Fields(c.f.hostFile("/executed"))
	c.f.Expect(executed).To(ContainElement(c.name))
	c.f.Expect(executed).To(HaveLen(countUnique(executed)), "a command ran twice: %q", executed)
}

func (c *change) remove() {
	if c == nil {
		return
	}
	c.f.t.Helper()
	for _, o := range c.resources() {
		must(c.f.t, c.f.admin.Delete(c.f.t.Context(), o))
	}
}

// awaitRemoved waits until the objects are deleted, which requires that the node has cleaned up.
func (c *change) awaitRemoved() {
	if c == nil {
		return
	}
	c.f.t.Helper()
	for _, o := range c.resources() {
		c.f.eventually(o.KindName()+"/"+o.GetName()+" is deleted", func(g Gomega) {
			err := c.f.admin.Get(c.f.t.Context(), client.ObjectKeyFromObject(o), o)
			g.Expect(client.IgnoreNotFound(err)).To(Succeed())
			g.Expect(err).To(HaveOccurred(), "%s", describe(o))
		})
	}
	c.f.Expect(c.f.hostFile(c.path())).To(BeEmpty())
	c.f.Expect(c.f.hostFile(c.path() + "-sealed")).To(BeEmpty())
}

func describe(o v1alpha1.Resource) string {
	if c := meta.FindStatusCondition(o.GetStatus().Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason + ": " + c.Message
	}
	return "no condition"
}

func countUnique(all []string) int {
	unique := map[string]bool{}
	for _, s := range all {
		unique[s] = true
	}
	return len(unique)
}
