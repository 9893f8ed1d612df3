package filemode_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/providers/file/filemode"
)

// apply applies a valid mode.
func apply(mode string, bits uint32, dir bool) (uint32, error) {
	if err := filemode.Validate(mode); err != nil {
		return 0, err
	}
	return filemode.Apply(mode, bits, dir)
}

func TestApply(t *testing.T) {
	t.Parallel()

	for sentence, c := range map[string]struct {
		mode string
		bits uint32
		dir  bool
		want uint32
	}{
		"octal sets the bits of a file":                      {mode: "0640", bits: 0o777, want: 0o640},
		"octal of three digits is the same as with a zero":   {mode: "640", bits: 0o777, want: 0o640},
		"octal sets the special bits":                        {mode: "4755", bits: 0o644, want: 0o4755},
		"octal without special bits clears them":             {mode: "0755", bits: 0o7755, want: 0o755},
		"octal of three digits clears the special bits":      {mode: "755", bits: 0o7755, want: 0o755},
		"octal grants x on a directory wherever it grants r": {mode: "0644", dir: true, want: 0o755},
		"octal grants x on a private directory to its owner": {mode: "0600", dir: true, want: 0o700},
		"octal grants no x on a directory without r":         {mode: "0620", dir: true, want: 0o720},
		"octal sets the special bits of a directory":         {mode: "2640", dir: true, want: 0o2750},

		"= sets one class only":                      {mode: "u=rw", bits: 0o177, want: 0o677},
		"= without letters clears a class":           {mode: "o=", bits: 0o777, want: 0o770},
		"+ adds":                                     {mode: "g+w", bits: 0o644, want: 0o664},
		"- removes":                                  {mode: "go-rw", bits: 0o666, want: 0o600},
		"no class is every class":                    {mode: "+x", bits: 0o644, want: 0o755},
		"a is every class":                           {mode: "a=r", bits: 0o777, want: 0o444},
		"a beside another class is every class":      {mode: "ua+x", bits: 0o644, want: 0o755},
		"clauses are applied in order":               {mode: "u=rwx,g=rx,o=", bits: 0, want: 0o750},
		"a clause may have several operators":        {mode: "u=r+w-r", bits: 0o700, want: 0o200},
		"a repeated letter counts once":              {mode: "u+rr", bits: 0, want: 0o400},
		"a class can copy the bits of another":       {mode: "g=u", bits: 0o740, want: 0o770},
		"a class can add the bits of another":        {mode: "o+g", bits: 0o751, want: 0o755},
		"a class can remove the bits of another":     {mode: "u-g", bits: 0o750, want: 0o250},
		"copies use the bits from before the clause": {mode: "a-g", bits: 0o754, want: 0o200},
		"a copy uses the result of earlier clauses":  {mode: "u=rw,g=u", bits: 0, want: 0o660},

		"X grants x on a directory":                             {mode: "a+X", bits: 0o644, dir: true, want: 0o755},
		"X grants nothing on a file that nobody can execute":    {mode: "a+X", bits: 0o644, want: 0o644},
		"X grants x to all on a file that somebody can execute": {mode: "a+X", bits: 0o744, want: 0o755},
		"X grants x to the named class only":                    {mode: "g+X", bits: 0o744, want: 0o754},
		"X uses the bits from before the mode":                  {mode: "a-x,u+X", bits: 0o755, want: 0o744},
		"X also uses an x that the mode itself grants":          {mode: "u+x,g+X", bits: 0o644, want: 0o754},

		"s of the user is set-user-ID":                        {mode: "u+s", bits: 0o755, want: 0o4755},
		"s of the group is set-group-ID":                      {mode: "g+s", bits: 0o755, want: 0o2755},
		"s of every class is all three":                       {mode: "+s", bits: 0o755, want: 0o7755},
		"s can be removed":                                    {mode: "u-s", bits: 0o6755, want: 0o2755},
		"t is sticky":                                         {mode: "+t", bits: 0o777, dir: true, want: 0o1777},
		"t can be removed":                                    {mode: "o-t", bits: 0o1777, dir: true, want: 0o777},
		"= with s keeps the other special bits":               {mode: "u=rws", bits: 0o2755, want: 0o6655},
		"u=rwx does not clear set-user-ID":                    {mode: "u=rwx", bits: 0o4644, want: 0o4744},
		"a= does not clear the special bits":                  {mode: "a=", bits: 0o7777, want: 0o7000},
		"= of one class keeps the special bits of the others": {mode: "g=rx", bits: 0o4755, want: 0o4755},

		"a symbolic mode adds no x to a directory": {mode: "u=rw,go=r", bits: 0o755, dir: true, want: 0o644},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got, err := apply(c.mode, c.bits, c.dir)
			if err != nil || got != c.want {
				t.Errorf("%s on %04o (directory: %t) is %04o, %v; want %04o", c.mode, c.bits, c.dir, got, err, c.want)
			}
		})
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()

	const remedy = `; write it in octal, such as "0644", or symbolically, such as "u=rw,go=r"`
	for sentence, c := range map[string]struct{ mode, want string }{
		"an empty mode":               {"", `mode "": "" has no operator: want =, + or -` + remedy},
		"decimal digits":              {"0888", `mode "0888": "0888" must begin with u, g, o, a, =, + or -` + remedy},
		"two digits":                  {"64", `mode "64": "64" must begin with u, g, o, a, =, + or -` + remedy},
		"five digits":                 {"00644", `mode "00644": "00644" must begin with u, g, o, a, =, + or -` + remedy},
		"a class without an operator": {"u", `mode "u": "u" has no operator: want =, + or -` + remedy},
		"an empty clause":             {"u=r,", `mode "u=r,": "" has no operator: want =, + or -` + remedy},
		"an unknown letter":           {"u=rz", `mode "u=rz": unknown letter 'z': want r, w, x, X, s, t, u, g or o` + remedy},
		"a after the operator":        {"u=a", `mode "u=a": unknown letter 'a': want r, w, x, X, s, t, u, g or o` + remedy},
		"spaces":                      {"u=r, g=r", `mode "u=r, g=r": " g=r" must begin with u, g, o, a, =, + or -` + remedy},
		"X with =":                    {"u=X", `mode "u=X": letter X is only valid after +, not after =` + remedy},
		"X with -":                    {"u+r-X", `mode "u+r-X": letter X is only valid after +, not after -` + remedy},
		"copies in a ring":            {"g=u,u=o,o=g", `mode "g=u,u=o,o=g" never converges: applying it again changes the bits again; name the bits instead of copying them`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if _, err := apply(c.mode, 0, false); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// A valid mode sets permission bits only, and applying it again changes nothing.
func FuzzApply(f *testing.F) {
	for _, mode := range []string{
		"0644", "755", "4755", "u=rwx,go=rx", "a+X", "g=u", "a-g", "u+x,g+X", "g=u,u=o,o=g", "+s,-t",
		"u=r+w-r", "o+X,u-x,g=o", "ugo=", "", "u", "0999", "=", "u=rwxXstugo", "a=rw,a+X,u+s",
	} {
		f.Add(mode, uint16(0o644), false)
		f.Add(mode, uint16(0o7711), true)
	}
	f.Fuzz(func(t *testing.T, mode string, start uint16, dir bool) {
		bits := uint32(start) & 0o7777
		once, err := apply(mode, bits, dir)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "mode ") {
				t.Errorf("the error does not name the attribute: %v", err)
			}
			return
		}
		twice, err := apply(mode, once, dir)
		if err != nil || once != twice || once > 0o7777 {
			t.Errorf("%q on %04o is %04o, and again %04o, %v", mode, bits, once, twice, err)
		}
	})
}

func BenchmarkApply(b *testing.B) {
	for _, mode := range []string{"0644", "u=rw+X,g=r,o="} {
		b.Run(mode, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(mode)))
			for b.Loop() {
				if _, err := apply(mode, 0o755, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
