package runtime_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// A program that is built with the tag gorun_shm does not contain transport/rdma. Of other modules
// it contains only golang.org/x/sys and the compressor that package bootstrap uses for the book. It
// runs on one node as usual. If the network is requested, it ends with an error that names the tag.
func TestProgramWithoutTheNetwork(t *testing.T) {
	const tags, hello = "-tags=gorun_shm", "github.com/gorun-hpc/gorun/examples/hello"
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", tags, hello).Output()
	require.NoError(t, err)
	for _, pkg := range strings.Fields(string(out)) {
		ours := strings.HasPrefix(pkg, "github.com/gorun-hpc/gorun/") && !strings.Contains(pkg, "/transport/rdma")
		compress := strings.HasPrefix(pkg+"/", "github.com/klauspost/compress/")
		require.True(t, ours || compress || strings.HasPrefix(pkg, "golang.org/x/sys/"), pkg)
	}
	program := testbed.Build(t, "hello-shm", hello, tags)
	r := launchFile(t, 2, program)
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 2, strings.Count(r.out, "hello from rank"), r.out)
	r = launchFile(t, 2, program, "-transport", "rdma")
	require.NotZero(t, r.code)
	require.Contains(t, r.errors, "built without the network (go build -tags gorun_shm)")
}
