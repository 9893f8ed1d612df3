package file_test

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

// checker is a command that accepts files without the word bad, if its file is its
// last argument and complete.
func checker(t *testing.T, h *hosttest.Host, seen *[]string) {
	t.Helper()
	h.Handle("checker", func(cmd host.Cmd) host.Result {
		staged := cmd.Args[len(cmd.Args)-1]
		content, err := h.ReadFile(staged)
		if err != nil {
			return host.Result{ExitCode: 2, Stderr: []byte(err.Error())}
		}
		for _, arg := range cmd.Args {
			*seen = append(*seen, strings.ReplaceAll(arg, staged, "STAGED"))
		}
		if cmd.Args[1] == "--short" {
			return host.Result{ExitCode: 3, Stderr: []byte(path.Base(staged) + ":1: bad\n")}
		}
		if strings.Contains(string(content), "bad") {
			return host.Result{ExitCode: 3, Stderr: []byte("reading " + staged + "\n" + staged + ":1: bad\n")}
		}
		return host.Result{}
	})
}

func TestValidateCmd(t *testing.T) {
	t.Parallel()

	const refused = `validateCmd "checker %" exited with 3, so the file stays as it is: reading /x` + "\n/x:1: bad"
	for sentence, c := range map[string]struct {
		given func(*testing.T, *hosttest.Host)
		spec  string
		seen  []string
		err   string
		after string
		left  []string
	}{
		"runs before the new content is in place": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, content: "two\n", validateCmd: checker %}`,
			seen:  []string{"checker", "STAGED"},
			after: "/x ---------- 0644 0:0\n  two\n  \n",
		},
		"preserves the old content if it fails": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, content: "bad\n", validateCmd: checker %, mode: "0600"}`,
			seen:  []string{"checker", "STAGED"},
			err:   "cannot set content: cannot write file: write /x: " + refused,
			after: "/x ---------- 0600 0:0\n  one\n  \n",
			left:  []string{"content changed " + sumOne + " to {sha256}1d7a363ce12430881ec56c9cf1409c49c491043618e598c356e2959040872f5a"},
		},
		"replaces the staged path by the final one in its output": {
			given: text("one\n", 0o644, 0, 0),
			spec:  `{path: /x, content: "bad\n", validateCmd: checker --short %}`,
			seen:  []string{"checker", "--short", "STAGED"},
			err:   `cannot set content: cannot write file: write /x: validateCmd "checker --short %" exited with 3, so the file stays as it is: x:1: bad`,
			after: "/x ---------- 0644 0:0\n  one\n  \n",
			left:  []string{"content changed " + sumOne + " to {sha256}1d7a363ce12430881ec56c9cf1409c49c491043618e598c356e2959040872f5a"},
		},
		"prevents the creation of a file if it fails": {
			spec:  `{path: /x, content: "bad\n", validateCmd: checker %}`,
			seen:  []string{"checker", "STAGED"},
			err:   "cannot write file: write /x: " + refused,
			after: "/x absent\n",
			left:  []string{"created"},
		},
		"prevents the replacement of a directory if it fails": {
			given: fullDir,
			spec:  `{path: /x, content: "bad\n", validateCmd: checker %, force: true}`,
			seen:  []string{"checker", "STAGED"},
			err:   "cannot write file: " + refused,
			after: "/x d--------- 0755 0:0\n/x/sub d--------- 0755 0:0\n/x/sub/f ---------- 0644 0:0\n  kept\n",
			left:  []string{"ensure changed directory to file"},
		},
		"allows the replacement of a directory if it passes": {
			given: fullDir,
			spec:  `{path: /x, content: "two\n", validateCmd: checker %, force: true}`,
			seen:  []string{"checker", "STAGED", "checker", "STAGED"},
			after: "/x ---------- 0644 0:0\n  two\n  \n",
		},
		"does not run without new content": {
			given: text("bad\n", 0o644, 0, 0),
			spec:  `{path: /x, content: "bad\n", mode: "0600", validateCmd: checker %}`,
			after: "/x ---------- 0600 0:0\n  bad\n  \n",
		},
		"is split by quotes and not expanded": {
			spec:  `{path: /x, content: "two\n", validateCmd: 'checker "a \" b" ''$HOME; *'' \# %  %'}`,
			seen:  []string{"checker", `a " b`, "$HOME; *", "#", "STAGED", "STAGED"},
			after: "/x ---------- 0644 0:0\n  two\n  \n",
		},
		"passes blanks and quotes of the path unchanged": {
			spec:  `{path: "/it's a x", content: "two\n", validateCmd: checker %}`,
			seen:  []string{"checker", "STAGED"},
			after: "/x absent\n",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c.given)
			var seen []string
			checker(t, h, &seen)
			got := apply(t, h, c.spec)
			want := outcome{Changes: got.Changes, Done: got.Done, Err: c.err, After: c.after, Left: c.left}
			if diff := cmp.Diff(want, got) + cmp.Diff(c.seen, seen); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			names, err := h.ReadDir("/")
			must(t, err)
			for _, name := range names {
				if strings.HasPrefix(name, ".") {
					t.Errorf("/%s was left behind", name)
				}
			}
		})
	}
}

// The end of a command's output has the reason.
func TestValidateCmdOutputIsTruncated(t *testing.T) {
	t.Parallel()

	h := newHost(t, nil)
	h.Handle("checker", func(host.Cmd) host.Result {
		return host.Result{ExitCode: 1, Stdout: []byte(strings.Repeat("a", 600) + "\n" + strings.Repeat("b", 500) + "\n")}
	})
	got := apply(t, h, `{path: /x, content: "two\n", validateCmd: checker %}`).Err
	want := `cannot write file: write /x: validateCmd "checker %" exited with 1, so the file stays as it is: ...` +
		strings.Repeat("a", 8) + "\n" + strings.Repeat("b", 500)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The output may quote a line of the content.
func TestValidateCmdOutputIsHiddenWithTheContent(t *testing.T) {
	t.Parallel()

	h := newHost(t, nil)
	h.Handle("checker", func(host.Cmd) host.Result { return host.Result{ExitCode: 1, Stderr: []byte("bad word s3cret\n")} })
	got := apply(t, h, `{path: /x, content: "s3cret\n", validateCmd: checker %, showDiff: false}`).Err
	want := `cannot write file: write /x: validateCmd "checker %" exited with 1, so the file stays as it is; ` +
		"its output is not shown, because of showDiff: false"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
