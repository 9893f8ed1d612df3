package puppet

import (
	"fmt"
	"strings"
)

// A word is what others call a kind.
type word struct {
	whose, names string
	kind         string // Fettle's; "" if there is none
	note         string // what to use instead, or more about it
}

const (
	whole   = "use a File with the whole content, or a file of your own in a .d directory"
	program = "keep the type as an external one, or use a File and an Exec"
)

func words() []word {
	return []word{
		{"Puppet", "service", "SystemService", "Kubernetes has a Service"},
		{"Puppet", "resources", "Purge", ""},
		{"Puppet", "ssh_authorized_key", "SSHAuthorizedKey", ""},
		{"Puppet", "cron", "", "use a File in /etc/cron.d, or Files for a systemd timer"},
		{"Puppet", "mount", "", "use a File for a systemd mount unit, and a SystemService for the unit"},
		{"Puppet", "host file_line ini_setting ini_subsetting augeas concat concat_fragment mailalias sshkey", "", whole},
		{"Puppet", "yumrepo", "", "use a File in /etc/yum.repos.d"},
		{"Puppet", "sysctl", "", "use a File in /etc/sysctl.d that notifies an Exec with sysctl --system"},
		{"Puppet", "archive", "", "use a File with source, and an Exec with creates"},
		{"Puppet", "schedule", "", "use the field schedule of each resource"},
		{"Puppet", "filebucket", "", "replaced content goes to the bucket of the host: see fettle bucket"},
		{"Puppet", "class define", "", "use a kustomization or a Helm chart, and name its resources in references"},
		{"Puppet", "stage", "", "use require and before"},
		{"Puppet", "node", "", "use nodeSelector"},
		{"Puppet", "alternatives selboolean selmodule zfs zone zpool", "", program},
		{"Chef", "directory link", "File", "use ensure: directory, or ensure: link with target"},
		{"Ansible", "apt dnf yum dpkg_selections", "Package", ""},
		{"Ansible", "systemd systemd_service sysvinit", "SystemService", ""},
		{"Ansible", "copy template get_url", "File", ""},
		{"Ansible", "command shell script", "Exec", ""},
		{"Ansible", "authorized_key", "SSHAuthorizedKey", ""},
		{"Ansible", "find", "Tidy", ""},
		{"Ansible", "debug", "Notify", ""},
		{"Ansible", "lineinfile blockinfile replace", "", whole},
		{"Ansible", "apt_repository apt_key", "", "use a File in /etc/apt/sources.list.d, and one for the key"},
		{"Ansible", "unarchive", "", "use a File with source, and an Exec with creates"},
	}
}

// find returns the entry of a word in any style: Ssh_authorized_key, SshAuthorizedKey.
func find(kind string) (w word, name string, found bool) {
	for _, w := range words() {
		for name := range strings.FieldsSeq(w.names) {
			if plain(name) == plain(kind) {
				return w, name, true
			}
		}
	}
	return word{}, "", false
}

// Kind answers an unknown kind: "Puppet's service is SystemService". It returns "" if the word means nothing to Fettle.
func Kind(kind string) string {
	w, name, found := find(kind)
	switch {
	case !found:
		return ""
	case w.kind == "":
		return fmt.Sprintf("%s's %s does not exist here: %s", w.whose, name, w.note)
	case w.note != "":
		return fmt.Sprintf("%s's %s is %s: %s", w.whose, name, w.kind, w.note)
	}
	return fmt.Sprintf("%s's %s is %s", w.whose, name, w.kind)
}
