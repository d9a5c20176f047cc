// Command mandelbrot draws the Mandelbrot set. A worker actor on every rank computes lines of the
// picture, and steals lines from other workers when it has no lines left. A master actor on rank 0
// collects the lines and prints the progress. Rank 0 then writes the picture to the file that -out
// names, by default in the working directory. If a rank is lost, the master distributes the missing
// lines among the remaining workers.
//
//	gorun -np 4 -on-failure continue ./examples/mandelbrot -out set.png
package main

import (
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/examples/internal/palette"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

var (
	width  = options.Int("width", 600, 1, "`pixels` in a line")
	height = options.Int("height", 400, 1, "`number` of lines")
	out    = flag.String("out", "mandelbrot.png", "`file` that rank 0 writes the picture to")
	crash  = options.Int("crash", 0, 1, "`rank`, at least 1, whose process is killed after its first line, to show that the others go on (default: none)")
)

// pixelsMax is the largest number of pixels of a picture. Each pixel takes a byte of memory.
const pixelsMax = 1 << 28

func main() {
	options.Parse()
	runtime.Main(run)
}

func run(w *runtime.World) error {
	if *crash >= w.Size() {
		return fmt.Errorf("-crash %d: there are ranks 0 to %d", *crash, w.Size()-1)
	}
	if *width > pixelsMax / *height {
		return fmt.Errorf("-width %d -height %d: a picture has at most %d pixels", *width, *height, pixelsMax)
	}
	if w.Rank() == 0 {
		name, err := options.Output(*out)
		if err != nil {
			return fmt.Errorf("-out: %w", err)
		}
		fmt.Println("the picture goes to", name)
	}
	s, err := actors.Of(w)
	if err != nil {
		return err
	}
	others := make([]*actor.PID, 0, w.Size())
	for i := range w.Size() {
		others = append(others, s.PID((w.Rank()+i)%w.Size(), "worker")) // the list begins with this rank's worker
	}
	crasher := *crash > 0 && *crash == w.Rank()
	if _, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &worker{master: s.PID(0, "master"), others: slices.Clone(others), crasher: crasher}
	}), "worker"); err != nil || w.Rank() > 0 {
		return err
	}
	done := make(chan *image.Paletted)
	if _, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &master{workers: slices.Clone(others), done: done, picture: image.NewPaletted(image.Rect(0, 0, *width, *height), palette.Glow(shades))}
	}), "master"); err != nil {
		return err
	}
	if err := write(<-done); err != nil || *crash == 0 {
		return err
	}
	return w.Handled(*crash) // no line is missing, so the job has not failed
}

// write writes the picture to the file of -out.
func write(picture image.Image) error {
	f, err := os.Create(*out)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, picture), f.Close())
}

const (
	// shades is the number of colours of a picture. The first colour is the colour of the set.
	shades = 256
	// most is the number of iterations after which a point counts as a member of the set.
	most = 500
	// farther is the distance from the origin beyond which the iteration ends. A point whose distance
	// exceeds 2 is certainly not in the set. The larger value makes the shades smoother.
	farther = 1 << 8
)

// lineOf computes the shades of line y. A point is brighter if it takes more iterations to exceed the
// distance farther.
func lineOf(y int) []byte {
	pixels := make([]byte, *width)
	for x := range pixels {
		c := complex(3.5*float64(x)/float64(*width)-2.5, 2.4*float64(y)/float64(*height)-1.2)
		z, n := c, 0
		for ; n < most && real(z)*real(z)+imag(z)*imag(z) < farther*farther; n++ {
			z = z*z + c
		}
		if n < most { // otherwise the point is in the set and has shade 0
			pixels[x] = shade(n, math.Hypot(real(z), imag(z)))
		}
	}
	return pixels
}

// shade returns the shade, 1 to 255, of a point that has reached the given distance after n iterations. The
// shade is logarithmic in n, because most points exceed farther after few iterations. The distance serves to
// interpolate between whole numbers of iterations.
func shade(n int, distance float64) byte {
	soon := max(0, float64(n)-math.Log2(math.Log(distance)/math.Log(farther)))
	return byte(1 + min(shades-2, (shades-2)*math.Log1p(soon)/math.Log1p(most/4)))
}

// set stores the pixels of line y in the picture.
func set(picture *image.Paletted, y int, pixels []byte) {
	copy(picture.Pix[y*picture.Stride:][:picture.Rect.Dx()], pixels)
}

// bar prints a bar of progress: how many of all lines the master has.
func bar(have, all int) {
	const length = 20
	full := length * have / all
	fmt.Printf("[%-*s] %d of %d lines\n", length, "####################"[:full], have, all)
}
