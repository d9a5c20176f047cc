// Command guest boots a guest machine of package rdmavm, runs a command in it, prints the command's
// output, and exits with the command's status.
//
//	go run ./internal/testbed/rdmavm/guest 'rping -s -a 10.9.1.1 & sleep 1; rping -c -a 10.9.1.1 -C 5'
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// statusNone is the exit status if the command could not be run.
const statusNone = 125

func main() {
	share := flag.String("share", "", "`directory` that the guest has as /share")
	devices := flag.String("devices", "", "RDMA devices, as in rxe:dummy0,siw:eth0")
	limit := flag.Duration("limit", 2*time.Minute, "`time` after which the guest machine is killed, even if the command has not ended")
	image := flag.Bool("image", false, "only make the image of the guest machine, and print the path of its directory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status, err := run(ctx, *share, *devices, *limit, *image)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		status = statusNone
	}
	os.Exit(status)
}

func run(ctx context.Context, share, devices string, limit time.Duration, image bool) (int, error) {
	if image {
		dir, err := rdmavm.Image(ctx)
		_, _ = fmt.Fprintln(os.Stdout, dir)
		return 0, err
	}
	c := rdmavm.Config{Limit: limit}
	if devices != "" {
		c.Devices = strings.Split(devices, ",")
	}
	if share != "" {
		var err error
		if c.Share, err = filepath.Abs(share); err != nil {
			return 0, err
		}
	}
	g, err := rdmavm.Boot(ctx, c)
	if err != nil {
		return 0, err
	}
	defer g.Close()
	context.AfterFunc(ctx, g.Close)
	out, status, err := g.Run(strings.Join(flag.Args(), " "))
	_, _ = fmt.Fprint(os.Stdout, out)
	return status, err
}
