package main

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"
)

// version returns the text of -version.
func version() string {
	v := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		v = info.Main.Version
	}
	return fmt.Sprintf("gorun %s %s %s/%s", v, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
}
