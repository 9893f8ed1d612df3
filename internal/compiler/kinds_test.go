package compiler_test

import (
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// kinds can only be bound, which is all that the compiler needs.
func kinds() []resource.Kind {
	file := &resource.Type[v1alpha1.FileAttributes]{
		Name: "File", NamevarName: "path",
		Namevar: func(a *v1alpha1.FileAttributes) *string { return &a.Path },
		Secrets: map[string]func(*v1alpha1.FileAttributes, string){
			"content": func(a *v1alpha1.FileAttributes, value string) { a.Content = &value },
			"ca":      func(a *v1alpha1.FileAttributes, value string) { a.CA = &value },
		},
		SecretEntries: map[string]func(*v1alpha1.FileAttributes, string, string){"headers": func(*v1alpha1.FileAttributes, string, string) {}},
		Exists:        func(a v1alpha1.FileAttributes) bool { return a.Ensure == nil || *a.Ensure != resource.Absent },
		Deletion: &resource.Deletion[v1alpha1.FileAttributes]{Delete: func(a v1alpha1.FileAttributes) v1alpha1.FileAttributes {
			return v1alpha1.FileAttributes{Path: a.Path, Ensure: new(resource.Absent)}
		}},
		Location: func(a v1alpha1.FileAttributes) string {
			if a.Recurse != nil && *a.Recurse {
				return a.Path + "/"
			}
			return a.Path
		},
		Normalize: func(a *v1alpha1.FileAttributes) { a.Path = "/" + strings.Trim(a.Path, "/") },
		Validate: func(a v1alpha1.FileAttributes) error {
			if a.Content != nil && strings.Contains(*a.Content, "refused") {
				return errors.New(`content "refused" is not allowed: write something else`)
			}
			return nil
		},
	}
	pkg := &resource.Type[v1alpha1.PackageAttributes]{
		Name: "Package", NamevarName: "name",
		Namevar: func(a *v1alpha1.PackageAttributes) *string { return &a.Name },
	}
	service := &resource.Type[v1alpha1.SystemServiceAttributes]{
		Name: "SystemService", NamevarName: "name",
		Namevar: func(a *v1alpha1.SystemServiceAttributes) *string { return &a.Name },
	}
	return []resource.Kind{bound.Kind(file), bound.Kind(pkg), bound.Kind(service)}
}

func everywhere() *metav1.LabelSelector { return &metav1.LabelSelector{} }

func onRole(role string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"role": role}}
}

func file(name, path string, adjust ...func(*v1alpha1.File)) *v1alpha1.File {
	f := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	f.Spec.NodeSelector = everywhere()
	f.Spec.Path = path
	for _, a := range adjust {
		a(f)
	}
	return f
}

func service(name string, adjust ...func(*v1alpha1.SystemService)) *v1alpha1.SystemService {
	s := &v1alpha1.SystemService{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	s.Spec.NodeSelector = everywhere()
	for _, a := range adjust {
		a(s)
	}
	return s
}

func pkg(name string) *v1alpha1.Package {
	p := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	p.Spec.NodeSelector = everywhere()
	return p
}

func on(role string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.NodeSelector = onRole(role) }
}

func when(expression string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.When = expression }
}

func requires(refs ...v1alpha1.ResourceRef) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.Require = refs }
}

func notifies(refs ...v1alpha1.ResourceRef) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.Notify = refs }
}

func content(text string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.Content = &text }
}

func rendering(text string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.ContentTemplate = &text }
}

func from(name, key string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) {
		f.Spec.ContentFrom = &v1alpha1.ValueSource{ConfigMapKeyRef: &v1alpha1.KeyRef{Namespace: "ops", Name: name, Key: key}}
	}
}

func fromSecret(name, key string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) {
		f.Spec.ContentFrom = &v1alpha1.ValueSource{SecretKeyRef: &v1alpha1.KeyRef{Namespace: "ops", Name: name, Key: key}}
	}
}

func accepting(f *v1alpha1.File) { f.Spec.AcceptSelfLabelledNodes = true }

func node(name, role string) compiler.Node {
	return compiler.Node{
		Name: name, PublicKey: "key of " + name,
		Labels: map[string]string{"role": role},
		Facts: func() resource.Facts {
			return resource.Facts{"os": map[string]any{"family": "Debian"}, "processors": map[string]any{"count": 4.0}}
		},
	}
}

func factless(name, role string) compiler.Node {
	n := node(name, role)
	n.Facts = nil
	return n
}

func keyless(name, role string) compiler.Node {
	n := node(name, role)
	n.PublicKey = ""
	return n
}

func requirement(key, operator string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOperator(operator)}
}

func refs(entries []v1alpha1.CatalogEntry) []v1alpha1.ResourceRef {
	var all []v1alpha1.ResourceRef
	for _, e := range entries {
		all = append(all, e.Ref())
	}
	return all
}
