package puppet

import "strings"

// derived is the Field of an attribute that is only respelled, and has a note.
const derived = "*"

// absent returns attributes without a counterpart, with what to use instead.
func absent(names, note string) []Attribute {
	var all []Attribute
	for name := range strings.FieldsSeq(names) {
		all = append(all, Attribute{Name: name, Note: note})
	}
	return all
}

func all(lists ...[]Attribute) []Attribute {
	var joined []Attribute
	for _, list := range lists {
		joined = append(joined, list...)
	}
	return joined
}

const (
	readOnly  = "it is read-only, and not reported"
	otherUnix = "it is for other systems than Linux"
	local     = "accounts are always those of the host's own files"
	list      = "always a list"
	reference = "a list of references such as Package/nginx: " + kindAndName
)

const kindAndName = "the kind, and metadata.name instead of the title"

// Types returns the types of Puppet that Fettle has, and their metaparameters as a type without a kind. The rest of
// their attributes have the same names and values.
func Types() []Type {
	return []Type{
		{Kind: "", Name: "all types", respelled: []string{"loglevel"}, others: all([]Attribute{
			{"audit", "audit", list},
			{"require", "require", reference},
			{"before", "before", reference},
			{"notify", "notify", reference},
			{"subscribe", "subscribe", reference},
			{"schedule", "schedule", "the fields range, period, weekday and so on, not the name of a schedule"},
			{"tag", "", "use metadata.labels, by which kubectl and apply -l select"},
			{"alias", "", "references have metadata.name, whatever the name on the host is"},
			{"stage", "", "use require and before"},
		}, absent("consume export", "use a ConfigMap with contentFrom, or a template"))},
		{Name: "exec", Kind: "Exec", respelled: []string{"refreshonly", "timeout", "try_sleep"}, others: []Attribute{
			{"command", "command", "a line; a list of words is command with args"},
			{"creates", "creates", list},
			{"logoutput", derived, "onFailure, always instead of true, or never instead of false"},
			{"onlyif", derived, list},
			{"path", "path", "a list of directories, not separated by colons"},
			{"name", "command", ""},
			{"provider", "shell: true", "for provider => shell"},
			{"returns", "returns", list},
			{"unless", "unless", list},
		}},
		fileType(),
		{Name: "group", Kind: "Group", respelled: []string{"allowdupe", "auth_membership"}, others: all(
			absent("attribute_membership attributes ia_load_module", otherUnix),
			absent("forcelocal", local),
		)},
		{Name: "notify", Kind: "Notify", others: []Attribute{
			{"name", "metadata.name", "and message is the text"},
			{"withpath", "", "reports always name the resource"},
		}},
		packageType(),
		{Name: "resources", Kind: "Purge", respelled: []string{"unless_system_user"}, others: []Attribute{
			{"name", "kind", "a kind such as User"},
			{"purge", "", "a Purge always purges; with noop: true it only reports"},
			{"unless_uid", derived, list},
		}},
		serviceType(),
		{Name: "ssh_authorized_key", Kind: "SSHAuthorizedKey", others: []Attribute{
			{"drop_privileges", "", "with user, the file is always read and written as that user"},
			{"options", "options", list},
		}},
		{Name: "tidy", Kind: "Tidy", respelled: []string{"recurselimit"}, others: []Attribute{
			{"age", derived, "a number counts seconds instead of days; with a unit it is the same: 30d, 12h"},
			{"backup", "backup", "None (default) or Bucket"},
			{"matches", "matches", list},
			{"max_files", "", "a Tidy has no limit"},
			{"name", "path", ""},
			{"recurse", "recurse", "true or false; a number is recurseLimit"},
			{"size", "size", "a number without a unit is refused: write 100k for 100"},
		}},
		userType(),
	}
}

func fileType() Type {
	return Type{
		Name: "file", Kind: "File", respelled: []string{"checksum_value", "max_files", "recurselimit", "show_diff", "validate_cmd"},
		others: []Attribute{
			{"backup", "backup", "Bucket (default) instead of the name of a filebucket, None instead of false, or a suffix such as .bak"},
			{"checksum", "checksum", "only with source, and not ctime"},
			{"ensure", "ensure", "a path is ensure: link with target"},
			{"ignore", "ignore", list},
			{"recurse", "recurse", "true or false; remote is recurse: true with recurseScope: Source"},
			{"selinux_ignore_defaults", "", "parts of a label that are not set are never changed"},
			{"source", "source", "a path or URL that the host reads; puppet:/// is contentFrom, and a list is sources"},
			{"sourceselect", "", "sources has alternatives, of which the first that exists is used"},
			{"source_permissions", "", "a source provides only content: set owner, group and mode"},
			{"staging_location", "", "new content is staged beside the file"},
			{"validate_replacement", "", "% stands for the staged file"},
			{"ctime", "audit: [ctime]", ""},
			{"mtime", "audit: [mtime]", ""},
			{"type", "audit: [type]", ""},
			{"name", "path", ""},
		},
	}
}

func packageType() Type {
	return Type{
		Name: "package", Kind: "Package", respelled: []string{"allow_virtual", "configfiles", "reinstall_on_refresh", "responsefile"},
		others: all([]Attribute{
			{"allowcdrom", "", "remove the source on CD from apt's sources"},
			{"command", "", "each provider finds its own commands"},
			{"ensure", "ensure", "held is mark: hold"},
			{"install_options", derived, "a list of strings: { '-o' => 'x' } is -o=x"},
			{"package_settings", "", "use responseFile, or a File with the configuration"},
			{"source", "source", "the path of a .deb file on the host"},
			{"uninstall_options", derived, "a list of strings: { '-o' => 'x' } is -o=x"},
		}, absent("enable_only flavor install_only", "no provider has flavors"), absent("adminfile", otherUnix),
			absent("category description instance platform root status vendor", readOnly)),
	}
}

func serviceType() Type {
	return Type{
		Name: "service", Kind: "SystemService", respelled: []string{"hasrestart", "hasstatus"},
		others: all([]Attribute{
			{"binary", "", "use start"},
			{"control", "", "use start, stop and status"},
			{"enable", "enable", "true or false; mask is mask: true"},
			{"ensure", "ensure", "running instead of true, stopped instead of false"},
			{"manifest", "", "use a File for the unit"},
			{"path", "", "scripts are those in /etc/init.d: otherwise use start, stop and status"},
		}, absent("flags timeout", "it is a setting of the unit: use a File for a drop-in"), absent("logonaccount logonpassword", otherUnix)),
	}
}

func userType() Type {
	return Type{
		Name: "user", Kind: "User", respelled: []string{"allowdupe", "password_max_age", "password_min_age", "password_warn_days"},
		others: all([]Attribute{
			{"home", "home", "of an existing account, the directory is moved only with moveHome: true"},
			{"managehome", derived, "it creates the directory with the account and removes it with the account, but never moves it: set moveHome: true for that"},
			{"password", "password", "a hash from a Secret is passwordFrom"},
			{"purge_ssh_keys", derived, "true or false; paths are in sshKeyFiles"},
		}, absent("forcelocal", local),
			absent("attribute_membership attributes auth_membership auths ia_load_module iterations key_membership keys loginclass "+
				"profile_membership profiles project role_membership roles salt", otherUnix)),
	}
}
