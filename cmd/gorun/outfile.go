package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// createFile makes a file for what a job says, in place of a regular file of its
// name. Nothing is written into what was there, and no link is followed: where
// others may make files they could have chosen what is overwritten, or who reads it.
func createFile(name string) (*os.File, error) {
	if err := replaceable(name); err != nil {
		return nil, err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o666)
}

// replaceable returns an error if a name is that of something else than a regular
// file: a link, a device, a pipe, a directory.
func replaceable(name string) error {
	st, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, which is not followed: remove it or name another file", name)
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: name another one", name)
	}
	return nil
}
