package accounts_test

import (
	"strings"
	"testing"

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
