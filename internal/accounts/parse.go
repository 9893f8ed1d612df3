package accounts

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ParsePasswd reads the lines of a passwd file. What is no user, such as a comment,
// an entry of NIS (+ or -) or a damaged line, is passed over as the host does.
func ParsePasswd(data []byte) Users {
	var users Users
	for f := range entries(data, 7) {
		uid, uidOK := number(f[2])
		gid, gidOK := number(f[3])
		if uidOK && gidOK {
			users = append(users, User{Name: f[0], UID: uid, GID: gid, Comment: f[4], Home: f[5], Shell: f[6]})
		}
	}
	return users
}

// ParseGroup reads the lines of a group file. What is no group, such as a comment,
// an entry of NIS (+ or -) or a damaged line, is passed over as the host does.
func ParseGroup(data []byte) Groups {
	var groups Groups
	for f := range entries(data, 4) {
		if gid, ok := number(f[2]); ok {
			groups = append(groups, Group{Name: f[0], GID: gid, Members: members(f[3])})
		}
	}
	return groups
}

// A Shadow holds password hashes. It prints as a mark, whatever the verb.
type Shadow struct{ hashes map[string]string }

// Hash returns the password field of a user as the file has it, such as "$y$..."
// or "!". Whoever has no line has none.
func (s Shadow) Hash(user string) (hash string, ok bool) {
	hash, ok = s.hashes[user]
	return hash, ok
}

// Format implements [fmt.Formatter] so that no hash is printed by accident.
func (s Shadow) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// ParseShadow reads the lines of a shadow file, and passes over what is none.
func ParseShadow(data []byte) Shadow {
	s := Shadow{map[string]string{}}
	for f := range entries(data, 3) {
		if _, dup := s.hashes[f[0]]; !dup {
			s.hashes[f[0]] = f[1]
		}
	}
	return s
}

// entries yields the fields of each line that has this many. A colon too many
// belongs to the last field.
func entries(data []byte, fields int) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(string(data)) {
			f := strings.SplitN(strings.TrimRight(line, "\r\n"), ":", fields)
			if len(f) == fields && isName(f[0]) && !yield(f) {
				return
			}
		}
	}
}

// isName tells a name from what else a line may begin with.
func isName(s string) bool { return s != "" && !strings.ContainsRune("+-#", rune(s[0])) }

func number(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int64(n), err == nil
}

func members(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}
