package accounts

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Shadow holds password hashes and how they and their accounts age. It prints as a
// mark, whatever the verb.
type Shadow struct{ lines map[string]shadowLine }

type shadowLine struct {
	hash   string
	ageing Ageing
}

// Ageing is how long a password and its account are good for, in days. [Never]
// stands for a field that is empty.
type Ageing struct {
	MinAge, MaxAge int64 // between changes of the password, and until it must be changed
	WarnDays       int64 // before MaxAge
	Expiry         int64 // the day on which the account ends, counted from 1970-01-01 (UTC)
}

// Never is the number of a day that does not come.
const Never = -1

// Hash returns the password field of a user as the file has it, such as "$y$..."
// or "!". Whoever has no line has none.
func (s Shadow) Hash(user string) (hash string, ok bool) {
	line, ok := s.lines[user]
	return line.hash, ok
}

// Ageing returns a user's. Nothing ever ends for whoever has no line.
func (s Shadow) Ageing(user string) Ageing {
	if line, ok := s.lines[user]; ok {
		return line.ageing
	}
	return Ageing{Never, Never, Never, Never}
}

// Format implements [fmt.Formatter] so that no hash is printed by accident.
func (s Shadow) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// ParseShadow reads the lines of a shadow file, and passes over what is none. Where
// several share a name the first one counts.
func ParseShadow(data []byte) Shadow {
	s := Shadow{map[string]shadowLine{}}
	for f := range entries(data, 3) {
		if _, dup := s.lines[f[0]]; !dup {
			s.lines[f[0]] = shadowLine{f[1], ageing(strings.Split(f[2], ":"))}
		}
	}
	return s
}

// ageing reads the fields that follow the hash: the day of the last change, minimum,
// maximum, warning, inactivity, the day of the end. Old files lack the last ones.
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
