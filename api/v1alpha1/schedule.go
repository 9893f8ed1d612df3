package v1alpha1

// A Schedule says when a resource may be looked at: at another time it is skipped,
// which is no failure. Times are the host's local ones. All that is given must hold.
// +kubebuilder:validation:XValidation:rule="has(self.range) || has(self.weekday) || has(self.period)",message="schedule says nothing: give it range, weekday or period, or remove it"
// +kubebuilder:validation:XValidation:rule="has(self.period) || !has(self.periodMatch) && !has(self.repeat)",message="periodMatch and repeat go with period: add it, or remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.repeat) || self.repeat == 1 || !has(self.periodMatch) || self.periodMatch == 'distance'",message="repeat divides a period by distance: use periodMatch: distance, or remove repeat"
type Schedule struct {
	// range lists the times of day between which it may be looked at, as
	// 22:00-04:00; its ends are part of it. One that ends before it begins ends on the next day.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Range []TimeRange `json:"range,omitempty"`
	// weekday lists the days on which it may be looked at; with range, the days on
	// which a range begins.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	Weekday []Weekday `json:"weekday,omitempty"`
	// period is how often it is looked at, at most. never keeps it from being
	// looked at.
	// +optional
	Period Period `json:"period,omitempty"`
	// periodMatch: distance lets a whole period go by between two looks; number looks
	// once in every hour, day, week (from Sunday on) or month of the calendar. Default distance.
	// +optional
	PeriodMatch PeriodMatch `json:"periodMatch,omitempty"`
	// repeat is how often it may be looked at within a period. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	Repeat int32 `json:"repeat,omitempty"`
}

// A TimeRange is two times of a day, as 22:00-04:00 or 02:00:00-02:00:30.
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^ *([01]?[0-9]|2[0-3])(:[0-5][0-9]){0,2} *- *([01]?[0-9]|2[0-3])(:[0-5][0-9]){0,2} *$')",message="range must be two times of day, as 22:00-04:00"
type TimeRange string

// A Weekday is a day of the week in three letters.
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

// A Period is a length of time. A month has 30 days, where it is a distance.
// +kubebuilder:validation:Enum=hourly;daily;weekly;monthly;never
type Period string

// A PeriodMatch is how periods are told apart.
// +kubebuilder:validation:Enum=distance;number
type PeriodMatch string

// A LogLevel is how much of a matter an event is, as syslog has it.
// +kubebuilder:validation:Enum=debug;info;notice;warning;err;crit;alert;emerg
type LogLevel string

// LogLevelNotice is the level of what does not say otherwise.
const LogLevelNotice LogLevel = "notice"
