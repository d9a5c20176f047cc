package options

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Output returns the absolute name of a file that the program will write at its end, or an error if the file
// cannot be written. Output leaves the directory as it was. A program calls Output before the computation
// begins. Only the rank that will write the file calls it, because the machines of other ranks may have other
// directories.
func Output(name string) (string, error) {
	whole, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	flags := os.O_WRONLY
	_, err = os.Lstat(whole)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		flags |= os.O_CREATE | os.O_EXCL // a test whether the file can be written; the file is removed below
	}
	f, err := os.OpenFile(whole, flags, 0o666)
	if err != nil {
		return "", err
	}
	err = f.Close()
	if missing {
		err = errors.Join(err, os.Remove(whole))
	}
	return whole, err
}
