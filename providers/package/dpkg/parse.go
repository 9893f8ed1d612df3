package dpkg

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// Parse calls add for every paragraph that names a package. It reads dpkg's status file and what
// dpkg-deb --field prints.
func Parse(r io.Reader, add func(Package)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var now Package
	end := func() {
		if now.Name != "" {
			add(now)
		}
		now = Package{}
	}
	for {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			end()
		} else {
			now.set(line)
		}
		if err != nil {
			end()
			return nil
		}
	}
}

// readLine returns a line without its line end. Of a line that does not fit the buffer, which none of
// our fields is, it returns the beginning.
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

// set sets the field that a line has, if it is used here. The other lines, which are nearly
// all, cost a comparison or two.
func (p *Package) set(line []byte) {
	switch line[0] {
	case 'P':
		setField(&p.Name, line, "Package:")
		setField(&p.provides, line, "Provides:")
	case 'V':
		setField(&p.Version, line, "Version:")
	case 'A':
		setField(&p.Arch, line, "Architecture:")
	case 'S':
		var status string
		if setField(&status, line, "Status:"); status != "" {
			words := append(strings.Fields(status), "", "", "")
			p.Want, p.Flag, p.State = words[0], words[1], words[2]
		}
	}
}

func setField(field *string, line []byte, name string) {
	if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
		*field = string(bytes.TrimSpace(rest))
	}
}
