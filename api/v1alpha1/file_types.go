package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// FileSpec selects nodes and defines the desired state on them.
// +kubebuilder:validation:XValidation:rule="[has(self.content), has(self.contentTemplate), has(self.contentFrom), has(self.target)].filter(x, x).size() <= 1",message="content, contentTemplate, contentFrom and target are mutually exclusive: set only one"
// +kubebuilder:validation:XValidation:rule="!has(self.ensure) || self.ensure in ['file', 'present'] || !(has(self.content) || has(self.contentTemplate) || has(self.contentFrom))",message="content requires ensure: file: change ensure, or remove the content"
// +kubebuilder:validation:XValidation:rule="!has(self.target) || !has(self.ensure) || self.ensure in ['link', 'present']",message="target requires ensure: link: change ensure, or remove target"
// +kubebuilder:validation:XValidation:rule="!has(self.ensure) || self.ensure != 'link' || has(self.target)",message="ensure: link requires target: set it to the path that the link points to"
// +kubebuilder:validation:XValidation:rule="!(has(self.source) || has(self.sources)) || !(has(self.content) || has(self.contentTemplate) || has(self.contentFrom) || has(self.target))",message="source cannot be combined with content, contentTemplate, contentFrom or target: set only one"
// +kubebuilder:validation:XValidation:rule="!(has(self.source) || has(self.sources)) || !has(self.ensure) || self.ensure in ['file', 'present'] || self.ensure == 'directory' && has(self.recurse) && self.recurse",message="source requires ensure: file, or ensure: directory with recurse: true: change ensure, or remove source"
// +kubebuilder:validation:XValidation:rule="has(self.source) || has(self.sources) || !(has(self.checksum) || has(self.checksumValue))",message="checksum and checksumValue require source: set source, or remove them"
// +kubebuilder:validation:XValidation:rule="!(has(self.source) && self.source.startsWith('http://') && !self.source.matches('^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|[[]::1[]])(:[0-9]*)?([/?#]|$)') || has(self.sources) && self.sources.exists(s, s.startsWith('http://') && !s.matches('^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|[[]::1[]])(:[0-9]*)?([/?#]|$)'))) || has(self.checksumValue) && !(has(self.checksum) && self.checksum.endsWith('lite'))",message="source must not use plain http, which does not protect the content: use https, or set checksumValue (for a checksum other than a lite one)"
// +kubebuilder:validation:XValidation:rule="!has(self.checksumValue) || size(self.checksumValue) == (!has(self.checksum) || self.checksum in ['sha256', 'sha256lite'] ? 64 : self.checksum in ['sha1', 'sha1lite'] ? 40 : self.checksum in ['md5', 'md5lite'] ? 32 : self.checksum == 'sha224' ? 56 : self.checksum == 'sha384' ? 96 : self.checksum == 'sha512' ? 128 : 0)",message="checksumValue must have the length that checksum requires, and must not be set for mtime or none"
// +kubebuilder:validation:XValidation:rule="!has(self.links) || self.links != 'follow' || !(has(self.target) || has(self.ensure) && self.ensure == 'link')",message="links: follow cannot be combined with ensure: link or target: remove one of them"
// +kubebuilder:validation:XValidation:rule="has(self.recurse) && self.recurse || !(has(self.recurseScope) || has(self.recurseLimit) || has(self.maxFiles) || has(self.ignore) || has(self.purge))",message="recurseScope, recurseLimit, maxFiles, ignore and purge require recurse: true: set it, or remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.recurse) || !self.recurse || !has(self.ensure) || self.ensure == 'directory'",message="recurse requires ensure: directory: change ensure, or remove recurse"
// +kubebuilder:validation:XValidation:rule="!has(self.recurse) || !self.recurse || !(has(self.content) || has(self.contentTemplate) || has(self.contentFrom) || has(self.target) || has(self.checksumValue))",message="recurse cannot be combined with content, contentTemplate, contentFrom, target or checksumValue: remove them, or remove recurse"
// +kubebuilder:validation:XValidation:rule="!has(self.recurse) || !self.recurse || !(has(self.source) && self.source.startsWith('http') || has(self.sources) && self.sources.exists(s, s.startsWith('http')))",message="recurse requires a source on the host, because a URL cannot be listed: use a path, or remove recurse"
// +kubebuilder:validation:XValidation:rule="!has(self.recurseScope) || self.recurseScope != 'Source' || has(self.source) || has(self.sources)",message="recurseScope: Source requires source: set it to the directory to copy, or use recurseScope: All"
// +kubebuilder:validation:XValidation:rule="!has(self.recurseScope) || self.recurseScope != 'Source' || !has(self.purge) || !self.purge",message="recurseScope: Source cannot be combined with purge: remove purge, or use recurseScope: All"
// +kubebuilder:validation:XValidation:rule="!has(self.contentFrom) || !has(self.contentFrom.secretKeyRef) || !has(self.backup) || self.backup == 'None'",message="backup must be None if the content comes from a Secret, because the old content may be secret: remove backup, or use None"
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy != 'Restore' || !(has(self.contentFrom) && has(self.contentFrom.secretKeyRef))",message="deletionPolicy: Restore cannot be combined with content from a Secret, because the old content is not saved: use Delete or Orphan"
// +kubebuilder:validation:XValidation:rule="!self.path.matches('^/+((bin|boot|dev|etc|home|lib|lib32|lib64|libx32|opt|proc|root|run|sbin|sys|usr(/+(bin|lib|lib32|lib64|libx32|sbin|share))?|var(/+lib)?)/*)?$') || !(has(self.ensure) && self.ensure == 'absent' || has(self.purge) && self.purge || has(self.force) && self.force) || has(self.confirm) && self.confirm == self.path",message="path is a system directory, and ensure: absent, purge or force would remove it or its contents: to proceed, repeat path in confirm"
// +kubebuilder:validation:XValidation:rule="!(has(self.headersFrom) || has(self.caFrom) || has(self.ca)) || has(self.source) && self.source.startsWith('http') || has(self.sources) && self.sources.exists(s, s.startsWith('http'))",message="headersFrom, ca and caFrom require a source that is a URL: set source, or remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.headersFrom) || !(has(self.source) && self.source.startsWith('http://') && !self.source.matches('^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|[[]::1[]])(:[0-9]*)?([/?#]|$)') || has(self.sources) && self.sources.exists(s, s.startsWith('http://') && !s.matches('^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|[[]::1[]])(:[0-9]*)?([/?#]|$)')))",message="headersFrom cannot be combined with plain http, which does not protect it: use https"
// +kubebuilder:validation:XValidation:rule="!(has(self.ca) && has(self.caFrom))",message="ca and caFrom are mutually exclusive: set only one"
// +kubebuilder:validation:XValidation:rule="!(has(self.source) && has(self.sources))",message="source and sources are mutually exclusive: set only one"
type FileSpec struct {
	Targeting      `json:",inline"`
	FileAttributes `json:",inline"`
	ContentOrigin  `json:",inline"`

	// headersFrom are HTTP headers for requests to source, such as Authorization, with values from
	// Secrets. The values are encrypted for each node, and not sent to other servers when a request
	// is redirected.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	HeadersFrom []HeaderSource `json:"headersFrom,omitempty"`
	// caFrom references a ConfigMap or Secret with the certificates of `ca`. A change of that
	// object is applied to the nodes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.configMapKeyRef) != has(self.secretKeyRef)",message="caFrom requires exactly one of configMapKeyRef and secretKeyRef"
	CAFrom *ValueSource `json:"caFrom,omitempty"`
}

// HeaderSource is an HTTP header with a value from a Secret.
type HeaderSource struct {
	// name of the header. Headers of the connection itself, such as Host, are not allowed.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_-]+$') && !(self.lowerAscii() in ['accept', 'accept-encoding', 'connection', 'content-length', 'expect', 'host', 'range', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent'])",message="headersFrom must not name a header of the connection itself, such as Host: use a header such as Authorization"
	Name         string `json:"name"`
	SecretSource `json:",inline"`
}

// FileAttributes is the desired state of a file, directory or symlink. Attributes that are not set
// are not managed.
type FileAttributes struct {
	// path on the host, absolute. Only one File on a node can manage a path.
	// +required
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.matches('^/')",message="path must be absolute, such as /etc/motd"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="path must not contain . or ..: write the resolved path"
	Path string `json:"path"`

	// ensure is the type of the file. present accepts any type, and creates a file if there is
	// none. If it is not set, content implies file and target implies link.
	// +optional
	// +kubebuilder:validation:Enum=present;file;directory;link;absent
	Ensure *string `json:"ensure,omitempty"`

	// content of the file.
	// +optional
	// +kubebuilder:validation:MaxLength=393216
	Content *string `json:"content,omitempty"`

	// source of the content: a path on the host (/srv/a or file:///srv/a), or an https URL without
	// user and password. An http URL is only allowed with checksumValue, or on the loopback
	// interface. Without checksumValue, downloads are limited to 1 GiB. With recurse, source is a
	// directory on the host.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/|file:///)') || self.matches('^https?://[^@/?#]+([/?#]|$)')",message="source must be an absolute path, or an http or https URL without user and password"
	Source *string `json:"source,omitempty"`
	// sources are alternatives to source; the first one that exists is used. If one cannot be
	// reached, the resource fails, because it might exist.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.matches('^(/|file:///)') || s.matches('^https?://[^@/?#]+([/?#]|$)'))",message="sources must be absolute paths, or http or https URLs without user and password"
	Sources []string `json:"sources,omitempty"`
	// ca contains the PEM certificates that are trusted to sign the server certificate of source.
	// Defaults to the certificates that the host trusts.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CA *string `json:"ca,omitempty"`
	// checksum defines how the content is compared with source. mtime only compares modification
	// times; none only checks that the file exists. Defaults to a checksum that the server
	// announces (X-Checksum-Sha256, Repr-Digest, Digest, Content-MD5 and similar), otherwise
	// sha256.
	// +optional
	// +kubebuilder:validation:Enum=sha256;sha512;sha384;sha224;sha1;md5;sha256lite;sha1lite;md5lite;mtime;none
	Checksum *string `json:"checksum,omitempty"`
	// checksumValue is the required checksum of the content, in hexadecimal. A file that has it is
	// not downloaded again.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-fA-F]+$')",message="checksumValue must be a checksum in hexadecimal digits"
	ChecksumValue *string `json:"checksumValue,omitempty"`
	// links defines how a symlink at path is treated: manage manages the link itself, follow
	// manages its target. Defaults to manage.
	// +optional
	// +kubebuilder:validation:Enum=manage;follow
	Links *string `json:"links,omitempty"`
	// followParentLinks follows all symlinks in the parent directories of path and source. By
	// default only trustworthy symlinks are followed, and others fail the resource. A symlink of
	// root is trustworthy in directories that only root can write to. A symlink of owner is
	// trustworthy in the owner's home directory if it leads to a directory of the same owner.
	// Defaults to false.
	// +optional
	FollowParentLinks *bool `json:"followParentLinks,omitempty"`

	// target of the symlink.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4095
	Target *string `json:"target,omitempty"`

	// owner of the file, by name or number.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 0 && self <= 2147483647)",message="must be a name or a number from 0 to 2147483647"
	Owner *intstr.IntOrString `json:"owner,omitempty"`
	// group of the file, by name or number.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 0 && self <= 2147483647)",message="must be a name or a number from 0 to 2147483647"
	Group *intstr.IntOrString `json:"group,omitempty"`

	// mode as a string: octal ("0644") or symbolic ("u=rw,g=r,o="). For directories, an octal mode
	// grants x wherever it grants r.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-7]{3,4}$') || self.matches('^([ugoa]*([-+=]([rwxXstugo]*))+)(,[ugoa]*([-+=]([rwxXstugo]*))+)*$')",message="mode must be octal, such as \"0644\", or symbolic, such as \"u=rw,go=r\""
	Mode *string `json:"mode,omitempty"`

	// recurse applies owner, group and mode to the directory's contents, and with source copies the
	// source's contents. It skips paths that other Files manage, and everything below them.
	// Defaults to false.
	// +optional
	Recurse *bool `json:"recurse,omitempty"`
	// recurseScope limits recurse to the contents of source (Source), or includes other contents of
	// the directory (All). Defaults to All.
	// +optional
	// +kubebuilder:validation:Enum=All;Source
	RecurseScope *string `json:"recurseScope,omitempty"`
	// recurseLimit is the number of directory levels that recurse descends; 1 selects the
	// directory's own entries. Defaults to no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RecurseLimit *int32 `json:"recurseLimit,omitempty"`
	// maxFiles is the maximum number of files below the directory. If there are more, the resource
	// fails before it changes anything. 0 allows any number and warns above 1000; -1 never warns.
	// Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxFiles *int32 `json:"maxFiles,omitempty"`
	// ignore lists shell globs for base names that recurse skips, including everything below them.
	// As in a shell, * and ? do not match a leading dot.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, !p.contains('/'))",message="ignore must not contain a /, because it matches base names: use patterns such as *.swp"
	Ignore []string `json:"ignore,omitempty"`
	// purge removes contents of the directory that neither source nor another File has. Directories
	// are removed only with force, and mount points never. Defaults to false.
	// +optional
	Purge *bool `json:"purge,omitempty"`

	// seluser is the user of the SELinux label, for example system_u. seluser, selrole, seltype and
	// selrange fail the resource on hosts without SELinux.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_.-]+$')",message="must be one part of an SELinux label, such as system_u, object_r or etc_t in system_u:object_r:etc_t:s0"
	Seluser *string `json:"seluser,omitempty"`
	// selrole is the role of the SELinux label, for example object_r.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_.-]+$')",message="must be one part of an SELinux label, such as system_u, object_r or etc_t in system_u:object_r:etc_t:s0"
	Selrole *string `json:"selrole,omitempty"`
	// seltype is the type of the SELinux label, for example httpd_sys_content_t.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_.-]+$')",message="must be one part of an SELinux label, such as system_u, object_r or etc_t in system_u:object_r:etc_t:s0"
	Seltype *string `json:"seltype,omitempty"`
	// selrange is the level, or range of levels, of the SELinux label, for example s0 or
	// s0:c0.c1023.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_.,:-]+$')",message="selrange must be the range of an SELinux label, such as s0 or s0:c0.c1023"
	Selrange *string `json:"selrange,omitempty"`

	// confirm must repeat path before ensure: absent, purge or force can affect a system directory
	// such as / or /etc.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	Confirm *string `json:"confirm,omitempty"`
	// force allows a directory to be removed or replaced by another type of file. Defaults to
	// false.
	// +optional
	Force *bool `json:"force,omitempty"`
	// replace replaces the content of an existing file. If false, the content is only written when
	// the file is created. Defaults to true.
	// +optional
	Replace *bool `json:"replace,omitempty"`
	// backup defines where the old content is saved before it is replaced or removed: Bucket (a
	// store on the host that only root can read), None, or a suffix such as ".bak" for a copy
	// beside the file. Defaults to Bucket, or to None if showDiff is false.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self in ['None', 'Bucket'] || self.matches('^[.][A-Za-z0-9._~-]+$')",message="backup must be None, Bucket or a suffix such as .bak"
	Backup *string `json:"backup,omitempty"`
	// showDiff includes a diff of the content in output. Defaults to true.
	// +optional
	ShowDiff *bool `json:"showDiff,omitempty"`
	// validateCmd is a command that checks new content before it replaces the old. It is split into
	// words by POSIX quoting and runs without a shell, so a line that only a shell understands is
	// refused; the word % is replaced by the path of the new content. If the command fails, the old file stays in place.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.contains('%')",message="validateCmd must contain %, which stands for the path of the new content, as in visudo -c -f %"
	// +kubebuilder:validation:XValidation:rule="!self.contains('%') || self.matches('^[ \\t\\n]*((%|([^ \\t\\n%\\'\"\\\\\\\\]|\\\\\\\\[^%]|\\'[^\\'%]*\\'|\"([^\"\\\\\\\\%]|\\\\\\\\[^%])*\")+)([ \\t\\n]+|$))*$')",message="validateCmd must have % as a separate word, and balanced quotes, as in visudo -c -f %, or sh -c 'check --file=\"$1\"' sh %"
	ValidateCmd *string `json:"validateCmd,omitempty"`
}

// File manages a file, directory or symlink on hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=ffile,categories=fettle
// +kubebuilder:printcolumn:name="Ensure",type=string,JSONPath=`.spec.ensure`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.nodes.pending`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Skipped",type=integer,JSONPath=`.status.nodes.skipped`
// +kubebuilder:printcolumn:name="Noop",type=integer,JSONPath=`.status.nodes.noop`
// +kubebuilder:printcolumn:name="Disabled",type=integer,JSONPath=`.status.nodes.disabled`
// +kubebuilder:printcolumn:name="Unknown",type=integer,JSONPath=`.status.nodes.unknown`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Last drift",type=date,JSONPath=`.status.drift.lastSeen`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.spec.path`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,priority=1,JSONPath=`.status.nodes.outOfSync`
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
