package providers_test

import (
	"testing"
)

// failedFile is the plan of a single File that fails.
func failedFile(why string) []string {
	return []string{"File/a Failed: cannot be applied: " + why}
}

// removedTrees has the directories that a File can't remove, or not completely. Nothing in them is removed then.
func removedTrees() map[string]promised {
	const mounted = "mkdir -p /srv/a/m; touch /srv/a/1; mount -t tmpfs none /srv/a/m"
	const why = "cannot remove directory: remove /srv/a: cannot remove m in it: m is a mount point: unmount it first: device or resource busy"
	return map[string]promised{
		"a file system is mounted below a directory to remove": {
			given: mounted, catalog: []string{"File/a {path: /srv/a, ensure: absent, force: true}"}, plan: failedFile(why),
			left: "test -e /srv/a/1",
		},
		"a file system is mounted below a directory to replace by a file": {
			given: mounted, catalog: []string{"File/a {path: /srv/a, content: x, force: true}"}, plan: failedFile(why),
			left: "test -e /srv/a/1",
		},
		"a file system is mounted below a directory to replace by a link": {
			given: mounted, catalog: []string{"File/a {path: /srv/a, target: x, force: true}"}, plan: failedFile(why),
			left: "test -e /srv/a/1",
		},
		"a file is mounted below a directory to remove": {
			given:   "mkdir /srv/a; touch /srv/a/1 /srv/a/m; mount --bind /srv/a/1 /srv/a/m",
			catalog: []string{"File/a {path: /srv/a, ensure: absent, force: true}"}, plan: failedFile(why),
			left: "test -e /srv/a/1",
		},
		"a file system is mounted below a directory to purge as a whole": {
			given:   "mkdir /srv/top; mkdir -p /srv/a/m; touch /srv/a/1; mv /srv/a /srv/top; mount -t tmpfs none /srv/top/a/m",
			catalog: []string{"File/top {path: /srv/top, recurse: true, recurseLimit: 1, purge: true, force: true}"},
			plan: []string{
				"File//srv/top/a Failed: cannot be applied: cannot remove directory: remove /srv/top/a: cannot remove m in it: " +
					"m is a mount point: unmount it first: device or resource busy",
				"File/top InSync",
			},
			left: "test -e /srv/top/a/1",
		},
		"a file in a directory to remove is immutable": {
			given:   "mount -t tmpfs none /srv; mkdir -p /srv/a/b; touch /srv/a/1 /srv/a/b/2; chattr +i /srv/a/b/2",
			catalog: []string{"File/a {path: /srv/a, ensure: absent, force: true}"},
			plan: failedFile("cannot remove directory: remove /srv/a: cannot remove b/2 in it: it is immutable: change that with chattr -i: " +
				"operation not permitted"),
			left: "test -e /srv/a/1",
		},
		"a directory with files has a suffix as its backup": {
			given: "mkdir /srv/a; touch /srv/a/1", catalog: []string{"File/a {path: /srv/a, ensure: absent, force: true, backup: .bak}"},
			plan: failedFile("cannot back up /srv/a; will not replace it: a suffix is for files, but this is a directory with files in it: use backup: Bucket, or None"),
			left: "test -e /srv/a/1",
		},
		"a directory without files has a suffix as its backup": {
			given: "mkdir -p /srv/a/b; ln -s x /srv/a/l", catalog: []string{"File/a {path: /srv/a, ensure: absent, force: true, backup: .bak}"},
			plan: []string{"File/a Noop"},
		},
		"a directory has too many files for a backup": {
			given: "mkdir /srv/a; cd /srv/a; seq 1001 | xargs touch", catalog: []string{"File/a {path: /srv/a, content: x, force: true}"},
			plan: failedFile("cannot back up /srv/a; will not replace it: it contains more than 1000 files: remove some by hand, or set backup: None"),
			left: "test -e /srv/a/1",
		},
		"a file in a directory is larger than the bucket": {
			given: "mkdir /srv/a; touch /srv/a/1; head -c 100000 /dev/zero > /srv/a/2", catalog: []string{"File/a {path: /srv/a, ensure: absent, force: true}"},
			bucket: 50000,
			plan: failedFile("cannot back up /srv/a; will not replace it: " +
				"/srv/a/2 needs 104096 bytes in the bucket, but its limit is 50000: raise the limit, or set backup: None"),
			left: "test -e /srv/a/1; test ! -e /var/lib/fettle/bucket",
		},
		"the copy of a file would take the place of a directory": {
			given: "touch /srv/a; mkdir /srv/a.bak", catalog: []string{"File/a {path: /srv/a, content: x, backup: .bak}"},
			plan: failedFile("cannot back up /srv/a; will not replace it: /srv/a.bak is a directory: use another suffix, or backup: Bucket"),
		},
	}
}

// protectedFiles has the files that not even root can change.
func protectedFiles() map[string]promised {
	const (
		disk      = "mount -t tmpfs none /srv; echo a > /srv/a; mkdir /srv/d; echo a > /srv/d/a; "
		immutable = "is immutable: change that with chattr -i"
		readOnly  = "is on a read-only file system: mount that read-write"
	)
	one := func(given, attributes, why string) promised {
		return promised{given: disk + given, catalog: []string{"File/a {" + attributes + "}"}, plan: failedFile(why)}
	}
	return map[string]promised{
		"an immutable file gets content":                one("chattr +i /srv/a", "path: /srv/a, content: x", "/srv/a "+immutable),
		"an immutable file gets a mode":                 one("chattr +i /srv/a", "path: /srv/a, mode: '0600'", "/srv/a "+immutable),
		"an immutable file is removed":                  one("chattr +i /srv/a", "path: /srv/a, ensure: absent", "/srv/a "+immutable),
		"an immutable file becomes a link":              one("chattr +i /srv/a", "path: /srv/a, target: x", "/srv/a "+immutable),
		"an append-only file gets content":              one("chattr +a /srv/a", "path: /srv/a, content: x", "/srv/a is append-only: change that with chattr -a"),
		"a file in an immutable directory gets content": one("chattr +i /srv/d", "path: /srv/d/a, content: x", "/srv/d "+immutable),
		"a file is made in an immutable directory":      one("chattr +i /srv/d", "path: /srv/d/new, content: x", "/srv/d "+immutable),
		"a file in an immutable directory gets a mode":  {given: disk + "chattr +i /srv/d", catalog: []string{"File/a {path: /srv/d/a, mode: '0600'}"}, plan: []string{"File/a Noop"}},
		"a copy of an immutable copy is made": one("touch /srv/a.bak; chattr +i /srv/a.bak", "path: /srv/a, content: x, backup: .bak",
			"cannot back up /srv/a; will not replace it: /srv/a.bak "+immutable),
		"a file of a read-only file system gets content": one("mount -o remount,ro /srv", "path: /srv/a, content: x", "/srv "+readOnly),
		"a file of a read-only file system gets a mode":  one("mount -o remount,ro /srv", "path: /srv/a, mode: '0600'", "/srv/a "+readOnly),
		"a directory is made in a read-only file system": one("mount -o remount,ro /srv", "path: /srv/new, ensure: directory", "/srv "+readOnly),
		"a file of the kernel gets content": one("", "path: /proc/sys/vm/swappiness, content: x",
			"/proc/sys/vm/swappiness is in a file system whose files only the kernel makes: write into it by an Exec"),
		"a file is made beside those of the kernel": one("", "path: /sys/kernel/new, content: x",
			"/sys/kernel/new is in a file system whose files only the kernel makes: write into it by an Exec"),
	}
}

// usersFiles has the files that a user could use to get rights that are not theirs.
func usersFiles() map[string]promised {
	const (
		linked = "useradd ann; mkdir /srv/d; chown ann /srv/d; echo a > /srv/d/a; ln /srv/d/a /srv/d/b"
		why    = " has several hard links, and users other than root can write to its directory, or could before: " +
			"remove the file so that it is created again, or make it in a directory that only root could ever write to"
		program = "useradd ann; cp /bin/true /srv/a; "
	)
	return map[string]promised{
		"a user's program becomes root's with root's rights": {
			given: program + "chown ann /srv/a", catalog: []string{"File/a {path: /srv/a, owner: root, mode: '4755'}"},
			plan: failedFile("/srv/a belongs to user 770000, who may have it open and could change what would run with the rights of another: " +
				"manage its content too, or remove it so that it is created again"),
			left: "test $(stat -c %U:%a /srv/a) = ann:755",
		},
		"a user's program becomes root's with new content": {given: program + "chown ann /srv/a", catalog: []string{"File/a {path: /srv/a, owner: root, mode: '4755', source: /bin/true}"}, plan: []string{"File/a Noop"}},
		"a user's set-user-ID program becomes root's": {
			given: program + "chown ann:ann /srv/a; chmod 4755 /srv/a", catalog: []string{"File/a {path: /srv/a, owner: root, mode: g+w}"}, plan: []string{"File/a Noop"},
			left: "test $(stat -c %U:%a /srv/a) = root:775",
		},
		"root's set-user-ID program becomes a user's": {
			given: program + "chmod 4755 /srv/a", catalog: []string{"File/a {path: /srv/a, owner: ann, mode: u+x}"}, plan: []string{"File/a Noop"},
			left: "test $(stat -c %U:%a /srv/a) = ann:755",
		},
		"a file with hard links in a user's directory gets a mode":               {given: linked, catalog: []string{"File/a {path: /srv/d/a, mode: '0600'}"}, plan: failedFile("/srv/d/a" + why)},
		"a file with hard links in a user's directory gets an owner":             {given: linked, catalog: []string{"File/a {path: /srv/d/a, owner: ann}"}, plan: failedFile("/srv/d/a" + why)},
		"a file with hard links in a user's directory gets an owner and content": {given: linked, catalog: []string{"File/a {path: /srv/d/a, owner: ann, content: x}"}, plan: []string{"File/a Noop"}},
		"a file with hard links in root's directory gets a mode":                 {given: "echo a > /srv/a; ln /srv/a /srv/b", catalog: []string{"File/a {path: /srv/a, mode: '0600'}"}, plan: []string{"File/a Noop"}},
		"a tree with hard links becomes a user's": {
			given: linked, catalog: []string{"File/d {path: /srv/d, recurse: true, owner: ann}"},
			plan: []string{"File//srv/d/a Failed: cannot be applied: /srv/d/a" + why, "File//srv/d/b Failed: cannot be applied: /srv/d/b" + why, "File/d InSync"},
		},
	}
}

// tidiedFiles has files that a Tidy can't remove.
func tidiedFiles() map[string]promised {
	const disk = "mount -t tmpfs none /srv; mkdir /srv/d; head -c 100000 /dev/zero > /srv/d/a; touch /srv/d/b; "
	const tidy = "Tidy/t {path: /srv/d, recurse: true, ageSeconds: 0}"
	failed := func(name, why string) string { return "File//srv/d/" + name + " Failed: cannot be applied: " + why }
	return map[string]promised{
		"an immutable file is old": {
			given: disk + "chattr +i /srv/d/a", catalog: []string{tidy},
			plan: []string{failed("a", "/srv/d/a is immutable: change that with chattr -i"), "File//srv/d/b Noop", "Tidy/t InSync"},
		},
		"the files of a read-only file system are old": {
			given: disk + "mount -o remount,ro /srv", catalog: []string{tidy},
			plan: []string{
				failed("a", "/srv/d is on a read-only file system: mount that read-write"),
				failed("b", "/srv/d is on a read-only file system: mount that read-write"), "Tidy/t InSync",
			},
		},
		"an old file is larger than the bucket": {
			given: disk, bucket: 50000, catalog: []string{"Tidy/t {path: /srv/d, recurse: true, ageSeconds: 0, backup: Bucket}"},
			plan: []string{
				failed("a", "cannot back up /srv/d/a; will not remove it: /srv/d/a needs 104096 bytes in the bucket, but its limit is 50000: "+
					"raise the limit, or set backup: None"),
				"File//srv/d/b Noop", "Tidy/t InSync",
			},
		},
		"a Tidy removes what it names": {given: disk, catalog: []string{"Tidy/t {path: /srv/d/b}"}, plan: []string{"File//srv/d/b Noop", "Tidy/t InSync"}},
	}
}

// copiedFiles has sources that can't be copied.
func copiedFiles() map[string]promised {
	const future = "source /srv/s was changed at 2090-01-01T00:00:00Z, which is in the future, so that a copy would be older: correct its time, or use another checksum"
	return map[string]promised{
		"a source that is compared by time is of the future": {
			given: "touch -d 2090-01-01Z /srv/s; echo a > /srv/a", catalog: []string{"File/a {path: /srv/a, source: /srv/s, checksum: mtime}"}, plan: failedFile(future),
			left: "test $(cat /srv/a) = a",
		},
		"a new file has a source of the future": {
			given: "touch -d 2090-01-01Z /srv/s", catalog: []string{"File/a {path: /srv/a, source: /srv/s, checksum: mtime}"}, plan: failedFile(future),
			left: "test ! -e /srv/a",
		},
		"a directory is to be replaced by a missing source": {
			given: "mkdir /srv/a; touch /srv/a/1", catalog: []string{"File/a {path: /srv/a, source: /srv/s, force: true}"},
			plan: failedFile("cannot look at source: lookup /srv/s: no such file or directory"),
			left: "test -e /srv/a/1",
		},
		"the first source is a directory": {
			given: "mkdir /srv/s", catalog: []string{"File/a {path: /srv/a, sources: [/srv/s, /etc/hostname]}"},
			plan: failedFile("cannot look at source: /srv/s is a directory, and only a file has content to copy"),
		},
		"a source has another checksum": {
			given:   "echo a > /srv/s; echo b > /srv/a",
			catalog: []string{`File/a {path: /srv/a, source: /srv/s, checksum: md5, checksumValue: "00000000000000000000000000000000"}`},
			plan: failedFile("the source has the checksum {md5}60b725f10c9c85c70d97880dfe8191b3, and checksumValue is {md5}00000000000000000000000000000000: " +
				"its content was discarded"),
		},
		"a source is too large": {
			given: "truncate -s 20G /srv/s", catalog: []string{"File/a {path: /srv/a, source: /srv/s}"},
			plan: failedFile("it has 21474836480 bytes, and the content of at most 16 GiB is read: " +
				"compare it by checksum: mtime, audit mtime instead of content, or remove the file"),
		},
		"a link leads to where nothing is": {
			given: "ln -s /none/x /srv/a", catalog: []string{"File/a {path: /srv/a, content: x, links: follow}"},
			plan: failedFile("cannot create the target of /srv/a: its directory does not exist: create it first, with a File that has ensure: directory"),
		},
		"a source and its copy are of the future": {given: "touch -d 2090-01-01Z /srv/s /srv/a", catalog: []string{"File/a {path: /srv/a, source: /srv/s, checksum: mtime}"}, plan: []string{"File/a InSync"}},
	}
}

// spelledFiles have paths through symlinks that nearly all hosts have.
func spelledFiles() map[string]promised {
	return map[string]promised{
		"the directory of a file has another path":   {catalog: []string{"File/a {path: /run/x/a, content: x}", "File/x {path: /var/run/x, ensure: directory}"}, plan: []string{"File/x Noop", "File/a Noop"}},
		"the directory of a file has a shorter path": {catalog: []string{"File/a {path: /lib/x/a, content: x}", "File/x {path: /usr/lib/x, ensure: directory}"}, plan: []string{"File/x Noop", "File/a Noop"}},
		"a lock has three paths":                     {catalog: []string{"File/a {path: /var/lock/x/a, content: x}", "File/x {path: /var/run/lock/x, ensure: directory}"}, plan: []string{"File/x Noop", "File/a Noop"}},
		"a directory is removed by another path before": {
			given:   "mkdir /usr/lib/x",
			catalog: []string{"File/x {path: /usr/lib/x, ensure: absent, force: true}", "File/a {path: /lib/x/a, content: x}"},
			plan: []string{"File/x Noop", "File/a Failed: cannot be applied: cannot create /lib/x/a: its parent directory /lib/x does not exist: " +
				"create it first, with a File that has ensure: directory"},
		},
		"a command has another path": {
			catalog: []string{"Exec/e {command: /bin/tool}", `File/tool {path: /usr/bin/tool, content: "#!/bin/sh\n", mode: "0755"}`},
			plan:    []string{"File/tool Noop", "Exec/e Noop (unknown: runs a command)"},
		},
	}
}

// changedBefore has Files that an apply finds in another state than a plan, because of earlier ones.
func changedBefore() map[string]promised {
	const equal = "echo x > /srv/s; echo x > /srv/a"
	const links = "mkdir -p /srv/x/d /srv/y/d; echo x > /srv/x/d/a; echo y > /srv/y/d/a; ln -s x /srv/l"
	one := func(given, first, second, state string) promised {
		return promised{given: given, catalog: []string{"File/x {" + first + "}", "File/a {" + second + ", require: [File/x]}"}, plan: []string{"File/x Noop", "File/a " + state}}
	}
	return map[string]promised{
		"the source of a copy gets content":  one(equal, "path: /srv/s, content: z", "path: /srv/a, source: /srv/s", "InSync (unknown: copies /srv/s, which is planned)"),
		"the source of a copy is removed":    one(equal, "path: /srv/s, ensure: absent", "path: /srv/a, source: /srv/s", "InSync (unknown: copies /srv/s, which is planned)"),
		"the source of a copy is replaced":   one(equal, "path: /srv/s, target: /etc/hostname", "path: /srv/a, source: /srv/s", "InSync (unknown: copies /srv/s, which is planned)"),
		"the source of a copy gets a mode":   one(equal, "path: /srv/s, mode: '0600'", "path: /srv/a, source: /srv/s", "InSync"),
		"the source of a new file is made":   one("", "path: /srv/s, content: z", "path: /srv/a, source: /srv/s", "Noop"),
		"the source of a new file is gone":   one("touch /srv/s", "path: /srv/s, ensure: absent", "path: /srv/a, source: /srv/s", "Noop (unknown: copies /srv/s, which is planned)"),
		"another source is preferred":        one("touch /srv/a", "path: /srv/s, content: z", "path: /srv/a, sources: [/srv/s, /etc/hostname]", "Noop (unknown: copies /srv/s, which is planned)"),
		"the directory of a file is removed": one("mkdir /srv/x; echo -n x > /srv/x/a", "path: /srv/x, ensure: absent, force: true", "path: /srv/x/a, content: x", "InSync (unknown: /srv/x is planned)"),
		"a file is removed with its directory": one("mkdir /srv/x; touch /srv/x/a", "path: /srv/x, ensure: absent, force: true", "path: /srv/x/a, ensure: absent",
			"Noop (unknown: /srv/x is planned)"),
		"a link above leads elsewhere":                           one(links, "path: /srv/l, target: /srv/y", `path: /srv/l/d/a, content: "x\n"`, "InSync (unknown: follows a link that is planned)"),
		"a link above leads elsewhere, where nothing is removed": one(links, "path: /srv/l, target: /srv/y", "path: /srv/l/d/b, ensure: absent", "InSync (unknown: follows a link that is planned)"),
		"a link above is made, and an owner is missing":          one("", "path: /srv/l, target: /srv/none", "path: /srv/l/d/a, content: x, owner: ann", "Noop (unknown: follows a link that is planned)"),
		"a link above becomes a directory":                       one(links, "path: /srv/l, ensure: directory", `path: /srv/l/d/a, content: "x\n"`, "InSync (unknown: /srv/l/d is planned)"),
		"a file in a tree is copied": {
			given:   "mkdir /srv/s /srv/t; echo x > /srv/s/a; echo x > /srv/t/a",
			catalog: []string{"File/x {path: /srv/s/a, content: z}", "File/t {path: /srv/t, source: /srv/s, recurse: true, require: [File/x]}"},
			plan:    []string{"File/x Noop", "File//srv/t/a InSync (unknown: copies /srv/s/a, which is planned)", "File/t InSync"},
		},
		"old files are removed with their directory": {
			given:   "mkdir /srv/d; touch /srv/d/a",
			catalog: []string{"File/d {path: /srv/d, ensure: absent, force: true}", "Tidy/t {path: /srv/d, recurse: true, ageSeconds: 0}"},
			plan:    []string{"File/d Noop", "Tidy/t InSync"},
		},
	}
}

func TestAPlanOfFilesIsAPromise(t *testing.T) {
	for _, cases := range []map[string]promised{removedTrees(), protectedFiles(), usersFiles(), copiedFiles(), tidiedFiles(), spelledFiles(), changedBefore()} {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) { c.keepOnRoot(t) })
		}
	}
}
