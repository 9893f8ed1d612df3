package accounts

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Shadow has the password hashes and the ageing of accounts. It prints as a mark, whatever the
// verb.
type Shadow struct{ lines map[string]shadowLine }

type shadowLine struct {
	hash   string
	ageing Ageing
}

// Ageing is the validity of a password and its account, in days. [Never] stands for an empty
// field.
type Ageing struct {
	MinAge, MaxAge int64 // between changes of the password, and until it must be changed
	WarnDays       int64 // before MaxAge
	Expiry         int64 // the day on which the account expires, counted from 1970-01-01 (UTC)
}

// Never stands for an empty field.
const Never = -1

// Hash returns the password field of a user as it is in the file, such as "$y$..." or "!". It is not
// ok if the user has no line.
func (s Shadow) Hash(user string) (hash string, ok bool) {
	line, ok := s.lines[user]
	return line.hash, ok
}

// Ageing returns the ageing of a user. Nothing ever expires for a user without a line.
func (s Shadow) Ageing(user string) Ageing {
	if line, ok := s.lines[user]; ok {
		return line.ageing
	}
	return Ageing{Never, Never, Never, Never}
}

// Format implements [fmt.Formatter] so that no hash is printed by accident.
func (s Shadow) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// ParseShadow parses a shadow file, and ignores malformed lines. If several share a name, the first
// one counts.
func ParseShadow(data []byte) Shadow {
	s := Shadow{map[string]shadowLine{}}
	for f := range entries(data, 3) {
		if _, dup := s.lines[f[0]]; !dup {
			s.lines[f[0]] = shadowLine{f[1], ageing(strings.Split(f[2], ":"))}
		}
	}
	return s
}

// ageing parses the fields after the hash: the day of the last change, minimum, maximum, warning,
// inactivity, the day of the expiry. Old files lack the last ones.
func ageing(fields []string) Ageing {
	return Ageing{MinAge: days(fields, 1), MaxAge: days(fields, 2), WarnDays: days(fields, 3), Expiry: days(fields, 5)}
}

func days(fields []string, i int) int64 {
	if i >= len(fields) {
		return Never
	}
	if n, err := strconv.ParseInt(fields[i], 10, 64); err == nil && n > Never {
		return n
	}
	return Never
}
