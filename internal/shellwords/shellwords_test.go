package shellwords_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kballard/go-shellquote"

	"github.com/fettle-dev/fettle/internal/shellwords"
)

// accepted are lines that mean the same with and without a shell, in the forms in which administrators write commands.
func accepted() map[string][]string {
	return map[string][]string{
		`/bin/true`:                       {"/bin/true"},
		` a	b  `:                          {"a", "b"},
		`printf '%s\n' 'a b' "c" d\ e ''`: {"printf", `%s\n`, "a b", "c", "d e", ""},
		`'/opt/my app/run' x`:             {"/opt/my app/run", "x"},
		"a \\\n  b":                       {"a", "b"},
		"a\\\nb":                          {"ab"},
		"run --now\n":                     {"run", "--now"},
		"\nrun --now":                     {"run", "--now"},
		"echo 'a\nb' \"c\nd\"":            {"echo", "a\nb", "c\nd"},
		`[ -f /etc/app.conf ]`:            {"[", "-f", "/etc/app.conf", "]"},
		`test -d /srv/a -a \! -d /srv/b`:  {"test", "-d", "/srv/a", "-a", "!", "-d", "/srv/b"},
		`find /srv ! -name '*.log' -exec rm -f {} +`:               {"find", "/srv", "!", "-name", "*.log", "-exec", "rm", "-f", "{}", "+"},
		`find /srv -name \*.log -exec chmod u-x,g-wx {} \;`:        {"find", "/srv", "-name", "*.log", "-exec", "chmod", "u-x,g-wx", "{}", ";"},
		`find /srv \( -name a -o -name b \) -delete`:               {"find", "/srv", "(", "-name", "a", "-o", "-name", "b", ")", "-delete"},
		`sed -i 's/^#\(Port\) .*/\1 22/; s/a$/b/' /etc/app`:        {"sed", "-i", `s/^#\(Port\) .*/\1 22/; s/a$/b/`, "/etc/app"},
		`sed -i "s/a/b/;s/^x$/y/" /etc/app`:                        {"sed", "-i", "s/a/b/;s/^x$/y/", "/etc/app"},
		`sed -i s/^a$/b/ /etc/app`:                                 {"sed", "-i", "s/^a$/b/", "/etc/app"},
		`grep -q ^a$ /etc/app`:                                     {"grep", "-q", "^a$", "/etc/app"},
		`awk -F: '{print $1}' /etc/passwd`:                         {"awk", "-F:", "{print $1}", "/etc/passwd"},
		`sh -c 'date > /x && echo "$HOME"'`:                        {"sh", "-c", `date > /x && echo "$HOME"`},
		`pip3 install flask==2.1.0`:                                {"pip3", "install", "flask==2.1.0"},
		`apt-get -y -o Dpkg::Options::=--force-confold install a`:  {"apt-get", "-y", "-o", "Dpkg::Options::=--force-confold", "install", "a"},
		`apt-get install a=1.2~rc1-1+b2`:                           {"apt-get", "install", "a=1.2~rc1-1+b2"},
		`wget -q https://example.com/get?file=a.tar -O /tmp/a.tar`: {"wget", "-q", "https://example.com/get?file=a.tar", "-O", "/tmp/a.tar"},
		`curl -fsS -w %{http_code} http://[::1]:8080/#top`:         {"curl", "-fsS", "-w", "%{http_code}", "http://[::1]:8080/#top"},
		`docker ps --format {{.Names}}`:                            {"docker", "ps", "--format", "{{.Names}}"},
		`git -C /srv/app reset --hard HEAD~1`:                      {"git", "-C", "/srv/app", "reset", "--hard", "HEAD~1"},
		`git -C /srv/app show HEAD@{1} a#b`:                        {"git", "-C", "/srv/app", "show", "HEAD@{1}", "a#b"},
		`mysql -e "DROP DATABASE a; DROP USER 'b'@'%';"`:           {"mysql", "-e", "DROP DATABASE a; DROP USER 'b'@'%';"},
		`echo "\$HOME \` + "`x\\`" + ` \\ \n"`:                     {"echo", "$HOME `x` \\ \\n"},
		`dd if=/dev/zero of=/swap bs=1M count=64`:                  {"dd", "if=/dev/zero", "of=/swap", "bs=1M", "count=64"},
		`/usr/bin/env LANG=C A='b c' run`:                          {"/usr/bin/env", "LANG=C", "A=b c", "run"},
		`/usr/bin/cd /srv`:                                         {"/usr/bin/cd", "/srv"},
		`'cd' /srv`:                                                {"cd", "/srv"},
		`'A'=b`:                                                    {"A=b"},
		`echo ^ @ % + , - = : ] } x] x} ! == !=`:                   {"echo", "^", "@", "%", "+", ",", "-", "=", ":", "]", "}", "x]", "x}", "!", "==", "!="},
		`echo $ a$ "b$" $/ $%`:                                     {"echo", "$", "a$", "b$", "$/", "$%"},
		`echo a[ [] x[]`:                                           {"echo", "a[", "[]", "x[]"},
		`echo {a} {a b}`:                                           {"echo", "{a}", "{a", "b}"},
		`echo grüße 'für' \ä`:                                      {"echo", "grüße", "für", "ä"},
	}
}

func TestLinesThatNeedNoShell(t *testing.T) {
	for line, want := range accepted() {
		got, err := shellwords.Split(line, "set shell: true")
		if err != nil {
			t.Errorf("%q %v", line, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

// A shell reads them alike.
func TestShellSplitsTheSameWords(t *testing.T) {
	for line, want := range accepted() {
		if diff := cmp.Diff(want, shell(t, line)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

// shell returns the words that a shell makes of a line, in an empty directory.
func shell(t *testing.T, line string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `printf '%s\0' `+strings.TrimLeft(line, " \t\n"))
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func TestLinesThatNeedAShell(t *testing.T) {
	const quote, single, program = ": quote it, or set shell: true", ": put it in single quotes, or set shell: true", ": begin it with a program, or set shell: true"
	for line, want := range map[string]string{
		`echo a | cat > f`:                 "has an unquoted | at character 8, which only a shell understands" + quote,
		`/usr/bin/lsmod | grep ^nvidia`:    "has an unquoted | at character 16, which only a shell understands" + quote,
		`wget -q http://x/a -O -|tar xz`:   "has an unquoted | at character 24, which only a shell understands" + quote,
		`a&&b`:                             "has an unquoted & at character 2, which only a shell understands" + quote,
		`curl http://x/?a=1&b=2`:           "has an unquoted & at character 19, which only a shell understands" + quote,
		`chmod 0600 a; chown root a`:       "has an unquoted ; at character 13, which only a shell understands" + quote,
		`find / -exec rm {} ;`:             "has an unquoted ; at character 20, which only a shell understands" + quote,
		`sort < in`:                        "has an unquoted < at character 6, which only a shell understands" + quote,
		`mysqldump app 2>/dev/null`:        "has an unquoted > at character 16, which only a shell understands" + quote,
		`pip install a>=1.0`:               "has an unquoted > at character 14, which only a shell understands" + quote,
		`(umask 077; run)`:                 "has an unquoted ( at character 1, which only a shell understands" + quote,
		`echo a)`:                          "has an unquoted ) at character 7, which only a shell understands" + quote,
		"echo `date`":                      "has a ` at character 6, which a shell would expand" + single,
		"echo \"`date`\"":                  "has a ` at character 7, which a shell would expand" + single,
		`/usr/bin/touch $HOME/a`:           "has a $ at character 16, which a shell would expand" + single,
		`test $(id -u) = 0`:                "has a $ at character 6, which a shell would expand" + single,
		`echo "it is ${X:-a}"`:             "has a $ at character 13, which a shell would expand" + single,
		`echo $$`:                          "has a $ at character 6, which a shell would expand" + single,
		`echo $'\n'`:                       "has a $ at character 6, which a shell would expand" + single,
		`echo grüße $1`:                    "has a $ at character 12, which a shell would expand" + single,
		`rm -f /tmp/*.lock`:                "has an unquoted * at character 12, which a shell would expand" + quote,
		`find /srv -name *.yaml -delete`:   "has an unquoted * at character 17, which a shell would expand" + quote,
		`ls /dev/sd?`:                      "has an unquoted ? at character 11, which a shell would expand" + quote,
		`chmod 0600 /srv/log[0-9]`:         "has an unquoted [ at character 20, which a shell would expand" + quote,
		`mkdir -p /srv/{a,b}/c`:            "has an unquoted { at character 15, which a shell would expand" + quote,
		`touch a{1..3}`:                    "has an unquoted { at character 8, which a shell would expand" + quote,
		`ls ~`:                             "has an unquoted ~ at character 4, which a shell would expand" + quote,
		`~app/bin/run`:                     "has an unquoted ~ at character 1, which a shell would expand" + quote,
		`/bin/true # why`:                  "has an unquoted # at character 11, where a shell would begin a comment" + quote,
		"touch /a\ntouch /b\n":             "has a line break at character 9, where a shell would end the command: put a backslash before it, or set shell: true",
		`cd /srv`:                          "begins with cd, which only a shell has" + program,
		`source /etc/profile.d/app.sh`:     "begins with source, which only a shell has" + program,
		`. /etc/profile.d/app.sh`:          "begins with ., which only a shell has" + program,
		`if test -e a`:                     "begins with if, which only a shell has" + program,
		`! test -e /srv`:                   "begins with !, which only a shell has" + program,
		`[[ -e /srv ]]`:                    "begins with [[, which only a shell has" + program,
		`command -v nginx`:                 "begins with command, which only a shell has" + program,
		`export A=b`:                       "begins with export, which only a shell has" + program,
		`umask 077`:                        "begins with umask, which only a shell has" + program,
		`DEBIAN_FRONTEND=x apt-get update`: "sets the variable DEBIAN_FRONTEND, which only a shell does: begin it with /usr/bin/env, or set shell: true",
		`PW='s3cret' run`:                  "sets the variable PW, which only a shell does: begin it with /usr/bin/env, or set shell: true",
		`echo 'a`:                          "has a single quote at character 6 that nothing closes: close it, or set shell: true",
		`echo a"b`:                         "has a double quote at character 7 that nothing closes: close it, or set shell: true",
		`echo a\`:                          "ends in a backslash: remove it, or set shell: true",
		``:                                 "has no command: its first word is empty",
		" \n\t":                            "has no command: its first word is empty",
		`'' a`:                             "has no command: its first word is empty",
	} {
		words, err := shellwords.Split(line, "set shell: true")
		if err == nil {
			t.Errorf("%q is accepted as %q", line, words)
		} else if err.Error() != want {
			t.Errorf("%q:\n%s, want\n%s", line, err, want)
		}
	}
}

// Whatever has no meaning to a shell has the words that a splitter without any such knowledge finds.
func FuzzSplit(f *testing.F) {
	for line := range accepted() {
		f.Add(line)
	}
	for _, line := range []string{"\xff \x00", `"\$a\\"`, "\\\n", "a \\\n\n b", "\\\n'\\\n'\"\\\n\"", `a{,b`, `~\a`, `\~a`, `\#`, `""~`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := shellwords.Split(line, "")
		if err != nil {
			return
		}
		want, err := shellquote.Split(line)
		if diff := cmp.Diff(want, words); diff != "" || err != nil {
			t.Errorf("%q (-want +got):\n%s%v", line, diff, err)
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	line := "/usr/bin/printf " + strings.Repeat(`a "b c" 'd e' f\ g `, 10)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if words, err := shellwords.Split(line, ""); err != nil || len(words) != 41 {
			b.Fatal(len(words), err)
		}
	}
}
