// Command image writes container images of static binaries, without a container engine or a registry.
//
// An image has one layer, with the files in its root, and no base. The same files give the same image.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// options are the flags. {arch} in out, sbom and files stands for each of the architectures.
type options struct {
	out, oci, sbom, name, entrypoint, user string
	arches, files                          []string
	labels                                 map[string]string
	created                                time.Time
}

func parse(args []string) (options, error) {
	o := options{labels: map[string]string{}}
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.out, "out", "", "archive for docker load and ctr images import; one for each architecture")
	flags.StringVar(&o.oci, "oci", "", "OCI archive with all architectures, for skopeo, crane and ctr")
	flags.StringVar(&o.sbom, "sbom", "", "SPDX document to write; one for each architecture")
	flags.StringVar(&o.name, "name", "", "name of the image, with a tag")
	flags.StringVar(&o.entrypoint, "entrypoint", "", "program that the image runs")
	flags.StringVar(&o.user, "user", "65532:65532", "user and group that it runs as")
	arches := flags.String("arch", "amd64", "architectures of the files, separated by commas; {arch} in paths stands for each of them")
	created := flags.Int64("created", 0, "time of creation, in Unix seconds")
	flags.Func("label", "label of the image, as key=value; can be repeated", func(label string) error {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" {
			return fmt.Errorf("%q is not key=value", label)
		}
		o.labels[key] = value
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.files, o.arches, o.created = flags.Args(), strings.Split(*arches, ","), time.Unix(*created, 0).UTC()
	return o, o.check()
}

func (o options) check() error {
	if o.name == "" || o.entrypoint == "" || o.out == "" && o.oci == "" || len(o.files) == 0 {
		return errors.New("-name, -entrypoint, -out or -oci, and files are required")
	}
	for _, path := range append([]string{o.out, o.sbom}, o.files...) {
		if path != "" && len(o.arches) > 1 && !strings.Contains(path, "{arch}") {
			return fmt.Errorf("%s must contain {arch}, because there are several architectures", path)
		}
	}
	return nil
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	ref, err := name.NewTag(o.name)
	if err != nil {
		return err
	}
	images := map[string]v1.Image{}
	for _, arch := range o.arches {
		if images[arch], err = o.write(ref, arch); err != nil {
			return err
		}
	}
	if o.oci == "" {
		return nil
	}
	digest, err := writeOCI(o.oci, ref, images, slices.Sorted(maps.Keys(images)))
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", o.oci, err)
	}
	fmt.Printf("%s@%s\n", o.name, digest)
	return nil
}

// write writes the archive and the SBOM of one architecture, and returns the image.
func (o options) write(ref name.Tag, arch string) (v1.Image, error) {
	files := make([]string, len(o.files))
	for i, f := range o.files {
		files[i] = strings.ReplaceAll(f, "{arch}", arch)
	}
	image, err := build(o, arch, files)
	if err != nil {
		return nil, err
	}
	if o.out != "" {
		out := strings.ReplaceAll(o.out, "{arch}", arch)
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			return nil, err
		}
		if err := tarball.WriteToFile(out, ref, image); err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", out, err)
		}
	}
	if o.sbom == "" {
		return image, nil
	}
	return image, writeSBOM(strings.ReplaceAll(o.sbom, "{arch}", arch), o, files)
}
