package main

import (
	"fmt"
	"image"
	"image/color"
	"testing"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

// TestSimulated runs the program in virtual time over networks that delay messages and lose and
// restore connections. Every cell must have the value that one loop over the whole plate computes.
func TestSimulated(t *testing.T) {
	defer func(s, e, c int) { *steps, *every, *saves = s, e, c }(*steps, *every, *saves)
	*steps, *every, *saves = 6, 3, 2
	img := image.NewGray(image.Rect(0, 0, 14, 11))
	for i := range img.Pix {
		img.Pix[i] = uint8(37 * i)
	}
	want := alone(img)
	simulate.RunSeeds(t, simulate.Program{Name: "heat", Ranks: []int{1, 2, 4, 6}, Main: func(r simulate.Rank) error {
		store, err := checkpoint.New(checkpoint.Config{})
		if err != nil {
			return err
		}
		b := newBlock(r.Comm(), img)
		if err := b.run(store); err != nil {
			return err
		}
		for y := range b.mine.Dy() {
			for x := range b.mine.Dx() {
				at := image.Pt(b.mine.Min.X+x, b.mine.Min.Y+y)
				if got := b.cells[(y+1)*b.stride+x+1]; got != want[at] {
					return fmt.Errorf("cell %v is %v, not %v", at, got, want[at])
				}
			}
		}
		return nil
	}}, 20)
}

// alone returns the plate after all steps of a sequential computation.
func alone(img *image.Gray) map[image.Point]float64 {
	cells := map[image.Point]float64{}
	for i, v := range img.Pix {
		cells[image.Pt(i%img.Stride, i/img.Stride)] = float64(color.Gray{Y: v}.Y) / 255
	}
	held := map[image.Point]bool{}
	for p, t := range cells {
		held[p] = t == 1 || !p.In(img.Rect.Inset(1))
	}
	for range *steps {
		next := map[image.Point]float64{}
		for p, t := range cells {
			next[p] = t
			if !held[p] {
				next[p] = 0.25 * ((cells[p.Add(image.Pt(0, -1))] + cells[p.Add(image.Pt(0, 1))]) + (cells[p.Add(image.Pt(-1, 0))] + cells[p.Add(image.Pt(1, 0))]))
			}
		}
		cells = next
	}
	return cells
}
