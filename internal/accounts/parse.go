package accounts

import (
	"strconv"
	"strings"
)

// ParsePasswd parses a passwd file. Like the host, it ignores comments, NIS entries (+ or -) and
// malformed lines.
func ParsePasswd(data []byte) Users {
	var users Users
	for f := range entries(data, 7) {
		uid, uidOK := Number(f[2])
		gid, gidOK := Number(f[3])
		if uidOK && gidOK {
			users = append(users, User{Name: f[0], UID: uid, GID: gid, Comment: f[4], Home: f[5], Shell: f[6]})
		}
	}
	return users
}

// ParseGroup parses a group file. Like the host, it ignores comments, NIS entries (+ or -) and
// malformed lines.
func ParseGroup(data []byte) Groups {
	var groups Groups
	for f := range entries(data, 4) {
		if gid, ok := Number(f[2]); ok {
			groups = append(groups, Group{Name: f[0], GID: gid, Members: members(f[3])})
		}
	}
	return groups
}

// entries yields the fields of each line that has this many. Further colons belong to the last
// field, and so does a carriage return, because the C library does not treat it as part of the line end.
func entries(data []byte, fields int) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(string(data)) {
			f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", fields)
			if len(f) == fields && isName(f[0]) && !yield(f) {
				return
			}
		}
	}
}

// isName reports whether the first field of a line is a name.
func isName(s string) bool { return s != "" && !strings.ContainsRune("+-#", rune(s[0])) }

// Number parses a uid or a gid.
func Number(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int64(n), err == nil
}

func members(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}
