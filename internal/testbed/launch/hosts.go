package launch

import (
	"os"
	"path/filepath"
	"testing"
)

// TwoNodes returns flags of gorun that place the ranks of a job on two nodes, h1 and h2, both on this
// machine. Ranks 0, 1, 4, 5 and so on are on h1. Ranks 2, 3, 6, 7 and so on are on h2.
func TwoNodes(t *testing.T) []string {
	t.Helper()
	rsh := filepath.Join(t.TempDir(), "rsh")
	text := "#!/bin/sh\nexport GORUN_HOSTID=$1\nshift\nexec \"$@\"\n"
	if err := os.WriteFile(rsh, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{"-host", "h1:2,h2:2", "-rsh", rsh}
}
