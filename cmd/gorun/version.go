package main

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"
)

// version returns the text of -version.
func version() string {
	return fmt.Sprintf("gorun %s %s %s/%s", moduleVersion(), goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
}

// moduleVersion returns the version of this module that gorun was built from.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
