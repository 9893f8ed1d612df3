package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TidySpec is what a Tidy says.
// +kubebuilder:validation:XValidation:rule="(has(self.recurse) && self.recurse) || !(has(self.recurseLimit) || has(self.matches) || has(self.rmdirs))",message="recurseLimit, matches and rmdirs are about what lies below path: set recurse: true"
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy == 'Orphan'",message="deletionPolicy of kind Tidy can only be Orphan: what it removed does not come back"
// +kubebuilder:validation:XValidation:rule="!self.path.matches('^/+((bin|boot|dev|etc|home|lib|lib32|lib64|libx32|opt|proc|root|run|sbin|sys|usr(/+(bin|lib|lib32|lib64|libx32|sbin|share))?|var(/+lib)?)/*)?$') || !(has(self.recurse) && self.recurse) || has(self.confirm) && self.confirm == self.path",message="this tidies a directory that the host does not work without: name a directory below it, or, if that is intended, repeat path in confirm"
type TidySpec struct {
	Targeting      `json:",inline"`
	TidyAttributes `json:",inline"`
}

// TidyAttributes say which files are removed. One that matches and is old or large enough
// goes; without ageSeconds and size each one does that matches.
type TidyAttributes struct {
	// path of the file, or of the directory with the files. A symlink on the way is followed
	// if only root can have put it there.
	// +required
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^\\n]*$')",message="path must be absolute, as /var/tmp"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="path must have no . or .. in it"
	Path string `json:"path"`

	// recurse: true is about what lies below path, too. Default false.
	// +optional
	Recurse *bool `json:"recurse,omitempty"`
	// recurseLimit is how many levels down recurse goes: 1 is the directory's own
	// entries. Default all.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RecurseLimit *int32 `json:"recurseLimit,omitempty"`
	// matches are shell globs, such as *.log, of which the base name must match one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(m, !m.contains('/'))",message="matches are held against base names: write them without a /, as *.log"
	Matches []string `json:"matches,omitempty"`
	// rmdirs: true also removes directories, if they are empty by then. Default false.
	// +optional
	RmDirs *bool `json:"rmdirs,omitempty"`

	// ageSeconds is how old a file must be to go, 604800 for a week.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AgeSeconds *int64 `json:"ageSeconds,omitempty"`
	// type of the time that an age counts from: when the file was last read (atime,
	// default), written (mtime) or changed in any way (ctime).
	// +optional
	// +kubebuilder:validation:Enum=atime;mtime;ctime
	Type *string `json:"type,omitempty"`
	// size is how large a file must be to go, whatever its age: a whole number and a unit,
	// as in 100m. Units are b, k, m, g and t, in either case, and Ki, Mi, Gi and Ti; each
	// is 1024 times the one before.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,17}([bkmgtBKMGT]|[KMGT]i)$')",message="size must be a whole number above 0 and a unit, as in 512b, 100m or 1Gi"
	Size *string `json:"size,omitempty"`

	// backup is None (default), or Bucket to keep in the host's bucket what is removed.
	// +optional
	// +kubebuilder:validation:Enum=None;Bucket
	Backup *string `json:"backup,omitempty"`

	// confirm repeats the path to have a directory tidied that the host does not work
	// without, as / or /etc; recurse is refused there otherwise.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	Confirm *string `json:"confirm,omitempty"`
}

// A Tidy removes files of hosts that are old or large.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=ftidy,categories=fettle
// +kubebuilder:printcolumn:name="Ensure",type=string,JSONPath=`.spec.ensure`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.spec.path`
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
