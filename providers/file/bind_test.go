package file_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
)

func TestRefused(t *testing.T) {
	t.Parallel()

	for sentence, c := range map[string]struct{ spec, want string }{
		"a relative path":                       {`{path: etc/motd}`, `path "etc/motd" must be absolute, such as /etc/motd`},
		"no path and a name that is not a path": {`{}`, `path "test" must be absolute, such as /etc/motd`},
		"a path with ..":                        {`{path: /etc/../motd}`, `path "/etc/../motd" must not contain . or ..: write the resolved path`},
		"a path that ends in .":                 {`{path: /etc/.}`, `path "/etc/." must not contain . or ..: write the resolved path`},
		"a path with a zero byte":               {`{path: "/etc/\0"}`, `path "/etc/\x00" must not contain a zero byte: remove it`},
		"the root removed":                      {`{path: //, ensure: absent, force: true}`, `path / can only be a directory: remove ensure: absent, or use another path`},
		"the root as a link":                    {`{path: /, target: /mnt, force: true}`, `path / can only be a directory: remove ensure: link, or use another path`},
		"an unknown ensure":                     {`{path: /x, ensure: fifo}`, `ensure "fifo" is not known: use present, file, directory, link or absent`},
		"a link without a target":               {`{path: /x, ensure: link}`, "ensure: link requires target: set it to the path that the link points to"},
		"an owner below zero":                   {`{path: /x, owner: -1}`, "owner -1 is not the number of an account: use one from 0 to 4294967294, or a name"},
		"a group that means unchanged":          {`{path: /x, group: "4294967295"}`, "group 4294967295 is not the number of an account: use one from 0 to 4294967294, or a name"},
		"an owner without a name":               {`{path: /x, owner: ""}`, `owner "" is not the name of an account: use the name of one on the host, or a number`},
		"an owner and a group in one":           {`{path: /x, owner: "ann:web"}`, `owner "ann:web" is not the name of an account: use the name of one on the host, or a number`},
		"an invalid mode":                       {`{path: /x, mode: rw-r--r--}`, `mode "rw-r--r--": "rw-r--r--" must begin with u, g, o, a, =, + or -; write it in octal, such as "0644", or symbolically, such as "u=rw,go=r"`},
		"a mode that is a number":               {`{path: /x, mode: 420}`, `cannot read attributes of File/test: json: cannot unmarshal number into Go struct field Attributes.FileAttributes.mode of type string`},
		"a check without a placeholder":         {`{path: /x, validateCmd: visudo -c}`, `validateCmd "visudo -c" needs % as a word of its own, which stands for the path of the staged file, as in visudo -c -f %, or sh -c 'check --file="$1"' sh %`},
		"a check with an open quote":            {`{path: /x, validateCmd: "sh -c '%"}`, `validateCmd "sh -c '%" has a single quote at character 7 that nothing closes: close it, or run it with sh -c '...' sh %`},
		"a check by a script":                   {`{path: /x, validateCmd: "sh -c 'cat %'"}`, `validateCmd "sh -c 'cat %'" needs % as a word of its own, which stands for the path of the staged file, as in visudo -c -f %, or sh -c 'check --file="$1"' sh %`},
		"a check by a script's last word":       {`{path: /x, validateCmd: "sh -c 'cat % '"}`, `validateCmd "sh -c 'cat % '" needs % as a word of its own, which stands for the path of the staged file, as in visudo -c -f %, or sh -c 'check --file="$1"' sh %`},
		"a check by an option":                  {`{path: /x, validateCmd: "check --file=%"}`, `validateCmd "check --file=%" needs % as a word of its own, which stands for the path of the staged file, as in visudo -c -f %, or sh -c 'check --file="$1"' sh %`},
		"an unknown attribute":                  {`{path: /x, contents: a}`, `cannot read attributes of File/test: json: unknown field "contents"; File has: path, ensure, content, target, owner, group, mode, seluser, selrole, seltype, selrange, confirm, force, replace, backup, source, sources, ca, checksum, checksumValue, links, followParentLinks, recurse, recurseScope, recurseLimit, maxFiles, ignore, purge, showDiff, validateCmd`},
		"an invalid backup":                     {`{path: /x, backup: bak}`, `backup "bak" is neither None nor Bucket nor a suffix: write a suffix as .bak, of letters, digits, ., _, ~ and -`},
		"a backup in another directory":         {`{path: /x, backup: ./../y}`, `backup "./../y" is neither None nor Bucket nor a suffix: write a suffix as .bak, of letters, digits, ., _, ~ and -`},
		"a source within the path":              {`{path: /x, recurse: true, source: /x/y}`, "source /x/y and path /x must not contain one another: use other directories"},
		"a path within its source":              {`{path: /x/y, recurse: true, source: /x}`, "source /x and path /x/y must not contain one another: use other directories"},
		"an unknown scope":                      {`{path: /x, recurse: true, recurseScope: Some}`, `recurseScope "Some" is not known: use All or Source`},
		"an invalid glob":                       {`{path: /x, recurse: true, ignore: ["[a"]}`, `ignore "[a" is not a shell glob for base names: write it as *.swp or [._]*`},
		"a glob with a slash":                   {`{path: /x, recurse: true, ignore: ["a/*"]}`, `ignore "a/*" is not a shell glob for base names: write it as *.swp or [._]*`},
		"several mistakes at once":              {`{path: x, mode: z, owner: ""}`, "path \"x\" must be absolute, such as /etc/motd\nowner \"\" is not the name of an account: use the name of one on the host, or a number\nmode \"z\": \"z\" must begin with u, g, o, a, =, + or -; write it in octal, such as \"0644\", or symbolically, such as \"u=rw,go=r\""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if _, err := bind(t, c.spec); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestRelations(t *testing.T) {
	t.Parallel()

	for sentence, c := range map[string]struct {
		spec string
		want []resource.Relation
	}{
		"a file comes after the nearest one above it": {
			spec: `{path: //srv/app//conf/}`,
			want: []resource.Relation{above("/srv/app", "/srv", "/")},
		},
		"a file comes after its owner and its group": {
			spec: `{path: /x, owner: ann, group: 2001}`,
			want: []resource.Relation{above("/"), after("User", "ann"), after("Group", "2001")},
		},
		"a link comes after its target": {
			spec: `{path: /x, target: /srv//app/}`,
			want: []resource.Relation{above("/"), after("File", "/srv/app")},
		},
		"a relative target is resolved from the link's directory": {
			spec: `{path: /etc/sites/enabled/site, target: ../available/site}`,
			want: []resource.Relation{above("/etc/sites/enabled", "/etc/sites", "/etc", "/"), after("File", "/etc/sites/available/site")},
		},
		"a link to a directory above it has one relation": {
			spec: `{path: /srv/app/top, target: ..}`,
			want: []resource.Relation{above("/srv/app", "/srv", "/")},
		},
		"a file comes after its source on the host": {
			spec: `{path: /x, source: "file:///srv/a"}`,
			want: []resource.Relation{above("/"), after("File", "/srv/a")},
		},
		"a remote source adds no relation": {
			spec: `{path: /x, source: "https://example.com/a"}`,
			want: []resource.Relation{above("/")},
		},
		"the root directory has no relations": {spec: `{path: /, mode: "0755"}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			r, err := bind(t, c.spec)
			must(t, err)
			if diff := cmp.Diff(c.want, r.Relations()); diff != "" {
				t.Errorf("relations (-want +got):\n%s", diff)
			}
		})
	}
}

func above(paths ...string) resource.Relation {
	return resource.Relation{Relation: resource.Require, Kind: "File", Names: paths, Nearest: true}
}

func after(kind, name string) resource.Relation {
	return resource.Relation{Relation: resource.Require, Kind: kind, Names: []string{name}}
}

func TestEqualPathsConflict(t *testing.T) {
	t.Parallel()

	for spec, want := range map[string]string{
		`{path: /a}`: "/a", `{path: /a/}`: "/a", `{path: //a//b///}`: "/a/b", `{path: /}`: "/", `{path: ///}`: "/",
	} {
		r, err := bind(t, spec)
		must(t, err)
		if got := r.Namevar(); got != want {
			t.Errorf("%s has the namevar %q, want %q", spec, got, want)
		}
	}
}
