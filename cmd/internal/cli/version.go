package cli

import (
	"runtime/debug"
	"strings"
)

// Version is what --version prints after the program's name: the module's version (devel if the
// build knows none), the commit that the program was built from, and Go's version.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(Tropica) devel"
	}
	return version(info)
}

func version(info *debug.BuildInfo) string {
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	parts := []string{"(Tropica)", v}
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	if rev := setting["vcs.revision"]; rev != "" {
		parts = append(parts, "commit", rev[:min(12, len(rev))])
		if setting["vcs.modified"] == "true" {
			parts = append(parts, "modified")
		}
	}
	return strings.Join(append(parts, info.GoVersion), " ")
}
