package puppet

import (
	"fmt"
	"strings"
)

// A value of an attribute that Fettle writes in another way.
type value struct {
	kind, field string
	is          func(any) bool
	answer      string
}

// text matches a text.
func text(want string) func(any) bool { return func(v any) bool { return v == want } }

// truth matches true or false.
func truth(want bool) func(any) bool { return func(v any) bool { return v == want } }

// prefix matches texts that begin with one.
func prefix(want string) func(any) bool {
	return func(v any) bool { s, ok := v.(string); return ok && strings.HasPrefix(s, want) }
}

func several(v any) bool { _, ok := v.([]any); return ok }

func anyText(v any) bool { _, ok := v.(string); return ok }

func number(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

func values() []value {
	return []value{
		{"", "schedule", anyText, "write the schedule itself, with range, period and so on, instead of its name"},
		{"Exec", "command", several, "write the program in command, and the other words in args"},
		{"Exec", "logOutput", text("on_failure"), "write onFailure"},
		{"Exec", "logOutput", truth(true), "write always"},
		{"Exec", "logOutput", truth(false), "write never"},
		{"Exec", "provider", text("shell"), "write shell: true"},
		{"File", "backup", truth(false), "write None"},
		{"File", "backup", truth(true), "write a suffix such as .bak, or Bucket"},
		{"File", "checksum", text("ctime"), "write mtime"},
		{"File", "ensure", prefix("/"), "write ensure: link, and the path in target"},
		{"File", "ensure", truth(false), "write absent"},
		{"File", "recurse", text("remote"), "write recurse: true and recurseScope: Source"},
		{"File", "recurse", number, "write recurse: true, and the number in recurseLimit"},
		{"File", "source", prefix("puppet:"), "use contentFrom with a ConfigMap, or a path or an https URL that the host reads"},
		{"File", "source", several, "write the list in sources"},
		{"Package", "ensure", truth(true), "write present"},
		{"Package", "ensure", truth(false), "write absent"},
		{"Package", "ensure", text("held"), "write mark: hold, and present or a version in ensure"},
		{"Purge", "unlessSystemUser", number, "write true; users with other numbers are excluded by unlessUID"},
		{"SystemService", "enable", text("mask"), "write mask: true"},
		{"SystemService", "ensure", truth(true), "write running"},
		{"SystemService", "ensure", truth(false), "write stopped"},
		{"Tidy", "recurse", number, "write recurse: true, and the number in recurseLimit"},
		{"User", "ensure", text("role"), "roles are for other systems than Linux"},
		{"User", "purgeSSHKeys", anyText, "write true, and the path in the list sshKeyFiles"},
		{"User", "purgeSSHKeys", several, "write true, and the paths in sshKeyFiles"},
	}
}

// Value answers a value that a field of a kind's spec rejects: "true is Puppet's form: write running". It returns "" if it is not one of
// Puppet's.
func Value(kind, field string, is any) string {
	for _, v := range values() {
		if v.field == field && (v.kind == kind || v.kind == "") && v.is(is) {
			if several(is) {
				return "a list is Puppet's form: " + v.answer
			}
			return fmt.Sprintf("%v is Puppet's form: %s", is, v.answer)
		}
	}
	return ""
}
