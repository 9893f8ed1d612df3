package v1alpha1

// ExternalRequest is a request that a program answers.
// +kubebuilder:validation:Enum=List;Canonicalize;Refresh;Validate;Check
type ExternalRequest string

// Requests that a program may answer.
const (
	RequestList         ExternalRequest = "List"         // all existing resources, so that they can be purged
	RequestCanonicalize ExternalRequest = "Canonicalize" // the canonical form of desired attributes
	RequestRefresh      ExternalRequest = "Refresh"      // reacts to a notification
	RequestValidate     ExternalRequest = "Validate"     // why a change would fail
	RequestCheck        ExternalRequest = "Check"        // why a whole run must not take place
)

// ExternalFeature is a capability that a provider may have.
type ExternalFeature struct {
	// name of the feature.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
	Name string `json:"name"`
	// description for users.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description"`
}

// ExternalProvider is a way to manage the resources of a type.
type ExternalProvider struct {
	// name for the provider attribute of resources.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_-]*$`
	Name string `json:"name"`
	// description for users.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// command is the program and its arguments. A program with a slash is a file of the source, such
	// as ./main.py; any other is searched for on the host. Required except with the protocol DSC, whose
	// manifest names the commands.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	Command []string `json:"command,omitempty"`
	// needs are requirements on a host.
	// +optional
	Needs ExternalNeeds `json:"needs,omitzero"`
	// defaultFor lists conditions on facts: the provider is the default where all facts of one of them
	// have one of the values.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	DefaultFor []map[string][]string `json:"defaultFor,omitempty"`
	// notDefaultFor lists conditions on facts under which the provider is not the default.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	NotDefaultFor []map[string][]string `json:"notDefaultFor,omitempty"`
	// features of the provider.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	Features []string `json:"features,omitempty"`
}

// ExternalConditions are conditions on a host.
type ExternalConditions struct {
	// commands that root finds.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	Commands []string `json:"commands,omitempty"`
	// files or directories that exist.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:validation:items:Pattern=`^/`
	Files []string `json:"files,omitempty"`
	// facts that have one of the values each.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Facts map[string][]string `json:"facts,omitempty"`
	// exits are commands of the host that exit with a code. They only read, in the namespaces of reads, for at most 10 seconds,
	// whenever a provider is chosen: for each resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Exits []ExternalExit `json:"exits,omitempty"`
}

// ExternalExit is a command that exits with a code.
type ExternalExit struct {
	// command and its arguments. It is searched for on the host.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Command []string `json:"command"`
	// code is the exit code. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	Code int32 `json:"code,omitempty"`
}

// ExternalNeeds are requirements on a host. All must be met.
type ExternalNeeds struct {
	ExternalConditions `json:",inline"`

	// not lists conditions that must not hold, such as files that must not exist.
	// +optional
	Not *ExternalConditions `json:"not,omitempty"`
	// remedy tells people how to meet the needs, such as "install the package python3".
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Remedy string `json:"remedy,omitempty"`
}

// ExternalAccess is what the program of a type may reach.
type ExternalAccess struct {
	// network lets processes that read use the network of the host. Defaults to false.
	// +optional
	Network bool `json:"network,omitempty"`
	// sockets are Unix sockets of the host that processes that read may connect to.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:validation:items:Pattern=`^/`
	Sockets []string `json:"sockets,omitempty"`
}

// ExternalSource has the files of a program. Exactly one field must be set.
// +kubebuilder:validation:XValidation:rule="[has(self.files), has(self.image), has(self.hostPath)].filter(x, x).size() == 1",message="source requires exactly one of files, image and hostPath"
type ExternalSource struct {
	// files by name, up to 256 KiB together.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	Files map[string]string `json:"files,omitempty"`
	// image is an OCI artifact or container image in a registry, with a digest: the files of the
	// program, as `fettle type push` packs them. Agents pull it before they use it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('@sha256:[a-f0-9]{64}$')",message="image requires a digest, not only a tag, such as registry.example.com/types/dns@sha256:...: fettle type push prints it"
	// +kubebuilder:validation:XValidation:rule="self.matches('^(localhost|[a-z0-9-]+([.][a-z0-9-]+)+|[a-z0-9.-]+:[0-9]+)(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+(:[A-Za-z0-9_.-]+)?@')",message="image requires a registry and a repository, such as registry.example.com/types/dns@sha256:..."
	Image string `json:"image,omitempty"`
	// hostPath is a directory on the host. Only root may write to it, its parents and its files.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^/`
	HostPath string `json:"hostPath,omitempty"`
}
