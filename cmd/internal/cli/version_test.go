package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	const rev = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		main     string
		settings []debug.BuildSetting
		want     string
	}{
		{"", nil, "(Tropica) devel go1"},
		{"(devel)", nil, "(Tropica) devel go1"},
		{"v1.2.3", nil, "(Tropica) v1.2.3 go1"}, // go install of a module: the version tells the commit
		{"(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: rev}},
			"(Tropica) devel commit 0123456789ab go1"},
		{"v1.2.3+dirty", []debug.BuildSetting{{Key: "vcs.revision", Value: rev},
			{Key: "vcs.modified", Value: "true"}}, "(Tropica) v1.2.3+dirty commit 0123456789ab modified go1"},
		{"v1.2.3", []debug.BuildSetting{{Key: "vcs.revision", Value: "7"}, {Key: "vcs.modified", Value: "false"}},
			"(Tropica) v1.2.3 commit 7 go1"},
	} {
		info := &debug.BuildInfo{GoVersion: "go1", Settings: c.settings}
		info.Main.Version = c.main
		if got := version(info); got != c.want {
			t.Errorf("%q, %v: %q, want %q", c.main, c.settings, got, c.want)
		}
	}
	if got := Version(); !strings.HasPrefix(got, "(Tropica) ") {
		t.Errorf("this build is of %q", got)
	}
}
