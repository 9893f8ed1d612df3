package debian

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// A Deb is a Debian package to build.
type Deb struct {
	Name    string
	Version string
	// Depends and Provides are relations as a control file writes them, such as "a (>= 1.0), b".
	Depends, Provides string
	// Fields are more control fields: "Conflicts", "Essential", "Architecture" ("all" when it is not given).
	Fields map[string]string
	// Files are contents by absolute path. A file that starts with "#!" is executable.
	Files map[string]string
	// Conffiles are those of the files that dpkg keeps when an administrator has edited them.
	Conffiles []string
	// Scripts are maintainer scripts by name: preinst, postinst, prerm, postrm.
	Scripts map[string]string
}

// control is the package's control file, with the fields in a fixed order.
func (d Deb) control() string {
	fields := map[string]string{
		"Architecture": "all", "Maintainer": "Fettle tests <tests@example.invalid>", "Description": "a package for a test",
		"Depends": d.Depends, "Provides": d.Provides,
	}
	maps.Copy(fields, d.Fields)
	var b strings.Builder
	fmt.Fprintf(&b, "Package: %s\nVersion: %s\n", d.Name, d.Version)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name] != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, fields[name])
		}
	}
	return b.String()
}

// build writes the package in the deb(5) format: an ar archive of a version and two tar archives. The same Deb gives
// the same bytes.
func (d Deb) build() []byte {
	control := map[string]string{"/control": d.control()}
	if len(d.Conffiles) > 0 {
		control["/conffiles"] = strings.Join(d.Conffiles, "\n") + "\n"
	}
	for name, script := range d.Scripts {
		control["/"+name] = script
	}
	var ar bytes.Buffer
	ar.WriteString("!<arch>\n")
	member(&ar, "debian-binary", []byte("2.0\n"))
	member(&ar, "control.tar", tarball(control))
	member(&ar, "data.tar", tarball(d.Files))
	return ar.Bytes()
}

// member appends a file to an ar archive; members start at even offsets.
func member(ar *bytes.Buffer, name string, content []byte) {
	fmt.Fprintf(ar, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, 0, 0, 0, "100644", len(content))
	ar.Write(content)
	if len(content)%2 == 1 {
		ar.WriteByte('\n')
	}
}

// tarball packs files by absolute path, with their directories, as root's.
func tarball(files map[string]string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, dir := range directories(files) {
		add(w, &tar.Header{Typeflag: tar.TypeDir, Name: "." + strings.TrimSuffix(dir, "/") + "/", Mode: 0o755}, "")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mode := int64(0o644)
		if strings.HasPrefix(files[name], "#!") {
			mode = 0o755
		}
		add(w, &tar.Header{Typeflag: tar.TypeReg, Name: "." + name, Mode: mode, Size: int64(len(files[name]))}, files[name])
	}
	if err := w.Close(); err != nil {
		panic(err) // A bytes.Buffer takes every write, so the archive itself is malformed: a mistake in this file.
	}
	return b.Bytes()
}

func add(w *tar.Writer, h *tar.Header, content string) {
	h.Uname, h.Gname, h.Format = "root", "root", tar.FormatGNU
	if err := w.WriteHeader(h); err != nil {
		panic(fmt.Sprintf("cannot pack %s: %v", h.Name, err))
	}
	if _, err := w.Write([]byte(content)); err != nil {
		panic(fmt.Sprintf("cannot pack %s: %v", h.Name, err))
	}
}

// directories are all parents of the files, parents first.
func directories(files map[string]string) []string {
	seen := map[string]bool{"/": true}
	for name := range files {
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
