// Command gorun starts the ranks of a program.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"github.com/gorun-hpc/gorun/bootstrap"
)

func main() {
	n, _ := strconv.Atoi(os.Args[2])
	args := os.Args[3:]
	if st, err := os.Stat(args[0]); err == nil && st.IsDir() {
		dir, _ := os.MkdirTemp("", "gorun")
		defer os.RemoveAll(dir)
		b := exec.Command("go", "build", "-o", dir+"/prog", args[0])
		b.Stderr = os.Stderr
		if b.Run() != nil {
			os.Exit(125)
		}
		args[0] = dir + "/prog"
	}
	mem, rng, err := bootstrap.NodeMemory(n)
	if err != nil {
		panic(err)
	}
	secret, _ := bootstrap.NewSecret()
	sec, err := bootstrap.SecretFile(secret)
	if err != nil {
		panic(err)
	}
	node, _ := bootstrap.ThisNode()
	srv := bootstrap.NewServer(n, func(e bootstrap.Event) {
		if e.Text != "" {
			fmt.Fprintf(os.Stderr, "gorun: rank %d: %s\n", e.Rank, e.Text)
		}
	})
	var wg sync.WaitGroup
	code := 0
	for r := range n {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			panic(err)
		}
		_ = syscall.SetNonblock(fds[0], true)
		child := os.NewFile(uintptr(fds[1]), "c")
		conn := os.NewFile(uintptr(fds[0]), "s")
		j := bootstrap.Job{Rank: r, Size: n, LocalRank: r, LocalSize: n, Nodes: 1, Node: node, ID: fmt.Sprint(os.Getpid()), Processors: 2, OnFailure: "kill", NodeRange: rng}
		c := exec.Command(args[0], args[1:]...)
		c.Env = append(append(os.Environ(), j.Environ()...), bootstrap.EnvFDs+"=3,4,5", "GOMAXPROCS=1")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.ExtraFiles = []*os.File{child, mem, sec}
		if err := c.Start(); err != nil {
			panic(err)
		}
		child.Close()
		wg.Add(1)
		go func() { _ = srv.Serve(r, conn) }()
		go func() {
			defer wg.Done()
			err := c.Wait()
			srv.Gone(r, c.ProcessState.String())
			if err != nil {
				fmt.Fprintf(os.Stderr, "gorun: rank %d: %v\n", r, err)
				code = 1
			}
		}()
	}
	wg.Wait()
	os.Exit(code)
}
