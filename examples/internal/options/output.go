package options

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Output returns the absolute name of a file that is to be written when the work is done,
// or why that is not possible. It changes nothing. The rank that writes calls it before the
// work begins: the machines of the others may have other directories.
func Output(name string) (string, error) {
	whole, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	flags := os.O_WRONLY
	_, err = os.Lstat(whole)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		flags |= os.O_CREATE | os.O_EXCL // the test file is removed
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
