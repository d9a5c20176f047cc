package main

import (
	"bytes"
	"image"
	"image/gif"
	"os"

	"github.com/gorun-hpc/gorun/examples/internal/palette"
)

const (
	framesMax = 40      // largest number of frames in memory
	filmMax   = 1 << 20 // largest size of the file in bytes
	// levels is the number of colours of the film. With 256 colours, a frame would take twice as much space.
	levels = 48
	// The times for which a frame and the last frame are shown, in hundredths of a second.
	frameDelay, lastDelay = 10, 200
)

// film is an animation. It keeps the last of the added frames, and every frame whose number is a multiple of
// step.
type film struct {
	frames []*image.Paletted
	last   *image.Paletted
	seen   int // how many frames were added
	step   int // the film keeps one frame of every step frames
}

// add adds a frame. If the film would have more than framesMax frames, add drops every other frame.
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

// thin drops every other frame and doubles step.
func (f *film) thin() {
	kept := f.frames[:0]
	for i := 0; i < len(f.frames); i += 2 {
		kept = append(kept, f.frames[i])
	}
	f.frames = kept
	f.step *= 2
}

// write writes the film to the file called name. The film ends with the last frame. Frames are dropped until
// the file has at most filmMax bytes, so that a web page can show it, or until only one kept frame is left.
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

// animation returns the kept frames and the last frame. It reduces the number of their colours to
// levels.
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
