// Package authoring reads external types as their authors write them: in a directory with the files of their program.
package authoring

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/util/yaml"
	yamlutil "sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/scaffold"
	"github.com/fettle-dev/fettle/sdk"
)

// File returns the file with the types: type.yaml if the name is that of a directory.
func File(name string) string {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return filepath.Join(name, scaffold.TypeFile)
	}
	return name
}

// Read reads the ExternalTypes of a file, or of type.yaml in a directory. A source file whose content is empty is read from
// the directory of that file, and cannot be outside of it; the files of package sdk come with this program unless there are others.
func Read(name string) ([]*v1alpha1.ExternalType, error) {
	name = File(name)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing is written
	all, err := decode(text)
	for _, t := range all {
		err = errors.Join(err, embed(t, root.FS()))
	}
	if err == nil && len(all) == 0 {
		err = errors.New("there is no ExternalType")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// decode decodes documents.
func decode(text []byte) ([]*v1alpha1.ExternalType, error) {
	var all []*v1alpha1.ExternalType
	for documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text))); ; {
		t, err := next(documents, len(text))
		switch {
		case err == io.EOF: //nolint:errorlint // as io.Reader returns it
			return all, nil
		case err != nil:
			return nil, err
		case t != nil:
			all = append(all, t)
		}
	}
}

// next decodes the next document; nil if it is empty.
func next(documents io.Reader, size int) (*v1alpha1.ExternalType, error) {
	text := make([]byte, size+1)
	n, err := documents.Read(text)
	if err != nil {
		return nil, err
	}
	if text = bytes.TrimSpace(text[:n]); len(text) == 0 {
		return nil, nil
	}
	t := &v1alpha1.ExternalType{}
	if err := yamlutil.UnmarshalStrict(text, t); err != nil {
		return nil, err
	}
	if t.Kind != "ExternalType" || t.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("it has a %s of %q: only ExternalTypes of %s are built", t.Kind, t.APIVersion, v1alpha1.GroupVersion)
	}
	return t, nil
}

// embed sets the content of files.
func embed(t *v1alpha1.ExternalType, dir fs.FS) error {
	for _, name := range slices.Sorted(maps.Keys(t.Spec.Source.Files)) {
		if t.Spec.Source.Files[name] != "" {
			continue
		}
		text, err := fs.ReadFile(dir, name)
		ours, isOurs := sdk.Files()[name]
		switch {
		case err == nil:
			t.Spec.Source.Files[name] = string(text)
		case errors.Is(err, fs.ErrNotExist) && isOurs:
			t.Spec.Source.Files[name] = ours
		default:
			return fmt.Errorf("spec.source.files[%s]: %w", name, err)
		}
	}
	return nil
}
