package main_test

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// TestSlowLink runs the example on two hosts with a plate whose halos have 2 MiB. Long sequences of cells
// have the same temperature, so that the halos can be compressed. The test logs the run times without and with
// compression. With GORUN_SOAK=1, the link has 1 Gbit/s and a round trip of 20 ms.
func TestSlowLink(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a slow link")
	}
	link, rounds, steps := nscluster.Slow{Rate: 100e6, Delay: time.Millisecond}, 1, 5
	if os.Getenv("GORUN_SOAK") == "1" {
		link, rounds, steps = nscluster.Slow{Rate: 1e9, Delay: 10 * time.Millisecond}, 5, 60
	}
	c := nscluster.Start(t, 2)
	c.Slow("h0", "h1", link)
	program, plate := launch.Build(t, "heat", launch.Module+"/examples/heat"), tallPlate(t)
	var lines [2]string
	for range rounds {
		var took [2]time.Duration
		for compress := range took {
			lines[compress], took[compress] = overSlowLink(t, c, compress, program, "-plate", plate, "-steps", fmt.Sprint(steps), "-every", fmt.Sprint(steps))
		}
		t.Logf("as it is %v, compressed %v", took[0].Round(time.Millisecond), took[1].Round(time.Millisecond))
	}
	require.Contains(t, lines[1], " sent compressed to ")
	require.NotContains(t, lines[0], "compressed")
}

// overSlowLink runs a program on two hosts. It returns the output of the program, which includes the output
// of -explain, and the run time.
func overSlowLink(t *testing.T, c *nscluster.Cluster, compress int, program ...string) (string, time.Duration) {
	t.Helper()
	args := []string{
		"-host", "h0,h1", "-rsh", c.Rsh(), "-net", c.SlowNetwork().String(), "-explain", "-x", fmt.Sprintf("GORUN_COMPRESS=%d", compress),
	}
	began := time.Now()
	out, err := exec.CommandContext(t.Context(), launch.Gorun(t), append(args, program...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "residual")
	return string(out), time.Since(began)
}

// tallPlate writes a picture of 8 by 262144 cells. The halos between its left half and its right
// half have 262144 cells.
func tallPlate(t *testing.T) string {
	t.Helper()
	const tall = 1 << 18
	img := image.NewGray(image.Rect(0, 0, 8, tall))
	for y := range tall {
		for x := range 8 {
			if y>>12%2 == 0 {
				img.SetGray(x, y, color.Gray{Y: 200})
			}
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "tall.png"))
	require.NoError(t, err)
	require.NoError(t, png.Encode(file, img))
	require.NoError(t, file.Close())
	return file.Name()
}
