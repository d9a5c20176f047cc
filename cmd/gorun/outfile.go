package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// createFile creates a file for the output or the report of a job. It replaces a regular file of that name.
// It never writes into an existing file, and returns an error if name is a symbolic link. Otherwise another user who
// may create files in the directory could choose the file that is overwritten, or could read the output.
func createFile(name string) (*os.File, error) {
	if err := replaceable(name); err != nil {
		return nil, err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o666)
}

// replaceable returns an error if the file with this name exists and is not a regular file, for example if it is a
// symbolic link, a device, a pipe or a directory.
func replaceable(name string) error {
	st, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, which is not followed: name another file", name)
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: name another one", name)
	}
	return nil
}
