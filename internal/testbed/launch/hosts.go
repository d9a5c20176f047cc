package launch

import (
	"os"
	"path/filepath"
	"testing"
)

// TwoNodes returns the flags of gorun with which the ranks of a job are on two nodes, both of them this
// machine: ranks 0, 1, 4, 5 and so on on h1, 2 and 3 on h2, and after them two on each in turn.
func TwoNodes(t *testing.T) []string {
	t.Helper()
	rsh := filepath.Join(t.TempDir(), "rsh")
	text := "#!/bin/sh\nexport GORUN_HOSTID=$1\nshift\nexec \"$@\"\n"
	if err := os.WriteFile(rsh, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{"-host", "h1:2,h2:2", "-rsh", rsh}
}
