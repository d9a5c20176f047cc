// Command heat computes the spread of heat over a plate by 2-D Jacobi iteration. The ranks form a grid. Each
// rank has a block of the plate and exchanges the edges of the block with its neighbours. The initial
// temperatures of the plate are a picture, in which bright pixels are hot. White pixels and the border keep
// their temperature. With -out, rank 0 writes frames (heat-000100.png and so on) and an animation of them
// (heat.gif). -plate names another picture.
//
//	gorun -np 4 ./examples/heat -out frames
//
// With -checkpoint the ranks save copies of their blocks. After the loss of a rank, the iteration
// continues from the last copies:
//
//	gorun -np 4 -on-failure respawn ./examples/heat -checkpoint 100
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/examples/internal/palette"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

var (
	//go:embed heat.png
	picture []byte // the initial field
	plate   = flag.String("plate", "", "PNG `file` with the initial field (default: a built-in picture)")
	out     = flag.String("out", "", "`directory` that rank 0 writes frames and an animation to (default: write none)")
	steps   = options.Int("steps", 2000, 0, "`number` of iterations")
	every   = options.Int("every", 100, 1, "`number` of iterations from one frame and line of progress to the next")
	saves   = options.Int("checkpoint", 0, 0, "`number` of iterations between checkpoints (default: none)")
)

func main() {
	options.Parse()
	runtime.Main(func(w *runtime.World) error {
		img, err := field()
		if err != nil {
			return fmt.Errorf("-plate: %w", err)
		}
		if err := prepare(w.Rank()); err != nil {
			return fmt.Errorf("-out: %w", err)
		}
		store, err := checkpoint.New(checkpoint.Config{})
		if err != nil {
			return err
		}
		return w.Resume(func(w *runtime.World) error {
			if w.Generation() > 0 && w.Rank() == 0 {
				fmt.Printf("generation %d goes on after the last checkpoint\n", w.Generation())
			}
			return newBlock(w.Comm(), img).run(store)
		})
	})
}

// field returns the picture of the initial field.
func field() (image.Image, error) {
	content := picture
	if *plate != "" {
		var err error
		if content, err = os.ReadFile(*plate); err != nil {
			return nil, err
		}
	}
	return png.Decode(bytes.NewReader(content))
}

// run does the iterations. If there is a checkpoint, it does only the iterations after the checkpoint.
func (b *block) run(store *checkpoint.Store) error {
	if b.plate.Dx() < b.cols || b.plate.Dy() < b.rows { // a block without cells would not pass on the cells of its neighbours
		return fmt.Errorf("-plate: %d by %d pixels are too few for a grid of %d by %d ranks", b.plate.Dx(), b.plate.Dy(), b.cols, b.rows)
	}
	done, _, err := store.Restore(b.comm, checkpoint.Slice(b.cells))
	if err == nil {
		err = b.rewind(done)
	}
	for step := done + 1; step <= *steps && err == nil; step++ {
		err = b.swapHalos()
		if change := b.step(); err == nil && (step%*every == 0 || step == *steps) {
			err = b.show(step, change)
		}
		if err == nil && *saves > 0 && step%*saves == 0 {
			err = store.Save(b.comm, step, checkpoint.Slice(b.cells))
		}
	}
	return err
}

// rewind restores the film of rank 0 from the files of the frames up to the step done.
func (b *block) rewind(done int) error {
	for step := *every; step <= done && b.comm.Rank() == 0 && *out != ""; step += *every {
		file, err := os.Open(frameName(step))
		if err != nil {
			return err
		}
		frame, err := png.Decode(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		b.film.add(frame.(*image.Paletted))
	}
	return nil
}

// frameName is the name of the frame of a step.
func frameName(step int) string { return filepath.Join(*out, fmt.Sprintf("heat-%06d.png", step)) }

// prepare, at rank 0 and with -out, makes the directory for the frames and prints its name. It returns an error if
// the first frame could not be written there.
func prepare(rank int) error {
	if rank != 0 || *out == "" {
		return nil
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	name, err := options.Output(frameName(min(*every, *steps)))
	if err != nil {
		return err
	}
	fmt.Printf("frames go to %s\n", filepath.Dir(name))
	return nil
}

// block is a rank's part of the plate, surrounded by a halo for the neighbours' cells. The halo is one cell
// wide. The block is stored in rows of stride cells.
type block struct {
	comm               *runtime.Comm
	plate, mine        image.Rectangle
	rows, cols, stride int // rows and columns of the grid of ranks; stride of the block
	cells, next        []float64
	held               []bool // cells that keep their temperature
	film               film   // of rank 0
}

// glow are the colours of temperatures from 0 to 1.
var glow = palette.Glow(256)

// shade is the colour of a temperature.
func shade(t float64) uint8 { return uint8(math.Round(t * 255)) }

// place is the part of the plate that belongs to a rank.
func (b *block) place(rank int) image.Rectangle {
	x, y, row, col := b.plate.Dx(), b.plate.Dy(), rank/b.cols, rank%b.cols
	return image.Rect(col*x/b.cols, row*y/b.rows, (col+1)*x/b.cols, (row+1)*y/b.rows)
}

func newBlock(c *runtime.Comm, img image.Image) *block {
	b := &block{comm: c, plate: img.Bounds(), rows: int(math.Sqrt(float64(c.Size())))}
	for ; c.Size()%b.rows != 0; b.rows-- { // makes the grid as square as the number of ranks allows
	}
	b.cols = c.Size() / b.rows
	b.mine = b.place(c.Rank())
	b.stride = b.mine.Dx() + 2
	b.cells, b.held = make([]float64, b.stride*(b.mine.Dy()+2)), make([]bool, b.stride*(b.mine.Dy()+2))
	for y := b.mine.Min.Y; y < b.mine.Max.Y; y++ {
		for x := b.mine.Min.X; x < b.mine.Max.X; x++ {
			at := (y-b.mine.Min.Y+1)*b.stride + x - b.mine.Min.X + 1
			b.cells[at] = float64(color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y) / 255
			b.held[at] = b.cells[at] == 1 || !image.Pt(x, y).In(b.plate.Inset(1))
		}
	}
	b.next = append([]float64(nil), b.cells...)
	if c.Rank() == 0 {
		first := image.NewPaletted(b.plate, glow)
		for y := range b.plate.Dy() {
			for x := range b.plate.Dx() {
				first.SetColorIndex(x, y, color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y)
			}
		}
		b.film.add(first)
	}
	return b
}

// step does one iteration and returns the largest change of a cell of the block.
func (b *block) step() (change float64) {
	for y := 1; y <= b.mine.Dy(); y++ {
		for at := y*b.stride + 1; at < (y+1)*b.stride-1; at++ {
			if !b.held[at] {
				b.next[at] = 0.25 * ((b.cells[at-b.stride] + b.cells[at+b.stride]) + (b.cells[at-1] + b.cells[at+1]))
				change = max(change, math.Abs(b.next[at]-b.cells[at]))
			}
		}
	}
	b.cells, b.next = b.next, b.cells
	return change
}

// swapHalos sends each neighbour the cells of this block at the common edge, and receives the neighbour's
// cells at this edge. The cells of a column of the block are not contiguous. For this reason, a Strided
// describes a column.
func (b *block) swapHalos() error {
	w, h, rank, col := b.mine.Dx(), b.mine.Dy(), b.comm.Rank(), b.comm.Rank()%b.cols
	row, column := runtime.Strided{Count: 1, Block: w, Stride: w}, runtime.Strided{Count: h, Block: 1, Stride: b.stride}
	first, last, right := b.stride+1, h*b.stride+1, b.stride+w // top left, bottom left, top right cell
	var requests []runtime.Request
	swap := func(exists bool, peer int, shape runtime.Strided, inside, outside, tag int) {
		if exists { // tags 0 and 1, or 2 and 3, for the two directions
			requests = append(requests, runtime.IrecvStrided(b.comm, b.cells[outside:], shape, peer, tag^1),
				runtime.IsendStrided(b.comm, b.cells[inside:], shape, peer, tag))
		}
	}
	swap(rank >= b.cols, rank-b.cols, row, first, first-b.stride, 0)
	swap(rank+b.cols < b.comm.Size(), rank+b.cols, row, last, last+b.stride, 1)
	swap(col > 0, rank-1, column, first, first-1, 2)
	swap(col < b.cols-1, rank+1, column, right, right+1, 3)
	return runtime.WaitAll(requests)
}

// show collects the plate at rank 0, which prints a line of progress and writes a frame.
func (b *block) show(step int, change float64) error {
	residual := make([]float64, 1)
	if err := collectives.AllReduce(b.comm, []float64{change}, residual, collectives.Max); err != nil {
		return err
	}
	sent := runtime.IsendStrided(b.comm, b.cells[b.stride+1:], runtime.Strided{Count: b.mine.Dy(), Block: b.mine.Dx(), Stride: b.stride}, 0, 4)
	frame := image.NewPaletted(b.plate, glow)
	for rank := 0; b.comm.Rank() == 0 && rank < b.comm.Size(); rank++ {
		part := b.place(rank)
		cells := make([]float64, part.Dx()*part.Dy())
		if _, err := runtime.Recv(b.comm, cells, rank, 4); err != nil {
			return err
		}
		for i, t := range cells {
			frame.SetColorIndex(part.Min.X+i%part.Dx(), part.Min.Y+i/part.Dx(), shade(t))
		}
	}
	if b.comm.Rank() == 0 {
		fmt.Printf("[%-20s] step %d of %d, residual %.3e\n", strings.Repeat("#", 20*step / *steps), step, *steps, residual[0])
	}
	if _, err := sent.Wait(); err != nil || b.comm.Rank() != 0 || *out == "" {
		return err
	}
	b.film.add(frame)
	var file bytes.Buffer
	err := errors.Join(png.Encode(&file, frame), os.WriteFile(frameName(step), file.Bytes(), 0o644))
	if err == nil && step == *steps {
		err = b.film.write(filepath.Join(*out, "heat.gif"))
	}
	return err
}
