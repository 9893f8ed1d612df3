package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TidySpec selects nodes and defines the files to remove.
// +kubebuilder:validation:XValidation:rule="(has(self.recurse) && self.recurse) || !(has(self.recurseLimit) || has(self.matches) || has(self.rmdirs))",message="recurseLimit, matches and rmdirs require recurse: true: set it, or remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy == 'Orphan'",message="deletionPolicy of a Tidy must be Orphan, because removed files cannot be restored"
// +kubebuilder:validation:XValidation:rule="!self.path.matches('^/+((bin|boot|dev|etc|home|lib|lib32|lib64|libx32|opt|proc|root|run|sbin|sys|usr(/+(bin|lib|lib32|lib64|libx32|sbin|share))?|var(/+lib)?)/*)?$') || !(has(self.recurse) && self.recurse) || has(self.confirm) && self.confirm == self.path",message="path is a system directory, and recurse would remove files in it: use a directory below it, or, to proceed, repeat path in confirm"
type TidySpec struct {
	Targeting      `json:",inline"`
	TidyAttributes `json:",inline"`
}

// TidyAttributes defines the files to remove: those that match and are old enough or large enough.
// Without ageSeconds and size, all matching files are removed.
type TidyAttributes struct {
	// path of the file, or of the directory with the files. Symlinks in its parent directories are
	// followed if only root can have created them.
	// +required
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^\\n]*$')",message="path must be absolute, such as /var/tmp"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="path must not contain . or .."
	Path string `json:"path"`

	// recurse includes files below path. Defaults to false.
	// +optional
	Recurse *bool `json:"recurse,omitempty"`
	// recurseLimit is the number of directory levels that recurse descends; 1 selects the
	// directory's own entries. Defaults to no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RecurseLimit *int32 `json:"recurseLimit,omitempty"`
	// matches lists shell globs such as *.log. The base name of a file must match one of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(m, !m.contains('/'))",message="matches must not contain a /, because they match base names: use patterns such as *.log"
	Matches []string `json:"matches,omitempty"`
	// rmdirs also removes directories that are empty or become empty. Defaults to false.
	// +optional
	RmDirs *bool `json:"rmdirs,omitempty"`

	// ageSeconds is the minimum age of files to remove, as a number of seconds or with a unit, such
	// as 1w or 30d.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^([0-9]{1,9}w)?([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,10}s)?$') && self != ''",message="ageSeconds must be a number of seconds from 0, or whole numbers with the units w, d, h, m and s, such as 30d"
	AgeSeconds *Seconds `json:"ageSeconds,omitempty"`
	// type is the timestamp that ageSeconds refers to: atime (last read), mtime (last written) or
	// ctime (last changed in any way). Defaults to atime.
	// +optional
	// +kubebuilder:validation:Enum=atime;mtime;ctime
	Type *string `json:"type,omitempty"`
	// size is the minimum size of files to remove, regardless of age: a whole number and a unit,
	// for example 100m. The units b, k, m, g and t (in either case) and Ki, Mi, Gi and Ti are
	// powers of 1024.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,17}([bkmgtBKMGT]|[KMGT]i)$')",message="size must be a whole number above 0 and a unit, such as 512b, 100m or 1Gi"
	Size *string `json:"size,omitempty"`

	// backup saves removed files in the host's bucket (Bucket) or not at all (None). Defaults to
	// None.
	// +optional
	// +kubebuilder:validation:Enum=None;Bucket
	Backup *string `json:"backup,omitempty"`

	// confirm must repeat path before recurse can affect a system directory such as / or /etc.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	Confirm *string `json:"confirm,omitempty"`
}

// Tidy removes old or large files from hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=ftidy,categories=fettle
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
type Tidy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec TidySpec `json:"spec"`
	// +optional
	// +default={"observedGeneration": -1}
	Status ResourceStatus `json:"status,omitempty"`
}

// TidyList is a list of Tidies.
//
// +kubebuilder:object:root=true
type TidyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Tidy `json:"items"`
}
