package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// FileSpec is what a File says.
// +kubebuilder:validation:XValidation:rule="[has(self.content), has(self.contentTemplate), has(self.contentFrom), has(self.target)].filter(x, x).size() <= 1",message="content, contentTemplate, contentFrom and target exclude each other: keep one"
// +kubebuilder:validation:XValidation:rule="!has(self.ensure) || self.ensure in ['file', 'present'] || !(has(self.content) || has(self.contentTemplate) || has(self.contentFrom))",message="only a file has content: use ensure: file, or remove the content"
// +kubebuilder:validation:XValidation:rule="!has(self.target) || !has(self.ensure) || self.ensure in ['link', 'present']",message="only a link has a target: use ensure: link, or remove target"
// +kubebuilder:validation:XValidation:rule="!has(self.ensure) || self.ensure != 'link' || has(self.target)",message="ensure: link needs target: what the link leads to"
// +kubebuilder:validation:XValidation:rule="!(has(self.source) || has(self.sources)) || !(has(self.content) || has(self.contentTemplate) || has(self.contentFrom) || has(self.target))",message="source excludes content, contentTemplate, contentFrom and target: keep one"
// +kubebuilder:validation:XValidation:rule="!(has(self.source) || has(self.sources)) || !has(self.ensure) || self.ensure in ['file', 'present'] || self.ensure == 'directory' && has(self.recurse) && self.recurse",message="only a file has a source: use ensure: file, or for a directory recurse: true, or remove source"
// +kubebuilder:validation:XValidation:rule="has(self.source) || has(self.sources) || !(has(self.checksum) || has(self.checksumValue))",message="checksum and checksumValue go with source: add it, or remove them"
// +kubebuilder:validation:XValidation:rule="!(has(self.source) && self.source.startsWith('http://') && !self.source.matches('^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|[[]::1[]])(:[0-9]*)?([/?#]|$)') || has(self.sources) && self.sources.exists(s, s.startsWith('http://') && !s.matches('^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|[[]::1[]])(:[0-9]*)?([/?#]|$)'))) || has(self.checksumValue) && !(has(self.checksum) && self.checksum.endsWith('lite'))",message="source is plain http, where anybody on the way can change the content: use https, or give checksumValue (not of a lite checksum)"
// +kubebuilder:validation:XValidation:rule="!has(self.checksumValue) || size(self.checksumValue) == (!has(self.checksum) || self.checksum in ['sha256', 'sha256lite'] ? 64 : self.checksum in ['sha1', 'sha1lite'] ? 40 : self.checksum in ['md5', 'md5lite'] ? 32 : self.checksum == 'sha224' ? 56 : self.checksum == 'sha384' ? 96 : self.checksum == 'sha512' ? 128 : 0)",message="checksumValue must have as many digits as a sum by checksum has; mtime and none have no sum"
// +kubebuilder:validation:XValidation:rule="!has(self.links) || self.links != 'follow' || !(has(self.target) || has(self.ensure) && self.ensure == 'link')",message="links: follow leads past the link that ensure: link or target asks for: remove one of them"
// +kubebuilder:validation:XValidation:rule="has(self.recurse) && self.recurse || !(has(self.recurseScope) || has(self.recurseLimit) || has(self.maxFiles) || has(self.ignore) || has(self.purge))",message="recurseScope, recurseLimit, maxFiles, ignore and purge go with recurse: set recurse: true, or remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.recurse) || !self.recurse || !has(self.ensure) || self.ensure == 'directory'",message="recurse is for a directory: use ensure: directory, or remove recurse"
// +kubebuilder:validation:XValidation:rule="!has(self.recurse) || !self.recurse || !(has(self.content) || has(self.contentTemplate) || has(self.contentFrom) || has(self.target) || has(self.checksumValue))",message="recurse is for a directory, which has no content, contentTemplate, contentFrom, target or checksumValue: remove them, or recurse"
// +kubebuilder:validation:XValidation:rule="!has(self.recurse) || !self.recurse || !(has(self.source) && self.source.startsWith('http') || has(self.sources) && self.sources.exists(s, s.startsWith('http')))",message="recurse needs a source on the host, as a URL has no list of files: use a path, or remove recurse"
// +kubebuilder:validation:XValidation:rule="!has(self.recurseScope) || self.recurseScope != 'Source' || has(self.source) || has(self.sources)",message="recurseScope: Source needs source, the directory to copy: add it, or use recurseScope: All"
// +kubebuilder:validation:XValidation:rule="!has(self.recurseScope) || self.recurseScope != 'Source' || !has(self.purge) || !self.purge",message="recurseScope: Source leaves alone what the source does not have: remove purge, or use recurseScope: All"
// +kubebuilder:validation:XValidation:rule="!has(self.contentFrom) || !has(self.contentFrom.secretKeyRef) || !has(self.backup) || self.backup == 'None'",message="what a secret replaces is not kept, as it may well be one: remove backup, or use backup: None"
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy != 'Restore' || !(has(self.contentFrom) && has(self.contentFrom.secretKeyRef))",message="deletionPolicy: Restore does not go with a Secret: what a secret replaces is never kept. Use Delete or Orphan"
// +kubebuilder:validation:XValidation:rule="!self.path.matches('^/+((bin|boot|dev|etc|home|lib|lib32|lib64|libx32|opt|proc|root|run|sbin|sys|usr(/+(bin|lib|lib32|lib64|libx32|sbin|share))?|var(/+lib)?)/*)?$') || !(has(self.ensure) && self.ensure == 'absent' || has(self.purge) && self.purge || has(self.force) && self.force) || has(self.confirm) && self.confirm == self.path",message="this removes a directory that the host does not work without, or what is in it: if that is intended, repeat path in confirm"
// +kubebuilder:validation:XValidation:rule="!(has(self.headersFrom) || has(self.caFrom) || has(self.ca)) || has(self.source) && self.source.startsWith('http') || has(self.sources) && self.sources.exists(s, s.startsWith('http'))",message="headersFrom, ca and caFrom are for a source that is a URL: add it, or remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.headersFrom) || !(has(self.source) && self.source.startsWith('http://') && !self.source.matches('^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|[[]::1[]])(:[0-9]*)?([/?#]|$)') || has(self.sources) && self.sources.exists(s, s.startsWith('http://') && !s.matches('^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|[[]::1[]])(:[0-9]*)?([/?#]|$)')))",message="headersFrom would be sent over plain http, where anybody on the way can read it: use https"
// +kubebuilder:validation:XValidation:rule="!(has(self.ca) && has(self.caFrom))",message="ca and caFrom exclude each other: keep one"
// +kubebuilder:validation:XValidation:rule="!(has(self.source) && has(self.sources))",message="source and sources exclude each other: keep one"
type FileSpec struct {
	Targeting      `json:",inline"`
	FileAttributes `json:",inline"`
	ContentOrigin  `json:",inline"`

	// headersFrom are headers to send with requests for source, such as Authorization, whose
	// values come from Secrets. They are sealed for each node, and never sent to another
	// server that a request is redirected to.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	HeadersFrom []HeaderSource `json:"headersFrom,omitempty"`
	// caFrom takes the certificates of ca from another object; a change of that object reaches
	// the nodes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.configMapKeyRef) != has(self.secretKeyRef)",message="caFrom needs one of configMapKeyRef and secretKeyRef: {namespace, name, key}"
	CAFrom *ValueSource `json:"caFrom,omitempty"`
}

// HeaderSource is a header whose value comes from a Secret.
type HeaderSource struct {
	// name of the header, but for those that are the connection's own.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_-]+$') && !(self.lowerAscii() in ['accept', 'accept-encoding', 'connection', 'content-length', 'expect', 'host', 'range', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent'])",message="headersFrom must name a header such as Authorization, not one of the connection itself, such as Host"
	Name         string `json:"name"`
	SecretSource `json:",inline"`
}

// FileAttributes are a file's, directory's or symlink's. An attribute that is left
// out is not managed.
type FileAttributes struct {
	// path on the host, absolute. One File claims it on a node.
	// +required
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.matches('^/')",message="path must be absolute, as in /etc/motd"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="path must not have . or .. in it: write where it leads"
	Path string `json:"path"`

	// ensure is what is at the path: present is anything, created as a file.
	// Without it, content means file and target means link.
	// +optional
	// +kubebuilder:validation:Enum=present;file;directory;link;absent
	Ensure *string `json:"ensure,omitempty"`

	// content of the file, whole.
	// +optional
	// +kubebuilder:validation:MaxLength=393216
	Content *string `json:"content,omitempty"`

	// source of the content: a path on the host (/srv/a or file:///srv/a) or an https
	// URL without user and password; an http URL needs checksumValue, unless it is of the
	// host itself. Without checksumValue at most 1 GiB is accepted from a URL. With recurse
	// it is a directory on the host.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/|file:///)') || self.matches('^https?://[^@/?#]+([/?#]|$)')",message="source must be an absolute path or an http or https URL without user and password"
	Source *string `json:"source,omitempty"`
	// sources are tried in turn, each as source has it: the first that exists is the source.
	// One that can't be reached fails the resource, as it may exist.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.matches('^(/|file:///)') || s.matches('^https?://[^@/?#]+([/?#]|$)'))",message="sources must be absolute paths or http or https URLs without user and password"
	Sources []string `json:"sources,omitempty"`
	// ca are the certificates, in PEM, that alone are trusted to sign the certificate of the
	// server in source. Default those of the system that fettle runs in.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CA *string `json:"ca,omitempty"`
	// checksum is how the content is compared with its source. mtime only looks whether
	// the source is newer, none not at all once there is a file. Default a sum that the server
	// announces (X-Checksum-Sha256, Repr-Digest, Digest, Content-MD5 and the like), otherwise sha256.
	// +optional
	// +kubebuilder:validation:Enum=sha256;sha512;sha384;sha224;sha1;md5;sha256lite;sha1lite;md5lite;mtime;none
	Checksum *string `json:"checksum,omitempty"`
	// checksumValue is the sum that the content must have, in hexadecimal. A file that
	// has it needs no source.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]+$`
	ChecksumValue *string `json:"checksumValue,omitempty"`
	// links: manage is about a link at the path itself, follow about what it leads to.
	// Default manage.
	// +optional
	// +kubebuilder:validation:Enum=manage;follow
	Links *string `json:"links,omitempty"`
	// followParentLinks: true follows each symlink on the way to path, or to source.
	// Otherwise the file fails where one could lead elsewhere by the will of somebody else:
	// symlinks of root are followed in directories that only root can write to, and those of
	// owner within their home, as long as they lead to a directory of theirs. Default false.
	// +optional
	FollowParentLinks *bool `json:"followParentLinks,omitempty"`

	// target is the text of the symlink.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4095
	Target *string `json:"target,omitempty"`

	// owner by name or number.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 0 && self <= 2147483647)",message="must be a name or a number from 0 to 2147483647"
	Owner *intstr.IntOrString `json:"owner,omitempty"`
	// group by name or number.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 0 && self <= 2147483647)",message="must be a name or a number from 0 to 2147483647"
	Group *intstr.IntOrString `json:"group,omitempty"`

	// mode as a string: octal ("0644") or symbolic ("u=rw,g=r,o="). An octal mode of
	// a directory also grants x wherever it grants r.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-7]{3,4}$') || self.matches('^([ugoa]*([-+=]([rwxXstugo]*))+)(,[ugoa]*([-+=]([rwxXstugo]*))+)*$')",message="mode must be octal, as \"0644\", or symbolic, as \"u=rw,go=r\""
	Mode *string `json:"mode,omitempty"`

	// recurse: true is about all that is below the directory too: owner, group and mode
	// apply to it, and with source it is made like what is below that. A File that names
	// a path below is left alone, with all below it.
	// +optional
	Recurse *bool `json:"recurse,omitempty"`
	// recurseScope: Source is only about what the source has, All about what is on the
	// host besides. Default All.
	// +optional
	// +kubebuilder:validation:Enum=All;Source
	RecurseScope *string `json:"recurseScope,omitempty"`
	// recurseLimit is how many levels down recurse goes: 1 is the directory's own
	// entries. Default all.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RecurseLimit *int32 `json:"recurseLimit,omitempty"`
	// maxFiles fails the resource before anything is changed when recurse would be about
	// more files. 0 only warns above 1000, -1 never. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxFiles *int32 `json:"maxFiles,omitempty"`
	// ignore are shell globs: what has such a base name, and all below it, is left
	// alone. As in a shell * and ? stand for no dot at the beginning.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, !p.contains('/'))",message="ignore is held against base names, so its patterns must not have a / in them, as in *.swp"
	Ignore []string `json:"ignore,omitempty"`
	// purge: true removes what is below the directory, neither in the source nor managed
	// by another File. Directories need force; what is mounted below stays.
	// +optional
	Purge *bool `json:"purge,omitempty"`

	// seluser, selrole, seltype and selrange are the parts of the SELinux label, on hosts that
	// have SELinux; elsewhere they fail the resource. A part that is left out stays as it is.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+$`
	Seluser *string `json:"seluser,omitempty"`
	// selrole is the role, as object_r.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+$`
	Selrole *string `json:"selrole,omitempty"`
	// seltype is the type, as httpd_sys_content_t.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+$`
	Seltype *string `json:"seltype,omitempty"`
	// selrange is the level, or the range of them, as s0 or s0:c0.c1023.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.,:-]+$`
	Selrange *string `json:"selrange,omitempty"`

	// confirm repeats the path to have a directory removed or purged that the host does not
	// work without, as / or /etc: ensure: absent, purge and force are refused there otherwise.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	Confirm *string `json:"confirm,omitempty"`
	// force lets a directory be removed, or be replaced by something else.
	// +optional
	Force *bool `json:"force,omitempty"`
	// replace: false only creates the file and leaves the content of one that is
	// there. Default true.
	// +optional
	Replace *bool `json:"replace,omitempty"`
	// backup is where the old content goes before it is replaced or removed: Bucket
	// on the host, for root alone; None; or beside the file with a suffix, as ".bak".
	// Default Bucket, or None with showDiff: false.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self in ['None', 'Bucket'] || self.matches('^[.][A-Za-z0-9._~-]+$')",message="backup must be None, Bucket or a suffix, as .bak"
	Backup *string `json:"backup,omitempty"`
	// showDiff: false keeps the content's diff out of output. Default true.
	// +optional
	ShowDiff *bool `json:"showDiff,omitempty"`
	// validateCmd is a command that checks new content before it replaces the old. It is
	// split into words by POSIX quoting and run without a shell; the word % is the path of
	// the staged file. When it fails the old file stays.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.contains('%')",message="validateCmd needs a % where the path of the staged file goes, as in visudo -c -f %"
	// +kubebuilder:validation:XValidation:rule="!self.contains('%') || self.matches('^[ \\t\\n]*((%|([^ \\t\\n%\\'\"\\\\\\\\]|\\\\\\\\[^%]|\\'[^\\'%]*\\'|\"([^\"\\\\\\\\%]|\\\\\\\\[^%])*\")+)([ \\t\\n]+|$))*$')",message="validateCmd must have % as a word of its own and every quote closed, as in visudo -c -f %, or sh -c 'check --file=\"$1\"' sh %"
	ValidateCmd *string `json:"validateCmd,omitempty"`
}

// A File is a file, a directory or a symlink on hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=ffile,categories=fettle
// +kubebuilder:printcolumn:name="Ensure",type=string,JSONPath=`.spec.ensure`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.spec.path`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type File struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec FileSpec `json:"spec"`
	// +optional
	// +default={"observedGeneration": -1}
	Status ResourceStatus `json:"status,omitempty"`
}

// FileList is a list of Files.
//
// +kubebuilder:object:root=true
type FileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []File `json:"items"`
}
