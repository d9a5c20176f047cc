package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// check returns an error if the configuration is invalid.
func (c Config) check() error {
	if c.Compression < CompressAuto || c.Compression > CompressAlways {
		return fmt.Errorf("checkpoint: there is no compression %d: use CompressAuto, CompressNever or CompressAlways", c.Compression)
	}
	if c.Directory == "" {
		return nil
	}
	if st, err := os.Stat(c.Directory); err != nil || !st.IsDir() {
		return fmt.Errorf("checkpoint: %s is not a directory: %w", c.Directory, cmp.Or(err, fs.ErrInvalid))
	}
	return nil
}

// name returns the path of the file for one generation (0 or 1) of a rank's own copies. Two
// consecutive checkpoints belong to different generations, so that writing the later checkpoint
// leaves the earlier one intact.
func (c Config) name(rank, generation int) string {
	return filepath.Join(c.Directory, fmt.Sprintf("rank-%d.%d.checkpoint", rank, generation))
}

// partSuffix is the suffix of the name of a temporary file, which is still being written.
const partSuffix = ".part"

// sweep removes the temporary files that were left by processes killed during a Save. Restore calls
// sweep, because no rank is in a Save during Restore. sweep ignores errors, because a file that
// remains does no harm: it takes space, but no rank reads it.
func (c Config) sweep() {
	if c.Directory == "" {
		return
	}
	list, _ := os.ReadDir(c.Directory)
	for _, f := range list {
		if left, _ := filepath.Match("rank-*.checkpoint.*"+partSuffix, f.Name()); left {
			_ = os.Remove(filepath.Join(c.Directory, f.Name()))
		}
	}
}

// file returns the path of the file for one of this rank's own copies.
func (s *Store) file(d *copied, rank int) string {
	if d == &s.own[1] {
		return s.config.name(rank, 1)
	}
	return s.config.name(rank, 0)
}

// remove removes the file of a copy that is not committed, if there is one. Save calls it before any rank stores its
// copy of the step. The file may be of a Save of the same step that only some ranks had carried out before an earlier
// step was restored. If this rank were lost before it writes the file, Restore would combine that file with the new
// copies of the other ranks.
func (s *Store) remove(name string) error {
	if s.config.Directory == "" {
		return nil
	}
	if err := os.Remove(name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return syncDirectory(s.config.Directory)
}

// write writes a rank's own copy to its file atomically: it writes a temporary file, syncs it to the
// disk, and renames it. Without Config.Directory it does nothing.
func (s *Store) write(d *copied, size int) error {
	if s.config.Directory == "" {
		return nil
	}
	name := s.file(d, d.rank)
	f, err := os.CreateTemp(s.config.Directory, filepath.Base(name)+".*"+partSuffix)
	if err != nil {
		return err
	}
	err = errors.Join(s.fill(f, d, size), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDirectory(s.config.Directory)
}

// fill writes the packed form of a copy to a file and syncs it. It sets s.disk to the measured rate
// of the disk. Only the time in Write and Sync counts; the time of compression does not count.
func (s *Store) fill(f *os.File, d *copied, size int) error {
	written, took := 0, time.Duration(0)
	measured := func(fn func() error) error {
		began := time.Now()
		defer func() { took += time.Since(began) }()
		return fn()
	}
	header := packedHead(d.step, size, d.rank, len(d.image))
	err := stream(&s.filed, &s.rooms, header, d.image, func(block []byte) error {
		s.filed.Block() // a write always waits for the disk, as a send does if its window is full
		written += len(block)
		return measured(func() error { _, err := f.Write(block); return err })
	})
	if err == nil {
		err = measured(f.Sync)
	}
	s.disk = rateOf(written, took)
	return err
}

// syncDirectory syncs a directory to the disk, so that a rename in it survives a crash of the host.
func syncDirectory(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// load reads this rank's own copies from the files in the directory if the rank has no own copies in
// memory. A corrupt file is treated like a file that does not exist.
func (s *Store) load(size, rank int) error {
	if s.config.Directory == "" || s.own[0].step != none || s.own[1].step != none {
		return nil
	}
	for i := range s.own {
		name := s.config.name(rank, i)
		image, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		}
		step, err := checkImage(image, size, rank)
		switch {
		case errors.Is(err, ErrCorrupt):
			continue
		case errors.Is(err, ErrShape):
			return fmt.Errorf("%s: %w: start the job with as many ranks as before, or with another directory", name, err)
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		s.own[i] = copied{rank: rank, step: step, image: image}
	}
	if a, b := &s.own[0], &s.own[1]; a.step != none && b.step != none {
		// The later copy was begun after all ranks had stored the earlier copy. Otherwise it would have replaced the
		// earlier one (see oldest). So the earlier copy is committed.
		a.committed, b.committed = a.step < b.step, b.step < a.step
	}
	return nil
}
