package main

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// desired is the state that every program is to bring about.
type desired struct {
	files    int
	users    int
	packages []string // that are installed
}

const (
	stateDir  = "/srv/bench" // of the files
	inputDir  = "/root/bench"
	fileOwner = "www-data"
	wwwData   = 33 // as Debian numbers it everywhere
	fileMode  = 0o640
	firstUID  = 3000
)

func (s desired) path(i int) string { return fmt.Sprintf("%s/file-%05d", stateDir, i) }
func (s desired) user(i int) string { return fmt.Sprintf("bench%02d", i) }

// content is 1 KB of text, of its own for every file.
func (s desired) content(i int) string {
	return strings.Repeat(fmt.Sprintf("option_%05d = the value that this line of the file sets, of 64\n", i), 16)
}

// list is the floor's input.
func (s desired) list() string {
	var b strings.Builder
	for i := range s.files {
		fmt.Fprintln(&b, s.path(i))
	}
	return b.String()
}

// useradds are the commands that make the users, those that fettle runs.
func (s desired) useradds() string {
	var b strings.Builder
	for i := range s.users {
		fmt.Fprintf(&b, "useradd --uid %d --gid 100 --home-dir /home/%[2]s --comment Benchmark --shell /bin/bash --no-create-home -- %[2]s\n", firstUID+i, s.user(i))
	}
	return b.String()
}

// fettle is the state as fettle's manifests.
func (s desired) fettle() string {
	var m bench.Manifests
	m.Add("File", "bench", "path: %s\nensure: directory", stateDir)
	for i := range s.files {
		m.Add("File", fmt.Sprintf("file-%05d", i), "path: %s\nowner: %s\ngroup: %s\nmode: \"%04o\"\ncontent: |\n%s",
			s.path(i), fileOwner, fileOwner, fileMode, indent(s.content(i)))
	}
	for i, name := range s.packages {
		m.Add("Package", fmt.Sprintf("package-%03d", i), "name: %q\nensure: installed", name)
	}
	for i := range s.users {
		m.Add("User", s.user(i), "uid: %d\ngid: 100\nhome: /home/%s\nshell: /bin/bash\ncomment: Benchmark", firstUID+i, s.user(i))
	}
	return m.String()
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
}

// puppet is the state as a manifest of Puppet's.
func (s desired) puppet() string {
	var b strings.Builder
	fmt.Fprintf(&b, "file { '%s': ensure => directory }\n", stateDir)
	for i := range s.files {
		fmt.Fprintf(&b, "file { '%s': ensure => file, owner => '%s', group => '%s', mode => '%04o', content => '%s' }\n",
			s.path(i), fileOwner, fileOwner, fileMode, s.content(i))
	}
	for _, name := range s.packages {
		fmt.Fprintf(&b, "package { '%s': ensure => installed }\n", name)
	}
	for i := range s.users {
		fmt.Fprintf(&b, "user { '%s': ensure => present, uid => %d, gid => 100, home => '/home/%s', shell => '/bin/bash', comment => 'Benchmark' }\n",
			s.user(i), firstUID+i, s.user(i))
	}
	return b.String()
}

// cfengine is the state as a policy of CFEngine's, except for the packages: Debian ships it without a module for any
// package system.
func (s desired) cfengine() string {
	var b strings.Builder
	b.WriteString("body common control { bundlesequence => { \"main\" }; }\n")
	fmt.Fprintf(&b, "body perms bench { owners => { %q }; groups => { %q }; mode => \"%04o\"; }\n", fileOwner, fileOwner, fileMode)
	b.WriteString("bundle agent main {\nfiles:\n")
	fmt.Fprintf(&b, "  \"%s/.\" create => \"true\";\n", stateDir)
	for i := range s.files {
		fmt.Fprintf(&b, "  %q create => \"true\", content => \"%s\", perms => bench;\n", s.path(i), s.content(i))
	}
	b.WriteString("users:\n")
	for i := range s.users {
		fmt.Fprintf(&b, "  %q policy => \"present\", uid => \"%d\", group_primary => \"100\", home_dir => \"/home/%s\", shell => \"/bin/bash\", description => \"Benchmark\";\n",
			s.user(i), firstUID+i, s.user(i))
	}
	b.WriteString("}\n")
	return b.String()
}
