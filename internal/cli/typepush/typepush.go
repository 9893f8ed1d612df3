// Package typepush finds the files of a program that fettle type push and fettle type test put into an image.
package typepush

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/authoring"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/image/archive"
)

// Files returns the files of the program of types for each platform. platforms are as in linux/amd64=DIR; without any, the files are
// for all platforms.
func Files(name string, built []*v1alpha1.ExternalType, platforms []string) (map[image.Platform][]archive.Source, error) {
	if len(platforms) == 0 {
		files, err := authoring.Program(name, built)
		return map[image.Platform][]archive.Source{{}: files}, err
	}
	all := map[image.Platform][]archive.Source{}
	for _, p := range platforms {
		platform, dir, err := parsePlatform(p)
		if err != nil {
			return nil, err
		}
		if all[platform], err = authoring.Program(name, built, dir); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func parsePlatform(text string) (image.Platform, string, error) {
	platform, dir, ok := strings.Cut(text, "=")
	system, architecture, both := strings.Cut(platform, "/")
	if !ok || !both || dir == "" || slices.Contains([]string{system, architecture}, "") || strings.Contains(architecture, "/") {
		return image.Platform{}, "", fmt.Errorf("--platform %q is not an operating system, an architecture and a directory: write it as linux/amd64=bin/amd64", text)
	}
	return image.Platform{OS: system, Architecture: architecture}, dir, nil
}

// Local returns the files of types whose program is in an image, as they are now; nil if there are no such types.
func Local(name string, built []*v1alpha1.ExternalType) (image.Local, error) {
	if !slices.ContainsFunc(built, func(t *v1alpha1.ExternalType) bool { return t.Spec.Source.Image != "" }) {
		return nil, nil
	}
	return authoring.Program(name, built)
}
