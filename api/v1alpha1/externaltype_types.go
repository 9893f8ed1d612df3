package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ExternalGroupVersion is the API group and version of the kinds that ExternalTypes define.
var ExternalGroupVersion = schema.GroupVersion{Group: "types.fettle.dev", Version: "v1alpha1"}

// ExternalProtocol is how Fettle talks to the program of an external type.
// +kubebuilder:validation:Enum=Fettle;DSC
type ExternalProtocol string

// Protocols.
const (
	ProtocolFettle ExternalProtocol = "Fettle" // see docs/external-types.md
	ProtocolDSC    ExternalProtocol = "DSC"    // command resources of DSC v3: see docs/external-types-dsc.md
)

// ExternalScope is what resources of an external type describe.
// +kubebuilder:validation:Enum=Host;Remote
type ExternalScope string

// Scopes of external types.
const (
	ScopeHost   ExternalScope = "Host"   // something on each node that they select
	ScopeRemote ExternalScope = "Remote" // a device or service; one of the selected nodes acts for it
)

// ExternalTypeSpec defines a type and the program that manages its resources.
// +kubebuilder:validation:XValidation:rule="self.attributes.exists(a, has(a.behaviour) && a.behaviour == 'Namevar')",message="no attribute has the behaviour Namevar: mark those that identify an object"
// +kubebuilder:validation:XValidation:rule="has(self.dsc) == (has(self.protocol) && self.protocol == 'DSC')",message="the protocol DSC requires spec.dsc, and no other protocol has it"
// +kubebuilder:validation:XValidation:rule="self.providers.all(p, has(p.command) != (has(self.protocol) && self.protocol == 'DSC'))",message="spec.providers requires command, except with the protocol DSC, whose manifest names the commands"
// +kubebuilder:validation:XValidation:rule="(has(self.scope) ? self.scope : 'Host') == (has(oldSelf.scope) ? oldSelf.scope : 'Host')",message="scope cannot be changed: define another kind"
// +kubebuilder:validation:XValidation:rule="!has(self.selfRefresh) || !self.selfRefresh || has(self.requests) && 'Refresh' in self.requests",message="selfRefresh requires Refresh in requests"
type ExternalTypeSpec struct {
	// kind of the resources, such as DNSZone. Their definition has the group types.fettle.dev.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Kind string `json:"kind"`
	// programKind is the kind that the program is told, if that is not kind: several types can have one
	// program.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	ProgramKind string `json:"programKind,omitempty"`
	// shortNames of the kind for kubectl.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-z0-9]*$`
	ShortNames []string `json:"shortNames,omitempty"`
	// version of the type, which the program may compare with its own.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`
	// protocol of the program.
	// +optional
	// +kubebuilder:default=Fettle
	Protocol ExternalProtocol `json:"protocol,omitempty"`
	// dsc is the DSC resource that manages the kind, for the protocol DSC.
	// +optional
	DSC *ExternalDSC `json:"dsc,omitempty"`
	// scope is Host if resources describe something on each node that they select, and Remote if they
	// describe a device or service that is not a node: then one of the selected nodes acts for each
	// resource, and another one takes over when it goes away. It cannot be changed. Defaults to Host.
	// +optional
	Scope ExternalScope `json:"scope,omitempty"`

	// description is Markdown for users; its first line is a summary.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Description string `json:"description"`
	// example is YAML of resources that can be applied.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Example string `json:"example,omitempty"`

	// ensure defines the values of ensure. If absent, resources can be present or absent.
	// +optional
	Ensure *ExternalEnsure `json:"ensure,omitempty"`
	// attributes of the kind, in the order in which they are compared and reported. At least one is a
	// Namevar.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	Attributes []ExternalAttribute `json:"attributes"`
	// namevarSeparator joins the values of several Namevars to the name of a resource. Defaults to /.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=3
	NamevarSeparator string `json:"namevarSeparator,omitempty"`
	// rules that the attributes of a resource must meet together, unless ensure is absent. API servers check them as the
	// x-kubernetes-validations of properties, and Fettle once more with the defaults.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Rules []ExternalRule `json:"rules,omitempty"`
	// relations are automatic relations to other resources of the catalog.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Relations []ExternalRelation `json:"relations,omitempty"`
	// requests that the program answers besides get and set.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	Requests []ExternalRequest `json:"requests,omitempty"`
	// selfRefresh refreshes a resource after it was changed, unless it was removed. It requires the
	// request Refresh. Defaults to false.
	// +optional
	SelfRefresh bool `json:"selfRefresh,omitempty"`
	// sideEffects means that a change may change the state of other resources, such as when a package
	// creates users. Defaults to false.
	// +optional
	SideEffects bool `json:"sideEffects,omitempty"`

	// features that providers may have, and that attributes and values may require.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Features []ExternalFeature `json:"features,omitempty"`
	// providers in the order of preference.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Providers []ExternalProvider `json:"providers"`

	// access is what the program may reach when it reads.
	// +optional
	Access ExternalAccess `json:"access,omitzero"`
	// timeoutSeconds limits each process of the program, as a number of seconds or with a unit, such
	// as 10m. At most an hour. Defaults to 300.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 3600 : self.matches('^([0-9]{1,9}w)?([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,10}s)?$') && self != ''",message="timeoutSeconds must be a number of seconds from 1 to 3600, or whole numbers with the units w, d, h, m and s, such as 10m"
	TimeoutSeconds Seconds `json:"timeoutSeconds,omitempty"`
	// source has the files of the program.
	// +required
	Source ExternalSource `json:"source"`

	// Unknown is why this version of Fettle does not understand the whole spec: a newer version wrote it. "" if it does.
	Unknown string `json:"-"`
}

// UnmarshalJSON implements [json.Unmarshaler]. It sets Unknown.
func (s *ExternalTypeSpec) UnmarshalJSON(raw []byte) error {
	type spec ExternalTypeSpec // without this method
	unknown, err := decodeStrictly(raw, func() any { *s = ExternalTypeSpec{}; return (*spec)(s) })
	s.Unknown = unknown
	return err
}

// ExternalEnsure defines the values of ensure. absent is always possible.
// +kubebuilder:validation:XValidation:rule="!('absent' in self.values)",message="values has absent, which is always possible: remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.default) || self.default in self.values",message="default must be one of values"
type ExternalEnsure struct {
	// values other than absent, such as present or running.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z][A-Za-z0-9_-]*$`
	Values []string `json:"values"`
	// default applies to resources that do not set ensure. It must be one of values, which is also the
	// default if there is only one; otherwise ensure is then unmanaged.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Default string `json:"default,omitempty"`
	// features are required of the provider for values of ensure.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Features map[string]string `json:"features,omitempty"`
}

// ExternalBehaviour is how an attribute is managed, in the terms of Puppet's Resource API.
// +kubebuilder:validation:Enum=Property;Namevar;Parameter;InitOnly;ReadOnly
type ExternalBehaviour string

// Behaviours of attributes.
const (
	BehaviourProperty  ExternalBehaviour = "Property"  // compared and corrected
	BehaviourNamevar   ExternalBehaviour = "Namevar"   // identifies the managed object
	BehaviourParameter ExternalBehaviour = "Parameter" // controls how the object is managed
	BehaviourInitOnly  ExternalBehaviour = "InitOnly"  // set when the object is created; a later difference is an error
	BehaviourReadOnly  ExternalBehaviour = "ReadOnly"  // only read, for audits
)

// ExternalMatch is how a list is compared.
// +kubebuilder:validation:Enum=Ordered;Unordered;Minimum;First
type ExternalMatch string

// Comparisons of lists.
const (
	MatchOrdered   ExternalMatch = "Ordered"   // the same elements in the same order
	MatchUnordered ExternalMatch = "Unordered" // the same elements, equally often
	MatchMinimum   ExternalMatch = "Minimum"   // at least these elements
	MatchFirst     ExternalMatch = "First"     // any one of the desired elements; the first one is set
)

// ExternalAttribute is an attribute of a kind.
// +kubebuilder:validation:XValidation:rule="self.name != 'ensure'",message="ensure is a field of every resource: use another name"
// +kubebuilder:validation:XValidation:rule="!has(self.behaviour) || self.behaviour != 'ReadOnly' || !(has(self.required) && self.required) && !has(self.default)",message="a ReadOnly attribute cannot be set: remove required and default"
type ExternalAttribute struct {
	// name of the attribute.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_]*$`
	Name string `json:"name"`
	// programName is the program's name of a Namevar that has another one in the kind.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_]*$`
	ProgramName string `json:"programName,omitempty"`
	// programValue is the program's value of a Namevar that is text: {host} stands for the value of the Namevar host. It has the
	// Namevar itself once, and others that have no programValue, such as {host}.{domain}.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProgramValue string `json:"programValue,omitempty"`
	// description for users.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description"`
	// behaviour of the attribute. Defaults to Property.
	// +optional
	Behaviour ExternalBehaviour `json:"behaviour,omitempty"`
	// schema of the value: a structural schema as in a CustomResourceDefinition.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Schema *runtime.RawExtension `json:"schema"`
	// required means that a resource that is not absent needs a value. A Namevar that is no string, or
	// that is one of several, is always required.
	// +optional
	Required bool `json:"required,omitempty"`
	// default is a CEL expression over `name` (the metadata.name of the resource) and `self` (the
	// attributes that are set), for resources that do not set the attribute. The value is not added to
	// the resource in the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Default string `json:"default,omitempty"`
	// sensitive means that the value is never shown. Values that come from Secrets never are.
	// +optional
	Sensitive bool `json:"sensitive,omitempty"`
	// match is how a list is compared. Defaults to Unordered.
	// +optional
	Match ExternalMatch `json:"match,omitempty"`
	// caseInsensitive compares text without regard to case.
	// +optional
	CaseInsensitive bool `json:"caseInsensitive,omitempty"`
	// feature is required of the provider to manage the attribute.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Feature string `json:"feature,omitempty"`
	// valueFeatures are required of the provider for values of the attribute.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	ValueFeatures map[string]string `json:"valueFeatures,omitempty"`
}

// ExternalRule is a rule over several attributes.
type ExternalRule struct {
	// rule is a CEL expression that must be true. `self` has the attributes that the resource sets, except for values from
	// Secrets. Test optional attributes with has(self.name).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Rule string `json:"rule"`
	// message says what is wrong and how to correct it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\n]+$`
	Message string `json:"message"`
}

// ExternalRelation relates each resource of the type to others of the catalog, if it has them.
type ExternalRelation struct {
	// relation is require, before, notify or subscribe.
	// +required
	// +kubebuilder:validation:Enum=require;before;notify;subscribe
	Relation string `json:"relation"`
	// kind of the other resources.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Kind string `json:"kind"`
	// name of the other resource on the host. $attribute stands for the value of an attribute: for
	// each element if it is a list.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// sendDesired sends the program the desired states of the other resources, as `related` of each
	// request, without sensitive values. Defaults to false.
	// +optional
	SendDesired bool `json:"sendDesired,omitempty"`
}

// ExternalTypeStatus is whether resources of the type can be managed.
type ExternalTypeStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// resources is the number of resources of the type.
	// +optional
	Resources int32 `json:"resources"`
	// conditions are Ready, and Stalled if the type or its definition needs a correction.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ExternalType defines a kind whose resources are managed by a program that users bring. Its name is
// the plural of the kind in lower case, such as dnszones. `fettle type build` writes it, together with
// the CustomResourceDefinition of the kind.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fxt,categories=fettle
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Protocol",type=string,JSONPath=`.spec.protocol`
// +kubebuilder:printcolumn:name="Resources",type=integer,JSONPath=`.status.resources`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.')",message="metadata.name must be the plural of the kind, such as dnszones, without a dot"
type ExternalType struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ExternalTypeSpec `json:"spec"`
	// +optional
	Status ExternalTypeStatus `json:"status,omitzero"`
}

// ExternalTypeList is a list of ExternalTypes.
//
// +kubebuilder:object:root=true
type ExternalTypeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ExternalType `json:"items"`
}
