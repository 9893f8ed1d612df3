package authoring

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/dsc"
	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/internal/external/scaffold"
)

// Program returns the files of the program that types in a file share: spec.source.files, which Read has set, and for a type with
// spec.source.image all files in the directory of that file. The file itself, hidden files and caches of Python are not part
// of it.
// The files of more directories replace others of the same name.
func Program(name string, all []*v1alpha1.ExternalType, dirs ...string) ([]archive.Source, error) {
	files := map[string]archive.Source{}
	for _, t := range all {
		if t.Spec.Source.HostPath != "" {
			return nil, fmt.Errorf("ExternalType %s has spec.source.hostPath: replace it by files, or by image for all files of the directory", t.Name)
		}
		for name, text := range t.Spec.Source.Files {
			files[name] = archive.Source{Name: name, Executable: true, Content: []byte(text)}
		}
		if t.Spec.Source.Image != "" {
			if err := readAll(filepath.Dir(File(name)), files); err != nil {
				return nil, err
			}
		}
	}
	for _, dir := range dirs {
		if err := readAll(dir, files); err != nil {
			return nil, err
		}
	}
	list := slices.Collect(maps.Values(files))
	return list, checkCommands(all, files)
}

// checkCommands returns an error if a program of a type is not one of the files.
func checkCommands(all []*v1alpha1.ExternalType, files map[string]archive.Source) error {
	for _, t := range all {
		programs, err := programsOf(t)
		if err != nil {
			return fmt.Errorf("ExternalType %s: %w", t.Name, err)
		}
		for _, program := range programs {
			if !strings.Contains(program, "/") || path.IsAbs(program) {
				continue
			}
			if f, ok := files[path.Clean(program)]; !ok || !f.Executable {
				return fmt.Errorf("the program %s of ExternalType %s is not an executable file in the directory", program, t.Name)
			}
		}
	}
	return nil
}

// programsOf returns what providers start: for a DSC resource, what its manifest names.
func programsOf(t *v1alpha1.ExternalType) ([]string, error) {
	var all []string
	for _, p := range t.Spec.Providers {
		if len(p.Command) > 0 {
			all = append(all, p.Command[0])
		}
	}
	if t.Spec.DSC == nil {
		return all, nil
	}
	m, err := dsc.Frozen(t.Spec.DSC.Manifest.Raw)
	if err != nil {
		return nil, err
	}
	for _, op := range m.Operations() {
		all = append(all, op.Executable)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// readAll reads the files of a directory.
func readAll(dir string, into map[string]archive.Source) error {
	return filepath.WalkDir(dir, func(full string, e fs.DirEntry, err error) error {
		if err != nil || full == dir {
			return err
		}
		name, err := filepath.Rel(dir, full)
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(e.Name(), ".") || e.Name() == "__pycache__" || name == scaffold.TypeFile:
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file: replace it by a copy", full)
		}
		return readFile(full, filepath.ToSlash(name), e, into)
	})
}

func readFile(full, name string, e fs.DirEntry, into map[string]archive.Source) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	if info.Size() > archive.MaxBytes {
		return fmt.Errorf("%s exceeds %d MiB", full, archive.MaxBytes>>20)
	}
	text, err := os.ReadFile(full)
	const executable = 0o111
	into[name] = archive.Source{Name: name, Executable: info.Mode()&executable != 0, Content: text}
	return err
}
