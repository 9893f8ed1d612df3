package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// built is a folder with the command and, for two architectures, a program that it puts into images.
type built struct{ dir, command string }

func build(t *testing.T) built {
	t.Helper()
	b := built{dir: t.TempDir()}
	b.command = filepath.Join(b.dir, "image")
	for _, arch := range []string{"", "amd64", "arm64"} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(b.dir, arch, "image"), ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if arch != "" {
			cmd.Env = append(cmd.Env, "GOARCH="+arch)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return b
}

func (b built) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), b.command, args...).CombinedOutput()
	return string(out), err
}

// write writes the image to a folder.
func (b built) write(t *testing.T, to string) string {
	t.Helper()
	out, err := b.run(t, "-name", "registry.example/tool:v1", "-entrypoint", "/image", "-arch", "amd64,arm64", "-label", "org.opencontainers.image.version=v1", "-created", "1700000000",
		"-out", to+"/x-{arch}.tar", "-oci", to+"/x.oci.tar", "-sbom", to+"/x-{arch}.spdx.json", b.dir+"/{arch}/image")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func TestTheSameFilesGiveTheSameImage(t *testing.T) {
	b := build(t)
	one, two := t.TempDir(), t.TempDir()
	if first, second := b.write(t, one), b.write(t, two); first != second || !strings.HasPrefix(first, "registry.example/tool:v1@sha256:") {
		t.Errorf("the digests are %s and %s", first, second)
	}
	for _, name := range []string{"x-amd64.tar", "x-arm64.tar", "x.oci.tar", "x-amd64.spdx.json", "x-arm64.spdx.json"} {
		if a, b := read(t, one, name), read(t, two, name); !bytes.Equal(a, b) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestImagesAreForTheirArchitecture(t *testing.T) {
	b, dir := build(t), t.TempDir()
	b.write(t, dir)
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := tarball.ImageFromPath(filepath.Join(dir, "x-"+arch+".tar"), nil)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		got := []string{config.OS, config.Architecture, config.Config.User, strings.Join(config.Config.Entrypoint, " "), config.Config.Labels["org.opencontainers.image.version"], config.Created.UTC().Format(time.RFC3339)}
		if diff := cmp.Diff([]string{"linux", arch, "65532:65532", "/image", "v1", "2023-11-14T22:13:20Z"}, got); diff != "" {
			t.Errorf("%s: %s", arch, diff)
		}
	}
	oci := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "-xf", filepath.Join(dir, "x.oci.tar"), "-C", oci).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	top, err := layout.ImageIndexFromPath(oci)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = index.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Error(diff)
	}
}

func TestTheSBOMListsTheModulesOfBinaries(t *testing.T) {
	b, dir := build(t), t.TempDir()
	b.write(t, dir)
	var doc struct {
		SPDXVersion string `json:"spdxVersion"`
		Packages    []struct {
			ID   string `json:"SPDXID"`
			Name string `json:"name"`
			Refs []struct {
				Locator string `json:"referenceLocator"`
			} `json:"externalRefs"`
		} `json:"packages"`
		Relationships []struct {
			From string `json:"spdxElementId"`
			To   string `json:"relatedSpdxElement"`
		} `json:"relationships"`
	}
	if err := json.Unmarshal(read(t, dir, "x-arm64.spdx.json"), &doc); err != nil {
		t.Fatal(err)
	}
	elements, locators := []string{"SPDXRef-DOCUMENT"}, []string{}
	for _, p := range doc.Packages {
		elements = append(elements, p.ID)
		for _, r := range p.Refs {
			locators = append(locators, r.Locator)
		}
	}
	for _, r := range doc.Relationships {
		if !slices.Contains(elements, r.From) || !slices.Contains(elements, r.To) {
			t.Errorf("%+v refers to a missing element", r)
		}
	}
	for _, want := range []string{"pkg:golang/github.com/google/go-containerregistry@", "pkg:golang/stdlib@1."} {
		if !slices.ContainsFunc(locators, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("%s is not in %s", want, locators)
		}
	}
	if doc.SPDXVersion != "SPDX-2.3" {
		t.Errorf("the version is %s", doc.SPDXVersion)
	}
}

func TestInvalidFlagsAreRejected(t *testing.T) {
	b := build(t)
	for want, args := range map[string][]string{
		"image: -name, -entrypoint, -out or -oci, and files are required\n":           {},
		"image: x.tar must contain {arch}, because there are several architectures\n": {"-name=x:1", "-entrypoint=/x", "-out=x.tar", "-arch=amd64,arm64", "{arch}/x"},
		`is not key=value`: {"-label=x"},
	} {
		if out, err := b.run(t, args...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
