package host

import (
	"cmp"
	"fmt"
	"strings"
)

// An Author is a process that changed something, as far as the host found out before the process ended. It is evidence
// and no proof: programs choose their names, and root can choose everything. Texts are unchanged: escape them before
// showing them to people. The API has the same type, which this package must not import. Values convert to it, so the compiler checks
// that both have the same fields.
type Author struct {
	// Executable is the path of the program, or only the name of the process if it had already ended; "" if unknown.
	Executable string `json:"executable,omitempty"`
	// PID as this process sees it. Another process may have it by now.
	PID int64 `json:"pid"`
	// UID is the effective user ID; nil if unknown.
	UID *int64 `json:"uid,omitempty"`
	// LoginUID is the user who logged in, whatever user the process had become; nil if nobody had.
	LoginUID *int64 `json:"loginUID,omitempty"`
	// Unit is the systemd unit of the process, such as cron.service or session-3.scope; "" if unknown or in a pod.
	Unit string `json:"unit,omitempty"`
	// Pod of the process, as NAMESPACE/NAME, or its UID if the host doesn't know more; "" outside pods.
	Pod string `json:"pod,omitempty"`
}

// String describes the process in a line, such as "/usr/bin/vi (PID 4711, UID 0, login UID 1000, session-3.scope)". The nil
// Author is "unknown".
func (a *Author) String() string {
	if a == nil {
		return "unknown"
	}
	facts := []string{fmt.Sprintf("PID %d", a.PID)}
	if a.UID != nil {
		facts = append(facts, fmt.Sprintf("UID %d", *a.UID))
	}
	if a.LoginUID != nil {
		facts = append(facts, fmt.Sprintf("login UID %d", *a.LoginUID))
	}
	if a.Unit != "" {
		facts = append(facts, a.Unit)
	}
	if a.Pod != "" {
		facts = append(facts, "pod "+a.Pod)
	}
	return fmt.Sprintf("%s (%s)", a.name(), strings.Join(facts, ", "))
}

// Program describes the program and where it belongs, such as "/usr/bin/puppet (puppet.service)", which is the same for each
// of its processes. It returns "an unknown program" for the nil Author.
func (a *Author) Program() string {
	switch {
	case a == nil:
		return "an unknown program"
	case a.Pod != "":
		return fmt.Sprintf("%s (pod %s)", a.name(), a.Pod)
	case a.Unit != "":
		return fmt.Sprintf("%s (%s)", a.name(), a.Unit)
	}
	return a.name()
}

func (a *Author) name() string { return cmp.Or(a.Executable, "a process") }
