package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// build returns the image of files for an architecture.
func build(o options, arch string, files []string) (v1.Image, error) {
	content, err := archive(o, files)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: o.created}
	image, err := mutate.Append(empty.Image, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "hack/image"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, created
	config.Config = v1.Config{Entrypoint: []string{o.entrypoint}, User: o.user, Labels: o.labels, Env: []string{"PATH=/"}}
	return mutate.ConfigFile(image, config)
}

// archive returns a tar archive with the files in its root, owned by root and executable.
func archive(o options, files []string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		header := &tar.Header{Name: filepath.Base(path), Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg, ModTime: o.created}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

// writeOCI writes an archive of an OCI layout with an index of images, and returns the digest of the index.
func writeOCI(file string, ref name.Tag, images map[string]v1.Image, arches []string) (v1.Hash, error) {
	var index v1.ImageIndex = empty.Index
	for _, arch := range arches {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: images[arch], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	digest, err := index.Digest()
	if err != nil {
		return v1.Hash{}, err
	}
	top := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{Annotations: map[string]string{
		"org.opencontainers.image.ref.name": ref.TagStr(), // for skopeo
		"io.containerd.image.name":          ref.Name(),   // for ctr
	}}})
	dir, err := os.MkdirTemp("", "fettle-image-")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(dir)
	if _, err := layout.Write(dir, top); err != nil {
		return v1.Hash{}, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return v1.Hash{}, err
	}
	out, err := os.Create(file)
	if err != nil {
		return v1.Hash{}, err
	}
	defer out.Close()
	if err := pack(out, os.DirFS(dir)); err != nil {
		return v1.Hash{}, err
	}
	return digest, out.Close()
}

// pack writes the regular files of a directory to a tar archive, in the order of their names and without their times.
func pack(to io.Writer, dir fs.FS) error {
	w := tar.NewWriter(to)
	err := fs.WalkDir(dir, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(dir, path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		_, err = w.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return w.Close()
}
