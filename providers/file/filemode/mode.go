// Package filemode parses the mode attribute of a File, octal or symbolic, and computes the
// permission bits that it asks for.
package filemode

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// SetIDs are the set-user-ID and set-group-ID bits.
const SetIDs = setUID | setGID

const (
	setUID    = 0o4000
	setGID    = 0o2000
	sticky    = 0o1000
	allBits   = 0o7777
	execBits  = 0o111
	triadBits = 0o7
)

// A permission is a parsed mode: either all twelve bits, or edits of the present bits.
type permission struct {
	octal uint32
	edits []edit // symbolic, in the order written; nil when octal
}

// An edit is one clause of a symbolic mode, such as u=rw+X.
type edit struct {
	classes []byte // of "ugo", each once
	acts    []act
}

// An act is an operator and its operands.
type act struct {
	op     byte // '=', '+' or '-'
	rwx    uint32
	copied []byte // of "ugo": the classes whose bits are copied
	execIf bool   // X
	setID  bool   // s
	sticky bool   // t
}

var octalMode = regexp.MustCompile(`^[0-7]{3,4}$`)

// IsOctal reports whether mode is octal rather than symbolic.
func IsOctal(mode string) bool { return octalMode.MatchString(mode) }

// Format returns bits as four octal digits.
func Format(bits uint32) string { return fmt.Sprintf("%04o", bits) }

// Validate rejects a malformed mode, and one that changes the bits again each time it is
// applied.
func Validate(mode string) error {
	p, err := parse(mode)
	if err == nil && !p.alwaysConverges() {
		err = fmt.Errorf("mode %q never converges: applying it again changes the bits again; name the bits instead of copying them", mode)
	}
	return err
}

// Apply returns the twelve permission bits that mode asks for on a file or directory whose
// bits are these. An octal mode of a directory also grants x wherever it grants r. A
// symbolic mode is applied until it changes nothing more, so that a file in sync stays in
// sync: u+x,g+X grants g its x only after u has it.
func Apply(mode string, bits uint32, dir bool) (uint32, error) {
	p, err := parse(mode)
	if err != nil {
		return 0, err
	}
	bits, _ = p.converge(bits, dir)
	return bits, nil
}

func parse(s string) (permission, error) {
	if IsOctal(s) {
		bits, err := strconv.ParseUint(s, 8, 32)
		return permission{octal: uint32(bits)}, err
	}
	var p permission
	for part := range strings.SplitSeq(s, ",") {
		e, err := parseEdit(part)
		if err != nil {
			return permission{}, fmt.Errorf(`mode %q: %w; write it in octal, such as "0644", or symbolically, such as "u=rw,go=r"`, s, err)
		}
		p.edits = append(p.edits, e)
	}
	return p, nil
}

func parseEdit(part string) (edit, error) {
	rest := strings.TrimLeft(part, "ugoa")
	e := edit{classes: classes(part[:len(part)-len(rest)])}
	if rest == "" {
		return edit{}, fmt.Errorf("%q has no operator: want =, + or -", part)
	}
	for i := range len(rest) {
		if strings.IndexByte("=+-", rest[i]) >= 0 {
			e.acts = append(e.acts, act{op: rest[i]})
			continue
		}
		if len(e.acts) == 0 {
			return edit{}, fmt.Errorf("%q must begin with u, g, o, a, =, + or -", part)
		}
		if err := e.acts[len(e.acts)-1].add(rest[i]); err != nil {
			return edit{}, err
		}
	}
	return e, nil
}

// classes are the classes that an edit names; without any it applies to all of them.
func classes(s string) []byte {
	if s == "" {
		s = "a"
	}
	var out []byte
	for _, who := range "ugo" {
		if strings.ContainsRune(s, who) || strings.Contains(s, "a") {
			out = append(out, byte(who))
		}
	}
	return out
}

func (a *act) add(letter byte) error {
	switch letter {
	case 'r':
		a.rwx |= 4
	case 'w':
		a.rwx |= 2
	case 'x':
		a.rwx |= 1
	case 'X':
		if a.op != '+' {
			return fmt.Errorf("letter X is only valid after +, not after %c", a.op)
		}
		a.execIf = true
	case 's':
		a.setID = true
	case 't':
		a.sticky = true
	case 'u', 'g', 'o':
		a.copied = append(a.copied, letter)
	default:
		return fmt.Errorf("unknown letter %q: want r, w, x, X, s, t, u, g or o", letter)
	}
	return nil
}

// maxRounds is more than any mode that converges needs.
const maxRounds = 16

func (p permission) converge(bits uint32, dir bool) (converged uint32, ok bool) {
	for range maxRounds {
		next := p.once(bits, dir)
		if next == bits {
			return bits, true
		}
		bits = next
	}
	return bits, false
}

func (p permission) once(bits uint32, dir bool) uint32 {
	switch {
	case p.edits != nil:
		searchable := dir || bits&execBits != 0
		for _, e := range p.edits {
			bits = e.apply(bits, searchable)
		}
		return bits
	case dir:
		return p.octal | p.octal>>2&execBits
	default:
		return p.octal
	}
}

// apply copies classes from the bits as they were before the edit. As in Puppet, "=" does not
// clear set-user-ID, set-group-ID or sticky.
func (e edit) apply(before uint32, searchable bool) uint32 {
	after := before
	for _, who := range e.classes {
		triad := before >> shift(who) & triadBits
		for _, a := range e.acts {
			if a.op == '=' {
				triad = 0
			}
			triad = a.change(triad, a.triad(before, searchable))
			after = a.change(after, a.special(who))
		}
		after = after&^(triadBits<<shift(who)) | triad<<shift(who)
	}
	return after
}

func (a act) change(bits, by uint32) uint32 {
	if a.op == '-' {
		return bits &^ by
	}
	return bits | by
}

// triad returns the bits of one class that the act adds or removes.
func (a act) triad(before uint32, searchable bool) uint32 {
	bits := a.rwx
	for _, from := range a.copied {
		bits |= before >> shift(from) & triadBits
	}
	if a.execIf && searchable {
		bits |= 1
	}
	return bits
}

// special returns the special bits that the act adds or removes.
func (a act) special(who byte) (bits uint32) {
	if a.sticky {
		bits = sticky
	}
	switch {
	case a.setID && who == 'u':
		bits |= setUID
	case a.setID && who == 'g':
		bits |= setGID
	case a.setID:
		bits |= sticky
	}
	return bits
}

func shift(who byte) int { return 3 * strings.IndexByte("ogu", who) }

// alwaysConverges reports whether the mode converges from any bits. One that copies classes
// in a ring, such as g=u,u=o, does not: no file could be in sync with it.
func (p permission) alwaysConverges() bool {
	if !p.copies() {
		return true
	}
	for bits := range uint32(allBits + 1) {
		_, file := p.converge(bits, false)
		_, dir := p.converge(bits, true)
		if !file || !dir {
			return false
		}
	}
	return true
}

func (p permission) copies() bool {
	for _, e := range p.edits {
		for _, a := range e.acts {
			if len(a.copied) > 0 {
				return true
			}
		}
	}
	return false
}
