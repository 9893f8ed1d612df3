package puppet_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/config/crd"
	"github.com/fettle-dev/fettle/internal/puppet"
	"github.com/fettle-dev/fettle/providers"
)

// fields returns those of a kind's spec.
func fields(t *testing.T, kind string) []string {
	t.Helper()
	c, err := crd.Of(kind)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties))
}

const metaparameters = " alias audit before consume export loglevel noop notify provider require schedule stage subscribe tag"

// attributes are all of Puppet's, by kind.
var attributes = map[string]string{
	"Exec": "name command creates cwd environment group logoutput onlyif path refresh refreshonly returns timeout tries try_sleep umask unless user",
	"File": "name path ensure backup checksum checksum_value content ctime force group ignore links max_files mode mtime owner purge recurse recurselimit " +
		"replace selinux_ignore_defaults selrange selrole seltype seluser show_diff source source_permissions sourceselect staging_location target type " +
		"validate_cmd validate_replacement",
	"Group":  "name ensure allowdupe attribute_membership attributes auth_membership forcelocal gid ia_load_module members system",
	"Notify": "name message withpath",
	"Package": "name ensure adminfile allow_virtual allowcdrom category command configfiles description enable_only environment flavor install_only " +
		"install_options instance mark package_settings platform reinstall_on_refresh responsefile root source status uninstall_options vendor",
	"Purge":            "name purge unless_system_user unless_uid",
	"SSHAuthorizedKey": "name ensure drop_privileges key options target type user",
	"SystemService": "name ensure binary control enable flags hasrestart hasstatus logonaccount logonpassword manifest path pattern restart start status " +
		"stop timeout",
	"Tidy": "name path age backup matches max_files recurse recurselimit rmdirs size type",
	"User": "name ensure allowdupe attribute_membership attributes auth_membership auths comment expiry forcelocal gid groups home ia_load_module " +
		"iterations key_membership keys loginclass managehome membership password password_max_age password_min_age password_warn_days " +
		"profile_membership profiles project purge_ssh_keys role_membership roles salt shell system uid",
}

func TestEachAttributeOfPuppetIsAFieldOrIsAnswered(t *testing.T) {
	for _, k := range providers.Kinds() {
		own := fields(t, k.Name())
		for name := range strings.FieldsSeq(attributes[k.Name()] + metaparameters) {
			if !slices.Contains(own, name) && puppet.Field(k.Name(), name, own) == "" {
				t.Errorf("nothing answers %s of %s", name, k.Name())
			}
		}
	}
}

func TestTheTableHasOnlyAttributesOfPuppetAndFieldsThatExist(t *testing.T) {
	for _, typ := range puppet.Types() {
		kinds, known := []string{typ.Kind}, attributes[typ.Kind]+metaparameters
		if typ.Kind == "" {
			kinds, known = slices.Collect(maps.Keys(attributes)), metaparameters
		}
		for _, kind := range kinds {
			own := fields(t, kind)
			for _, a := range typ.Attributes(own) {
				field, _, _ := strings.Cut(a.Field, ":")
				if field != "" && field != "metadata.name" && !slices.Contains(own, field) {
					t.Errorf("%s: %s has no field %s", typ.Name, kind, field)
				}
				if !slices.Contains(strings.Fields(known), a.Name) || a.Field == "" && a.Note == "" || a.Field == a.Name && a.Note == "" {
					t.Errorf("%s: %+v is no difference", typ.Name, a)
				}
			}
		}
	}
}

// table is the one in docs/from-puppet.md. Attributes that differ in the same way share a row.
func table(t *testing.T) string {
	t.Helper()
	out := "| Type | Puppet | Fettle | Difference |\n|---|---|---|---|\n"
	for _, typ := range puppet.Types() {
		label, kind := typ.Name, "File"
		if typ.Kind != "" {
			label, kind = fmt.Sprintf("[%s](kinds/%s.md)", typ.Name, strings.ToLower(typ.Kind)), typ.Kind
		}
		for _, r := range rows(typ.Attributes(fields(t, kind))) {
			ours := strings.Join(r.ours, ", ")
			if slices.Equal(r.ours, r.theirs) {
				ours = "the same"
			}
			out += fmt.Sprintf("| %s | %s | %s | %s |\n", label, strings.Join(r.theirs, ", "), cmp.Or(ours, "none"), r.note)
		}
	}
	return out
}

type row struct {
	theirs, ours []string
	note         string
}

func rows(all []puppet.Attribute) []row {
	var out []row
	for _, a := range all {
		i := slices.IndexFunc(out, func(r row) bool { return r.note == a.Note && (len(r.ours) > 0) == (a.Field != "") })
		if i < 0 {
			i, out = len(out), append(out, row{note: a.Note})
		}
		out[i].theirs = append(out[i].theirs, "`"+a.Name+"`")
		if a.Field != "" {
			out[i].ours = append(out[i].ours, "`"+a.Field+"`")
		}
	}
	return out
}

func TestFromPuppetHasTheTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/from-puppet.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := table(t); !strings.Contains(string(page), "\n"+want+"\n") {
		t.Errorf("docs/from-puppet.md does not have this table:\n%s", want)
	}
}

func TestAnswersToFields(t *testing.T) {
	for _, c := range [][3]string{
		{"Exec", "try_sleep", "Puppet's try_sleep is trySleepSeconds"},
		{"Exec", "timeout", "Puppet's timeout is timeoutSeconds"},
		{"Exec", "onlyif", "Puppet's onlyif is onlyIf: always a list"},
		{"Tidy", "age", "Puppet's age is ageSeconds: a number counts seconds instead of days; with a unit it is the same: 30d, 12h"},
		{"User", "managehome", "Puppet's managehome is manageHome: it creates the directory with the account and removes it with the account, but never moves it: set moveHome: true for that"},
		{"User", "password_max_age", "Puppet's password_max_age is passwordMaxAge"},
		{"SystemService", "binary", "Puppet's binary does not exist here: use start"},
		{"File", "mtime", "Puppet's mtime is audit: [mtime]"},
		{"Notify", "name", "Puppet's name is metadata.name: and message is the text"},
		{"File", "loglevel", "Puppet's loglevel is logLevel"},
		{"Group", "tag", "Puppet's tag does not exist here: use metadata.labels, by which kubectl and apply -l select"},
		{"File", "dest", "Ansible's dest is path"},
		{"File", "depends_on", "Terraform's depends_on is require: list resources as KIND/NAME"},
		{"Package", "version", "Chef's version is ensure: it also takes versions"},
		{"Package", "dest", ""},
		{"File", "age", ""},
		{"Exec", "timeouts", ""},
	} {
		if got := puppet.Field(c[0], c[1], fields(t, c[0])); got != c[2] {
			t.Errorf("%s of %s: %q", c[1], c[0], got)
		}
	}
}

func TestAnswersToValues(t *testing.T) {
	for _, c := range []struct {
		kind, field string
		value       any
		want        string
	}{
		{"SystemService", "ensure", true, "true is Puppet's form: write running"},
		{"SystemService", "enable", "mask", "mask is Puppet's form: write mask: true"},
		{"File", "source", "puppet:///modules/a/b", "puppet:///modules/a/b is Puppet's form: use contentFrom with a ConfigMap, or a path or an https URL that the host reads"},
		{"File", "source", []any{"/a", "/b"}, "a list is Puppet's form: write the list in sources"},
		{"File", "recurse", int64(2), "2 is Puppet's form: write recurse: true, and the number in recurseLimit"},
		{"File", "ensure", "/a", "/a is Puppet's form: write ensure: link, and the path in target"},
		{"User", "purgeSSHKeys", []any{"/a"}, "a list is Puppet's form: write true, and the paths in sshKeyFiles"},
		{"Exec", "schedule", "daily", "daily is Puppet's form: write the schedule itself, with range, period and so on, instead of its name"},
		{"Package", "ensure", "held", "held is Puppet's form: write mark: hold, and present or a version in ensure"},
		{"Exec", "provider", "shell", "shell is Puppet's form: write shell: true"},
		{"File", "provider", "shell", ""},
		{"File", "source", "ftp://a", ""},
		{"Exec", "ensure", true, ""},
	} {
		if got := puppet.Value(c.kind, c.field, c.value); got != c.want {
			t.Errorf("%s of %s: %q", c.field, c.kind, got)
		}
	}
}

func TestAnswersToKinds(t *testing.T) {
	got := map[string]string{}
	for _, kind := range []string{"Service", "service", "Ssh_authorized_key", "SshAuthorizedKey", "Resources", "Cron", "Mount", "Copy", "Lineinfile", "Directory", "Deployment"} {
		got[kind] = puppet.Kind(kind)
	}
	if diff := gocmp.Diff(map[string]string{
		"Service": "Puppet's service is SystemService: Kubernetes has a Service", "service": "Puppet's service is SystemService: Kubernetes has a Service",
		"Ssh_authorized_key": "Puppet's ssh_authorized_key is SSHAuthorizedKey", "SshAuthorizedKey": "Puppet's ssh_authorized_key is SSHAuthorizedKey",
		"Resources":  "Puppet's resources is Purge",
		"Cron":       "Puppet's cron does not exist here: use a File in /etc/cron.d, or Files for a systemd timer",
		"Mount":      "Puppet's mount does not exist here: use a File for a systemd mount unit, and a SystemService for the unit",
		"Copy":       "Ansible's copy is File",
		"Lineinfile": "Ansible's lineinfile does not exist here: use a File with the whole content, or a file of your own in a .d directory",
		"Directory":  "Chef's directory is File: use ensure: directory, or ensure: link with target",
		"Deployment": "",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersToReferences(t *testing.T) {
	kinds := []string{"File", "Package", "SSHAuthorizedKey", "SystemService", "DNSZone"}
	for _, c := range [][2]string{
		{"Package/nginx", ""},
		{"DNSZone/a.b-c", ""},
		{"Package[nginx]", "is Puppet's form: write Package/nginx"},
		{"Package['nginx']", "is Puppet's form: write Package/nginx"},
		{"package/nginx", "names no resource: write Package/nginx"},
		{"Service[nginx]", "is Puppet's form: write SystemService/nginx"},
		{"Service/nginx", "names no resource: write SystemService/nginx"},
		{"Ssh_authorized_key[ann]", "is Puppet's form: write SSHAuthorizedKey/ann"},
		{"Dns_zone[a]", "is Puppet's form: write DNSZone/a"},
		{"File[/etc/motd]", "is Puppet's form: write File/ and the metadata.name of the File, which has only lower-case letters, digits, - and ."},
		{"File/Motd", "names no resource: write File/ and the metadata.name of the File, which has only lower-case letters, digits, - and ."},
		{"Class[apache]", "is Puppet's form: Puppet's class does not exist here: use a kustomization or a Helm chart, and name its resources in references"},
		{"Foo[x]", "is Puppet's form: there is no kind Foo: write Kind/name with one of File, Package, SSHAuthorizedKey, SystemService, DNSZone"},
		{"nginx", "names no resource: write Kind/name, such as Package/nginx"},
	} {
		if got := puppet.Reference(c[0], kinds); got != c[1] {
			t.Errorf("%s: %q", c[0], got)
		}
	}
	for _, c := range [][2]string{
		{"Service/nginx", "write SystemService/nginx"},
		{"Cron/x", "Puppet's cron does not exist here: use a File in /etc/cron.d, or Files for a systemd timer"},
		{"Foo/x", ""},
		{"File/x", ""},
	} {
		if got := puppet.Instead(c[0], kinds); got != c[1] {
			t.Errorf("%s: %q", c[0], got)
		}
	}
	if got := puppet.Instead("Cron/x", append(kinds, "Cron")); got != "" {
		t.Errorf("an external kind: %q", got)
	}
}
