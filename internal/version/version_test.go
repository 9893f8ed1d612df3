package version_test

import (
	"runtime/debug"
	"testing"

	"github.com/fettle-dev/fettle/internal/version"
)

func TestPick(t *testing.T) {
	t.Parallel()

	recorded := func(name string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: name}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}

	cases := map[string]struct {
		linked string
		info   *debug.BuildInfo
		want   string
	}{
		"the linked version wins over what the toolchain recorded": {"v1.2.3", recorded("v1.0.0", revision), "v1.2.3"},
		"go install of a release records the module's version":     {"", recorded("v1.0.0"), "v1.0.0"},
		"a build in a checkout is named by its commit":             {"", recorded("(devel)", revision), "0123456789ab"},
		"a changed checkout says so":                               {"", recorded("(devel)", revision, modified), "0123456789ab-dirty"},
		"a changed checkout without a commit is only devel":        {"", recorded("", modified), "devel"},
		"a test binary has nothing to say":                         {"", recorded(""), "devel"},
		"a binary stripped of its build information is devel":      {"", nil, "devel"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := version.Pick(tc.linked, tc.info); got != tc.want {
				t.Errorf("pick(%q) = %q, want %q", tc.linked, got, tc.want)
			}
		})
	}
}

func TestStringIsNeverEmpty(t *testing.T) {
	t.Parallel()
	if version.String() == "" {
		t.Error("String() is empty")
	}
}
