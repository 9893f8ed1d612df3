package v1alpha1

// Schedule defines when a resource is checked. Outside the schedule the resource is skipped, which
// is not a failure. Times are local to the host. All fields that are set must match.
// +kubebuilder:validation:XValidation:rule="has(self.range) || has(self.weekday) || has(self.period)",message="schedule is empty: set range, weekday or period, or remove it"
// +kubebuilder:validation:XValidation:rule="has(self.period) || !has(self.periodMatch) && !has(self.repeat)",message="periodMatch and repeat require period: set it, or remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.repeat) || self.repeat == 1 || !has(self.periodMatch) || self.periodMatch == 'distance'",message="repeat requires periodMatch: distance: change periodMatch, or remove repeat"
type Schedule struct {
	// range lists times of day, such as 22:00-04:00, inclusive at both ends. A range whose end is
	// earlier than its start ends on the next day.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Range []TimeRange `json:"range,omitempty"`
	// weekday lists days of the week. Together with range, it lists the days on which a range
	// starts.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	Weekday []Weekday `json:"weekday,omitempty"`
	// period is the time in which the resource is checked at most `repeat` times. `never` disables
	// the resource.
	// +optional
	Period Period `json:"period,omitempty"`
	// periodMatch defines how periods are measured: distance requires a full period between two
	// checks; number allows a check in each hour, day, week (starting on Sunday) or month of the
	// calendar. Defaults to distance.
	// +optional
	PeriodMatch PeriodMatch `json:"periodMatch,omitempty"`
	// repeat is the maximum number of checks in a period. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	Repeat int32 `json:"repeat,omitempty"`
}

// TimeRange is a range of times of day, such as 22:00-04:00 or 02:00:00-02:00:30.
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^ *([01]?[0-9]|2[0-3])(:[0-5][0-9]){0,2} *- *([01]?[0-9]|2[0-3])(:[0-5][0-9]){0,2} *$')",message="range must be two times of day, such as 22:00-04:00"
type TimeRange string

// Weekday is a day of the week.
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

// Period is a length of time. With periodMatch distance, a month has 30 days.
// +kubebuilder:validation:Enum=hourly;daily;weekly;monthly;never
type Period string

// PeriodMatch defines how periods are measured.
// +kubebuilder:validation:Enum=distance;number
type PeriodMatch string

// LogLevel is a syslog severity.
// +kubebuilder:validation:Enum=debug;info;notice;warning;err;crit;alert;emerg
type LogLevel string

// LogLevelNotice is the default level.
const LogLevelNotice LogLevel = "notice"
