package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/probe"
)

// TestFiles checks that the report contains the device's files from the kernel, and omits unset
// GIDs.
func TestFiles(t *testing.T) {
	const at = "sys/class/infiniband/mlx5_0/"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	files := fstest.MapFS{
		at + "fw_ver": file("16.35.3006"), at + "board_id": file("MT_0000000012"), at + "hca_type": file("MT4119"), at + "device/numa_node": file("1"),
		at + "ports/1/state": file("4: ACTIVE"), at + "ports/1/rate": file("100 Gb/sec (4X EDR)"), at + "ports/1/link_layer": file("Ethernet"),
		at + "ports/1/gids/0": file("fe80:0000:0000:0000:0000:0000:0000:0001"), at + "ports/1/gids/1": file(emptyGID),
		at + "ports/1/gid_attrs/types/0": file("RoCE v2"), at + "ports/1/gid_attrs/ndevs/0": file("eth1"),
	}
	var out bytes.Buffer
	writeFiles(&page{to: &out}, files, "mlx5_0")
	require.Equal(t, `firmware: 16.35.3006
board: MT_0000000012
hardware: MT4119
node of memory: 1
port 1: 4: ACTIVE, 100 Gb/sec (4X EDR), Ethernet
  gid 0: fe80:0000:0000:0000:0000:0000:0000:0001, RoCE v2, on eth1
`, out.String())
}

// TestCommand checks that the command runs the job over the device and on the hosts of the
// options.
func TestCommand(t *testing.T) {
	j := &jobs{options: &options{hosts: "a,b", rsh: "ssh -q", quick: true}, bin: "/bin"}
	require.Equal(t, "/bin/gorun -np 2 -transport rdma -rdma-device rxe0 -host a,b -rsh ssh -q /bin/latency -m 8 -i 3 -x 1",
		strings.Join(j.command("rxe0", []string{"latency", "-m", "8"}), " "))
}

// TestJobs checks that the report contains what each job prints. A job that fails is an error,
// and the remaining jobs still run.
func TestJobs(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *bandwidth*) echo broken; exit 3;; esac\necho \"row of $*\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gorun"), []byte(script), 0o755))
	j := &jobs{options: &options{bin: dir, limit: time.Minute}}
	defer j.close()
	var out bytes.Buffer
	err := j.run(t.Context(), &page{to: &out}, "rxe0")
	require.ErrorContains(t, err, "bandwidth: exit status 3")
	require.Contains(t, out.String(), "  broken\n  failed: exit status 3\n")
	for _, p := range []string{"latency", "messagerate"} {
		require.Regexp(t, "(?m)^  row of .*-rdma-device rxe0 .*"+p, out.String())
	}
	require.DirExists(t, dir, "it is not one that was made")
}

// TestPerftest checks that the client tries again until its server listens, and that the report
// contains the client's output. A server that ends early is an error.
func TestPerftest(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	ready, done := filepath.Join(dir, "ready"), filepath.Join(dir, "done")
	script := `#!/bin/sh
case "$*" in
*127.0.0.1) test -e ` + ready + ` || { echo later; exit 1; }; echo "client of $*"; : >` + done + `;;
*) : >` + ready + `; while ! test -e ` + done + `; do sleep 0.01; done;;
esac
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ib_send_lat"), []byte(script), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ib_read_bw"), []byte("#!/bin/sh\necho no device\nexit 1\n"), 0o755))
	var out bytes.Buffer
	err := runPerftest(t.Context(), &page{to: &out}, &options{limit: time.Minute}, &probe.Device{Name: "rxe0", Kind: "RoCE"})
	require.ErrorContains(t, err, "ib_read_bw: client: exit status 1; server: exit status 1")
	require.Contains(t, out.String(), "  client of -d rxe0 -F -s 8 127.0.0.1\n")
	require.Contains(t, out.String(), "ib_send_bw: not installed")
}

// TestNoAdapter checks the report on a machine without an adapter. The report says so, and the
// program fails only if the user named an adapter.
func TestNoAdapter(t *testing.T) {
	if len(probe.System().Devices()) > 0 {
		t.Skip("this host has an RDMA adapter")
	}
	var out bytes.Buffer
	require.NoError(t, report(t.Context(), &page{to: &out}, &options{}))
	require.Contains(t, out.String(), "No RDMA adapter is here")
	require.ErrorIs(t, report(t.Context(), &page{to: &out}, &options{device: "mlx5_0"}), errNoDevice)
}
