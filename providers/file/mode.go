package file

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Permission bits beyond those of user, group and others.
const (
	setUID    = 0o4000
	setGID    = 0o2000
	sticky    = 0o1000
	allBits   = 0o7777
	execBits  = 0o111
	triadBits = 0o7
)

// A permission is what the attribute mode asks for: all twelve bits, or edits of
// the bits that are there.
type permission struct {
	octal uint32
	edits []edit // symbolic, in the order written; nil when octal
}

// An edit is one part of a symbolic mode, as u=rw+X.
type edit struct {
	whos []byte // of "ugo", each once
	acts []act
}

// An act is an operator and what it works with.
type act struct {
	op     byte // '=', '+' or '-'
	rwx    uint32
	copied []byte // of "ugo": classes whose bits it takes
	execIf bool   // X
	setID  bool   // s
	sticky bool   // t
}

var octalMode = regexp.MustCompile(`^[0-7]{3,4}$`)

// parseMode reads an octal or a symbolic mode.
func parseMode(s string) (permission, error) {
	if octalMode.MatchString(s) {
		bits, err := strconv.ParseUint(s, 8, 32)
		return permission{octal: uint32(bits)}, err
	}
	var p permission
	for part := range strings.SplitSeq(s, ",") {
		e, err := parseEdit(part)
		if err != nil {
			return permission{}, fmt.Errorf(`mode %q: %w; write it octal, as "0644", or symbolic, as "u=rw,go=r"`, s, err)
		}
		p.edits = append(p.edits, e)
	}
	return p, nil
}

// checkMode refuses what is no mode, and what is one that nothing can be in sync with.
func checkMode(s string) error {
	p, err := parseMode(s)
	if err == nil && !p.settles() {
		err = fmt.Errorf("mode %q has no end: applying it again changes the mode again; name the bits instead of copying them", s)
	}
	return err
}

func parseEdit(part string) (edit, error) {
	rest := strings.TrimLeft(part, "ugoa")
	e := edit{whos: classes(part[:len(part)-len(rest)])}
	if rest == "" {
		return edit{}, fmt.Errorf("%q has none of =, + and -", part)
	}
	for i := range len(rest) {
		if strings.IndexByte("=+-", rest[i]) >= 0 {
			e.acts = append(e.acts, act{op: rest[i]})
			continue
		}
		if len(e.acts) == 0 {
			return edit{}, fmt.Errorf("%q does not begin with any of u, g, o, a, =, + and -", part)
		}
		if err := e.acts[len(e.acts)-1].add(rest[i]); err != nil {
			return edit{}, err
		}
	}
	return e, nil
}

// classes are whom an edit is for: everyone, if it does not say.
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
			return fmt.Errorf("the letter X only goes with +, not with %c", a.op)
		}
		a.execIf = true
	case 's':
		a.setID = true
	case 't':
		a.sticky = true
	case 'u', 'g', 'o':
		a.copied = append(a.copied, letter)
	default:
		return fmt.Errorf("%q is none of r, w, x, X, s, t, u, g and o", letter)
	}
	return nil
}

// apply returns the bits that are to be where these are. An octal mode also lets
// those search a directory who may read it. A symbolic one is applied until it
// changes nothing more, or a file in sync would be out of sync: u+x,g+X grants g
// its x only when it sees that of u.
func (p permission) apply(bits uint32, dir bool) uint32 {
	bits, _ = p.settle(bits, dir)
	return bits
}

// maxRounds is more than any mode needs that comes to an end.
const maxRounds = 16

func (p permission) settle(bits uint32, dir bool) (settled uint32, ok bool) {
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

// apply copies from the bits as they were before the edit. As in Puppet, "=" leaves
// set-user-ID, set-group-ID and sticky alone.
func (e edit) apply(before uint32, searchable bool) uint32 {
	after := before
	for _, who := range e.whos {
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

// triad is what the act adds or takes of one class.
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

// special is what the act adds or takes of the three uppermost bits.
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

// settles reports whether the mode comes to an end wherever it is applied. One that
// copies in a ring, as g=u,u=o, does not and could never be in sync.
func (p permission) settles() bool {
	if !p.copies() {
		return true
	}
	for bits := range uint32(allBits + 1) {
		_, file := p.settle(bits, false)
		_, dir := p.settle(bits, true)
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
