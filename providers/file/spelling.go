package file

import "strings"

// aliases are the symlinks that nearly all hosts have, and where they lead: paths through both are those of the same files. The order of
// resources is decided without a host.
var aliases = [][2]string{
	{"/var/lock/", "/run/lock/"},
	{"/var/run/", "/run/"},
	{"/bin/", "/usr/bin/"},
	{"/sbin/", "/usr/sbin/"},
	{"/lib/", "/usr/lib/"},
	{"/lib64/", "/usr/lib64/"},
}

// canonical returns a path without these symlinks.
func canonical(path string) string {
	for _, a := range aliases {
		if below, is := strings.CutPrefix(path, a[0]); is {
			return a[1] + below
		}
	}
	return path
}

// otherSpellings returns the other paths of the same file through these symlinks.
func otherSpellings(want Attributes) []string {
	plain := canonical(want.Path)
	var others []string
	if plain != want.Path {
		others = append(others, plain)
	}
	for _, a := range aliases {
		if below, is := strings.CutPrefix(plain, a[1]); is && a[0]+below != want.Path {
			others = append(others, a[0]+below)
		}
	}
	return others
}
