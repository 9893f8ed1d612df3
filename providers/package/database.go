package pkg

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// Where dpkg keeps what it knows: a file with a paragraph for every package, and a
// journal of paragraphs that are newer and not yet in it.
const (
	dpkgStatus  = "/var/lib/dpkg/status"
	dpkgJournal = "/var/lib/dpkg/updates"
)

// A record is what dpkg knows of one package.
type record struct {
	name, arch, version string
	want, flag, state   string // the three words of Status
	provides            string // as the control file has it
}

// A key tells records apart: one package may be there for several architectures.
type key struct{ name, arch string }

// A database is dpkg's, as it was at one moment.
type database struct {
	records map[key]record
	native  string // architecture
	journal bool   // it had a journal, which a dpkg leaves that did not come to its end
}

// readDatabase reads all packages in one go, from dpkg's own files: dpkg-query would
// do the same reading, in a process in the host's namespaces for every question.
func readDatabase(h host.Reader) (database, error) {
	const tries = 3
	for range tries - 1 {
		before, errBefore := h.Stat(dpkgStatus)
		db, err := readOnce(h)
		after, errAfter := h.Stat(dpkgStatus)
		after.AccessTime = before.AccessTime // which the reading itself moves
		if err == nil && errors.Join(errBefore, errAfter) == nil && before == after {
			return db, nil // no dpkg folded its journal into the file meanwhile
		}
	}
	return readOnce(h)
}

func readOnce(h host.Reader) (database, error) {
	db := database{records: map[key]record{}}
	if err := readRecords(h, dpkgStatus, db.put); err != nil {
		return db, fmt.Errorf("cannot read dpkg's database: %w", err)
	}
	names, err := h.ReadDir(dpkgJournal)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return db, fmt.Errorf("cannot read dpkg's journal: %w", err)
	}
	for _, name := range names { // sorted, which is their order
		if strings.Trim(name, "0123456789") != "" {
			continue // dpkg is still writing it
		}
		db.journal = true
		err := readRecords(h, path.Join(dpkgJournal, name), db.replace)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return db, fmt.Errorf("cannot read dpkg's journal: %w", err)
		}
	}
	db.native = db.records[db.dpkg()].arch
	return db, nil
}

// dpkg is the key of the package dpkg, which is of the architecture that dpkg calls
// native.
func (db database) dpkg() key {
	for k, r := range db.records {
		if k.name == "dpkg" && r.state != "not-installed" {
			return k
		}
	}
	return key{}
}

func readRecords(h host.Reader, name string, add func(record)) error {
	f, err := h.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return parseRecords(f, add)
}

func (db database) put(r record) { db.records[key{r.name, r.arch}] = r }

// replace puts a newer record in place of the old one. A package that is for all
// architectures is there once, so with it a change of architecture replaces too.
func (db database) replace(r record) {
	maps.DeleteFunc(db.records, func(k key, _ record) bool {
		return k.name == r.name && (k.arch == "all" || r.arch == "all" || k.arch == "" || r.arch == "")
	})
	db.put(r)
}

// parseRecords calls add for every paragraph that names a package.
func parseRecords(r io.Reader, add func(record)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var now record
	end := func() {
		if now.name != "" {
			add(now)
		}
		now = record{}
	}
	for {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			end()
		} else {
			now.take(line)
		}
		if err != nil {
			end()
			return nil
		}
	}
}

// readLine returns a line without its end. Of a line that does not fit the buffer,
// which no field of ours is, it returns the beginning.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
	line = bytes.Clone(line[:256])
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	return line, err
}

// take fills in the field that a line has, if it is one of ours. The rest of a
// paragraph, which is nearly all of it, costs a comparison or two a line.
func (r *record) take(line []byte) {
	switch line[0] {
	case 'P':
		set(&r.name, line, "Package:")
		set(&r.provides, line, "Provides:")
	case 'V':
		set(&r.version, line, "Version:")
	case 'A':
		set(&r.arch, line, "Architecture:")
	case 'S':
		var status string
		if set(&status, line, "Status:"); status != "" {
			words := append(strings.Fields(status), "", "", "")
			r.want, r.flag, r.state = words[0], words[1], words[2]
		}
	}
}

func set(field *string, line []byte, name string) {
	if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
		*field = string(bytes.TrimSpace(rest))
	}
}

// find returns the record of a package, which is written name or name:architecture.
// One that dpkg does not know is not installed. What is for all architectures is for
// the native one.
func (db database) find(name string) record {
	base, arch, foreign := strings.Cut(db.canonical(name), ":")
	candidates := []key{{base, arch}}
	if !foreign {
		candidates = []key{{base, db.native}, {base, "all"}}
	}
	for _, k := range candidates {
		if r, ok := db.records[k]; ok && r.state != "not-installed" {
			return r
		}
	}
	return record{name: base, arch: arch, state: "not-installed"}
}

// canonical is a package's name as apt prints it: with its architecture only if that is
// a foreign one.
func (db database) canonical(name string) string {
	base, arch, _ := strings.Cut(name, ":")
	if arch == "" || arch == db.native || arch == "all" {
		return base
	}
	return name
}

// interrupted reports whether a dpkg did not come to its end, so that packages may
// wait to be configured.
func (db database) interrupted() bool {
	for _, r := range db.records {
		switch r.state {
		case "unpacked", "half-configured", "triggers-awaited", "triggers-pending":
			return true
		}
	}
	return db.journal
}
