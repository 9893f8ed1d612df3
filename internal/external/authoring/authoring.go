// Package authoring reads external types as their authors write them: in a directory with the files of their program.
package authoring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
	yamlutil "sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/aliases"
	"github.com/fettle-dev/fettle/internal/external/dscbuild"
	"github.com/fettle-dev/fettle/internal/external/scaffold"
	"github.com/fettle-dev/fettle/sdk"
)

// File returns the file with the types: type.yaml in it if the name belongs to a directory.
func File(name string) string {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return filepath.Join(name, scaffold.TypeFile)
	}
	return name
}

// Read reads the ExternalTypes of a file, or of type.yaml in a directory. A source file whose content is empty is read from
// the directory of that file, and cannot be outside of it; the files of package sdk come with this program unless there are
// others. A content such as ../lib/zone.py is the path of a file in a directory beside it. From the
// manifest of a DSC resource, which a base can be, too, Read makes the types of that resource; run runs commands of manifests.
func Read(ctx context.Context, name string, run dscbuild.Runner) ([]*v1alpha1.ExternalType, error) {
	return reader{run}.read(ctx, name, 0)
}

// A reader reads types with their bases.
type reader struct{ run dscbuild.Runner }

func (r reader) read(ctx context.Context, name string, depth int) ([]*v1alpha1.ExternalType, error) {
	if dscbuild.IsManifest(name) {
		return dscbuild.Read(ctx, name, r.run)
	}
	name = File(name)
	documents, err := decodeFile(name)
	if err != nil {
		return nil, err
	}
	var all []*v1alpha1.ExternalType
	for _, doc := range documents {
		t, fault := r.specialize(ctx, doc, filepath.Dir(name), depth)
		all, err = append(all, t), errors.Join(err, fault)
	}
	if err == nil && len(all) == 0 {
		err = errors.New("there is no ExternalType")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// Derives reports whether a type of a file has a base, so that it is incomplete as it is written.
func Derives(name string) bool {
	documents, err := decodeFile(File(name))
	return err == nil && slices.ContainsFunc(documents, func(d *document) bool { return d.Base != "" })
}

func decodeFile(name string) ([]*document, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	all, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// decode decodes documents.
func decode(text []byte) ([]*document, error) {
	var all []*document
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
func next(documents io.Reader, size int) (*document, error) {
	text := make([]byte, size+1)
	n, err := documents.Read(text)
	if err != nil {
		return nil, err
	}
	if text = bytes.TrimSpace(text[:n]); len(text) == 0 {
		return nil, nil
	}
	if err := aliases.Check(text); err != nil {
		return nil, err
	}
	t := &document{}
	if err := yamlutil.UnmarshalStrict(text, t); err != nil {
		return nil, err
	}
	if t.Kind != "ExternalType" || t.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("it has a %s of %q: only ExternalTypes of %s are built", t.Kind, t.APIVersion, v1alpha1.GroupVersion)
	}
	return t, nil
}

// embed sets the content of files.
func embed(t *v1alpha1.ExternalType, dir string) error {
	beneath, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = beneath.Close() }() // nothing is written
	above, err := os.OpenRoot(filepath.Join(dir, ".."))
	if err != nil {
		return err
	}
	defer func() { _ = above.Close() }() // nothing is written
	for _, name := range slices.Sorted(maps.Keys(t.Spec.Source.Files)) {
		content := t.Spec.Source.Files[name]
		var text []byte
		switch {
		case content == "":
			text, err = fs.ReadFile(beneath.FS(), name)
			if ours, isOurs := sdk.Files()[name]; isOurs && errors.Is(err, fs.ErrNotExist) {
				text, err = []byte(ours), nil
			}
		case beside(content):
			text, err = fs.ReadFile(above.FS(), strings.TrimPrefix(content, "../"))
		default:
			continue
		}
		if err != nil {
			return fmt.Errorf("spec.source.files[%s]: %w", name, err)
		}
		t.Spec.Source.Files[name] = string(text)
	}
	return nil
}
