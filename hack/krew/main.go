// Command krew prints the manifest with which krew, the package manager of kubectl's plugins, installs
// fettle as kubectl fettle. `make release` puts it beside the archives that it names.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("krew: ")
	version := flag.String("version", "", "`version` of the archives")
	url := flag.String("url", "https://github.com/fettle-dev/fettle/releases/download", "`address` of the folder that has a folder for each version")
	flag.Parse()
	if err := run(os.Stdout, *version, *url, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// A plugin is a manifest of krew.googlecontainertools.github.com/v1alpha2.
type plugin struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
}

type spec struct {
	Version          string     `json:"version"`
	Homepage         string     `json:"homepage"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description"`
	Platforms        []platform `json:"platforms"`
}

type platform struct {
	Selector selector `json:"selector"`
	URI      string   `json:"uri"`
	SHA256   string   `json:"sha256"`
	Files    []file   `json:"files"`
	Bin      string   `json:"bin"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type file struct {
	From string `json:"from"`
	To   string `json:"to"`
}

const description = `Shows the nodes that Fettle manages: their state, what drifted, how they differ from their
catalogs, why a resource applies or not, and what a change would do.
`

// semantic is a version that krew accepts.
var semantic = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// archive is the name of an archive, of which the last parts are the platform.
var archive = regexp.MustCompile(`-(linux)-(amd64|arm64)\.tar\.gz$`)

// run writes the manifest for archives. krew accepts only semantic versions; another one gets v0.0.0-g followed by it.
func run(out io.Writer, version, url string, archives []string) error {
	if version == "" || len(archives) == 0 {
		return errors.New("give -version and the archives")
	}
	p := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: metadata{"fettle"}, Spec: spec{
		Version: version, Homepage: "https://github.com/fettle-dev/fettle",
		ShortDescription: "Show the state and drift of nodes managed by Fettle", Description: description,
	}}
	if !semantic.MatchString(version) {
		p.Spec.Version = "v0.0.0-g" + strings.Trim(regexp.MustCompile(`[^0-9A-Za-z-]+`).ReplaceAllString(version, "-"), "-")
	}
	for _, name := range archives {
		m := archive.FindStringSubmatch(name)
		if m == nil {
			return fmt.Errorf("%s is not an archive for a platform: its name ends with -OS-ARCH.tar.gz", name)
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(raw)
		p.Spec.Platforms = append(p.Spec.Platforms, platform{
			Selector: selector{map[string]string{"os": m[1], "arch": m[2]}},
			URI:      url + "/" + version + "/" + filepath.Base(name),
			SHA256:   hex.EncodeToString(sum[:]),
			Files:    []file{{From: "fettle", To: "."}}, Bin: "fettle",
		})
	}
	text, err := yaml.Marshal(p)
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}
