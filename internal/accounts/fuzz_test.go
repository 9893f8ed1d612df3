package accounts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fettle-dev/fettle/internal/accounts"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte("root:x:0:0:root:/root:/bin/bash\n+::::::\n"))
	f.Add([]byte("adm:x:4:syslog,ann\nann:x:1500:\n-x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, u := range accounts.ParsePasswd(data) {
			if first, ok := accounts.ParsePasswd(data).Named(u.Name); u.Name == "" || !ok || first.UID < 0 || first.GID > 4294967295 {
				t.Errorf("got user %+v", u)
			}
		}
		for _, g := range accounts.ParseGroup(data) {
			for _, m := range g.Members {
				if g.Name == "" || m == "" || g.GID < 0 {
					t.Errorf("got group %+v", g)
				}
			}
		}
	})
}

// A parsed line that is written again parses the same.
func FuzzLines(f *testing.F) {
	f.Add("ann", int64(1500), int64(100), "Ann,,,", "/home/ann", "/bin/sh", "adm,ann")
	f.Add("+", int64(-1), int64(4294967295), "a:b", "", "x:y", ",,")
	f.Add("0", int64(-1), int64(4294967133), "0", "", "0", "\r,")
	f.Add("#", int64(0), int64(4294967296), "\n", "\r", "\x00", "a\nb:x:1:")
	f.Fuzz(func(t *testing.T, name string, uid, gid int64, comment, home, shell, list string) {
		users := accounts.ParsePasswd(fmt.Appendf(nil, "%s:x:%d:%d:%s:%s:%s\n", name, uid, gid, comment, home, shell))
		for _, u := range users {
			again := accounts.ParsePasswd(fmt.Appendf(nil, "%s:x:%d:%d:%s:%s:%s\n", u.Name, u.UID, u.GID, u.Comment, u.Home, u.Shell))
			if diff := cmp.Diff(accounts.Users{u}, again); diff != "" {
				t.Errorf("user (-once +twice):\n%s", diff)
			}
		}
		for _, g := range accounts.ParseGroup(fmt.Appendf(nil, "%s:x:%d:%s\n", name, gid, list)) {
			again := accounts.ParseGroup(fmt.Appendf(nil, "%s:x:%d:%s\n", g.Name, g.GID, strings.Join(g.Members, ",")))
			if diff := cmp.Diff(accounts.Groups{g}, again, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("group (-once +twice):\n%s", diff)
			}
		}
	})
}

func FuzzParseShadow(f *testing.F) {
	f.Add([]byte("ann:$6$s3cret:1:0:99999:7:::\r\n:::\n"), "ann")
	f.Add([]byte("ann:!:20778:-1:4294967296:7:30:20000:x:y\nann:*:"), "ann")
	f.Add([]byte("+nis\nbob:*:1:2\n"), "bob")
	f.Fuzz(func(t *testing.T, data []byte, user string) {
		s := accounts.ParseShadow(data)
		a := s.Ageing(user)
		if min(a.MinAge, a.MaxAge, a.WarnDays, a.Expiry) < accounts.Never {
			t.Errorf("ageing of %q is %+v", user, a)
		}
		hash, ok := s.Hash(user)
		if ok && !strings.Contains(string(data), user+":"+hash+":") {
			t.Errorf("hash of %q is %q", user, hash)
		}
		if never := (accounts.Ageing{MinAge: accounts.Never, MaxAge: accounts.Never, WarnDays: accounts.Never, Expiry: accounts.Never}); !ok && a != never {
			t.Errorf("%q has no line and ages by %+v", user, a)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	var passwd, group, shadow []byte
	for i := range 1000 {
		passwd = fmt.Appendf(passwd, "user%d:x:%d:%d:User %d,,,:/home/user%d:/bin/bash\n", i, i, i, i, i)
		group = fmt.Appendf(group, "group%d:x:%d:user%d,user%d\n", i, i, i, i+1)
		shadow = fmt.Appendf(shadow, "user%d:$y$j9T$abcdefghij$klmnopqrstuvwxyz:19000:0:99999:7:::\n", i)
	}
	for name, bench := range map[string]struct {
		text  []byte
		parse func([]byte) int
	}{
		"passwd": {passwd, func(text []byte) int { return len(accounts.ParsePasswd(text)) }},
		"group":  {group, func(text []byte) int { return len(accounts.ParseGroup(text)) }},
		"shadow": {shadow, func(text []byte) int {
			s := accounts.ParseShadow(text)
			if _, ok := s.Hash("user999"); !ok {
				return 0
			}
			return 1000
		}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bench.text)))
			for b.Loop() {
				if n := bench.parse(bench.text); n != 1000 {
					b.Fatal(n)
				}
			}
		})
	}
}
