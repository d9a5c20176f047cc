package main

import (
	"bytes"
	"image"
	"image/gif"
	"os"

	"github.com/gorun-hpc/gorun/examples/internal/palette"
)

const (
	framesMax = 40      // of a film that is kept in memory
	filmMax   = 1 << 20 // bytes of its file
	// levels are the colours of the film: with all of them a frame takes twice the space.
	levels = 48
	// Hundredths of a second that a frame stays, and the last one.
	frameDelay, lastDelay = 10, 200
)

// film is an animation of frames in equal steps, as many as fit.
type film struct {
	frames []*image.Paletted
	last   *image.Paletted
	seen   int
	step   int // every how many frames one is kept
}

// add adds a frame.
func (f *film) add(frame *image.Paletted) {
	f.step = max(1, f.step)
	if f.seen%f.step == 0 {
		f.frames = append(f.frames, frame)
	}
	f.last = frame
	f.seen++
	if len(f.frames) > framesMax {
		f.thin()
	}
}

// thin drops every other frame.
func (f *film) thin() {
	kept := f.frames[:0]
	for i := 0; i < len(f.frames); i += 2 {
		kept = append(kept, f.frames[i])
	}
	f.frames = kept
	f.step *= 2
}

// write writes the film, which ends with the last frame and is small enough for a web page.
func (f *film) write(name string) error {
	for {
		var file bytes.Buffer
		if err := gif.EncodeAll(&file, f.animation()); err != nil {
			return err
		}
		if file.Len() <= filmMax || len(f.frames) == 1 {
			return os.WriteFile(name, file.Bytes(), 0o644)
		}
		f.thin()
	}
}

// animation returns the frames in the colours of the film.
func (f *film) animation() *gif.GIF {
	frames := f.frames
	if frames[len(frames)-1] != f.last {
		frames = append(frames[:len(frames):len(frames)], f.last)
	}
	fewer := palette.Glow(levels)
	g := &gif.GIF{}
	for _, frame := range frames {
		picture := image.NewPaletted(frame.Rect, fewer)
		for i, shade := range frame.Pix {
			picture.Pix[i] = uint8((int(shade)*(levels-1) + 127) / 255)
		}
		g.Image, g.Delay = append(g.Image, picture), append(g.Delay, frameDelay)
	}
	g.Delay[len(g.Delay)-1] = lastDelay
	return g
}
