//go:build !linux || portable

package bootstrap

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
)

// Join makes this process a world of one rank. Jobs of several processes need Linux and a build without the
// tag portable. In other builds, ranks are goroutines of one process, see runtime.Local.
func Join() (*Session, error) {
	if _, ok := os.LookupEnv(EnvFDs); ok {
		return nil, errors.New("bootstrap: jobs of several processes are for Linux; elsewhere runtime.Local runs ranks as goroutines")
	}
	return Attach(Job{
		Size: 1, LocalSize: 1, Nodes: 1, ID: fmt.Sprintf("alone-%d", os.Getpid()),
		Processors: goruntime.NumCPU(), OnFailure: OnFailureKill,
	}, nil, nil, NewSecret()), nil
}
