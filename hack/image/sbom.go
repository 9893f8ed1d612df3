package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// These types are the part of SPDX 2.3 that describes binaries and their modules.
type (
	spdxDocument struct {
		SPDXVersion       string             `json:"spdxVersion"`
		DataLicense       string             `json:"dataLicense"`
		SPDXID            string             `json:"SPDXID"`
		Name              string             `json:"name"`
		DocumentNamespace string             `json:"documentNamespace"`
		CreationInfo      spdxCreation       `json:"creationInfo"`
		Packages          []spdxPackage      `json:"packages"`
		Relationships     []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		SPDXID           string         `json:"SPDXID"`
		Name             string         `json:"name"`
		VersionInfo      string         `json:"versionInfo,omitempty"`
		FileName         string         `json:"packageFileName,omitempty"`
		DownloadLocation string         `json:"downloadLocation"`
		FilesAnalyzed    bool           `json:"filesAnalyzed"`
		LicenseConcluded string         `json:"licenseConcluded"`
		LicenseDeclared  string         `json:"licenseDeclared"`
		CopyrightText    string         `json:"copyrightText"`
		Checksums        []spdxChecksum `json:"checksums,omitempty"`
		ExternalRefs     []spdxRef      `json:"externalRefs,omitempty"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		Element string `json:"spdxElementId"`
		Type    string `json:"relationshipType"`
		Related string `json:"relatedSpdxElement"`
	}
)

const noAssertion = "NOASSERTION"

// writeSBOM lists the binaries and the Go modules that they were built from, as the linker recorded them.
func writeSBOM(to string, o options, files []string) error {
	doc, err := describe(o, files)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644)
}

func describe(o options, files []string) (spdxDocument, error) {
	doc := spdxDocument{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", Name: o.name,
		CreationInfo: spdxCreation{Created: o.created.Format(time.RFC3339), Creators: []string{"Tool: hack/image"}},
	}
	hash := sha256.New()
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			return doc, err
		}
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return doc, fmt.Errorf("cannot read the modules of %s: %w", path, err)
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(content))
		fmt.Fprintln(hash, sum)
		binary := spdxPackage{Name: filepath.Base(path), FileName: filepath.Base(path), VersionInfo: o.labels["org.opencontainers.image.version"], Checksums: []spdxChecksum{{"SHA256", sum}}}
		doc.add("SPDXRef-DOCUMENT", "DESCRIBES", binary)
		doc.add(id(binary), "CONTAINS", module("stdlib", strings.TrimPrefix(info.GoVersion, "go")))
		for _, m := range info.Deps {
			used := m
			if m.Replace != nil {
				used = m.Replace
			}
			doc.add(id(binary), "CONTAINS", module(used.Path, used.Version))
		}
	}
	doc.DocumentNamespace = fmt.Sprintf("https://fettle.dev/spdx/%x", hash.Sum(nil))
	slices.SortFunc(doc.Packages, func(a, b spdxPackage) int { return cmp.Compare(a.SPDXID, b.SPDXID) })
	return doc, nil
}

func module(path, version string) spdxPackage {
	return spdxPackage{Name: path, VersionInfo: version, ExternalRefs: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}}}
}

// add adds a package, unless the document has it already, and what it is to another element.
func (d *spdxDocument) add(element, relationship string, p spdxPackage) {
	p.SPDXID, p.DownloadLocation, p.LicenseConcluded, p.LicenseDeclared, p.CopyrightText = id(p), noAssertion, noAssertion, noAssertion, noAssertion
	d.Relationships = append(d.Relationships, spdxRelationship{element, relationship, p.SPDXID})
	if !slices.ContainsFunc(d.Packages, func(q spdxPackage) bool { return q.SPDXID == p.SPDXID }) {
		d.Packages = append(d.Packages, p)
	}
}

// id returns the identifier of a package, which may consist of letters, digits, dots and hyphens.
func id(p spdxPackage) string {
	if p.FileName != "" {
		return "SPDXRef-Binary-" + p.Name
	}
	return "SPDXRef-" + regexp.MustCompile(`[^A-Za-z0-9.-]`).ReplaceAllString(p.Name+"-"+p.VersionInfo, "-")
}
