package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// rankLogs are the files of -output-dir: rank.N.out and rank.N.err. The files of an earlier job are replaced
// when the job starts. Symbolic links in the path of the directory are followed, because the user named that
// path. If the name of a file is a symbolic link, newRankLogs does not follow the link.
type rankLogs struct {
	files [][2]*os.File // by rank and stream
}

// newRankLogs creates the directory and the files of a job. If merged is true, it creates no
// rank.N.err.
func newRankLogs(dir string, size int, merged bool) (*rankLogs, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("-output-dir: %w", err)
	}
	l := &rankLogs{files: make([][2]*os.File, size)}
	for rank := range size {
		for _, which := range []stream{streamOut, streamErr} {
			if merged && which == streamErr {
				continue
			}
			f, err := createFile(filepath.Join(dir, fmt.Sprintf("rank.%d.%s", rank, which)))
			if err != nil {
				return nil, errors.Join(fmt.Errorf("-output-dir: %w", err), l.close())
			}
			l.files[rank][which] = f
		}
	}
	return l, nil
}

// close closes the files. It may be the first to report an error of writing.
func (l *rankLogs) close() error {
	var err error
	for _, pair := range l.files {
		for _, f := range pair {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
	}
	return err
}
