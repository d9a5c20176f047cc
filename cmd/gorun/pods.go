package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/allocation"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

const (
	// podsAnswerDefault is how long pods wait for each other by default. The scheduler starts them
	// one by one, and each node has to pull the image.
	podsAnswerDefault = 10 * time.Minute
	// podRetryMin and podRetryMax are the shortest and the longest time between two attempts
	// to reach the first pod.
	podRetryMin, podRetryMax = 100 * time.Millisecond, 2 * time.Second
	// podSecretBytesMin is the least length of the pods' secret, because a shorter secret can be guessed.
	podSecretBytesMin = 16
)

// takePods sets the hosts of a job to its pods.
func (o *options) takePods(p *allocation.Pods) error {
	slots := p.Slots
	if slots == 0 {
		cpus, err := allowedCPUs()
		if err != nil {
			return err
		}
		slots = len(cpus)
	}
	if p.Count == 1 { // a single pod needs no connections to other pods
		return o.addHosts(hostList{{name: "localhost", slots: slots}}, nil)
	}
	var l hostList
	for i := range p.Count {
		name, err := podName(p.Index, i)
		if err != nil {
			return err
		}
		l = append(l, hostSlots{name: name, slots: slots})
	}
	if o.answer == 0 {
		o.answer = podsAnswerDefault
	}
	o.pods = p
	return o.addHosts(l, nil)
}

// podName returns the host name of pod i. The host names of a Job's pods differ in the number at the end. The
// parameter own is the number of this pod. If the host name of this pod does not end with its number, podName
// returns pod- and the number i.
func podName(own, i int) (string, error) {
	name, err := os.Hostname()
	if base, ok := strings.CutSuffix(name, "-"+strconv.Itoa(own)); ok && err == nil && checkHostName(base) == nil {
		return base + "-" + strconv.Itoa(i), nil
	}
	return "pod-" + strconv.Itoa(i), err
}

// podSecret returns a secret that only the pods of this attempt of the job share.
func podSecret(p *allocation.Pods) ([32]byte, error) {
	text, err := os.ReadFile(p.Secret)
	if err != nil {
		return [32]byte{}, fmt.Errorf("the secret by which the pods of a job know each other: %w: mount a Secret there, or at %s", err, allocation.EnvSecretFile)
	}
	text = bytes.TrimSpace(text)
	if len(text) < podSecretBytesMin {
		return [32]byte{}, fmt.Errorf("%s: a secret has at least %d bytes, this one has %d", p.Secret, podSecretBytesMin, len(text))
	}
	return derive(text, "pods", p.Attempt), nil
}

// saltedSecret returns the secret of one job of the pods, which is derived with the job's salt.
func saltedSecret(p *allocation.Pods, salt []byte) ([32]byte, error) {
	secret, err := podSecret(p)
	if err != nil {
		return secret, err
	}
	return derive(secret[:], "job", string(salt)), nil
}

// secretOf returns the secret of the job to which the ranks of a plan belong.
func secretOf(p link.Plan) ([link.SecretBytes]byte, error) {
	if !p.Salted {
		return [link.SecretBytes]byte(p.Secret), nil
	}
	a, err := allocation.Find(os.Getenv)
	if err == nil && (a == nil || a.Pods == nil) {
		err = errors.New("the plan is for a pod, and this is none")
	}
	if err != nil {
		return [link.SecretBytes]byte{}, err
	}
	return saltedSecret(a.Pods, p.Secret)
}

// derive derives a secret for one purpose from another secret.
func derive(secret []byte, purpose, detail string) [32]byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("gorun " + purpose + "\x00" + detail))
	return [32]byte(h.Sum(nil))
}

// podHelloTimeout is how long the agent of a pod may take to send its Hello after it has connected.
// The pods are greeted concurrently. Therefore a pod on a slow node delays no other pod.
const podHelloTimeout = 30 * time.Second

// noAnswerError is the error if the agent of a pod has connected and does not answer before the job begins, for example
// if it does not send its Hello.
type noAnswerError struct{ text string }

// Error implements error.
func (e *noAnswerError) Error() string { return e.text }

// joinPods makes this gorun an agent of the gorun in the first pod, and returns the exit code of this gorun.
func joinPods(o *options) int {
	p := o.pods
	secret, err := podSecret(p)
	if err != nil {
		complain("%v", err)
		return exitLauncher
	}
	until := time.Now().Add(o.answer)
	conn, err := reachPod(p, secret, until)
	if err == nil {
		err = takeConnection(conn)
	}
	if err != nil {
		complain("pod %d of %d: %v", p.Index, p.Count, err)
		return exitLauncher
	}
	return runAgent("", false)
}

// reachPod connects to the first pod. It retries until the deadline, because that pod may not be
// scheduled yet, and its name may not be resolvable yet.
func reachPod(p *allocation.Pods, secret [32]byte, until time.Time) (*os.File, error) {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	delay := podRetryMin
	for first := true; ; first = false {
		conn, failure := knockOnce(ctx, p, secret, until)
		if failure == nil {
			return conn, nil
		}
		if first {
			complain("pod %d of %d waits for the first one: %v", p.Index, p.Count, failure)
		}
		if time.Until(until) < delay {
			return nil, fmt.Errorf("the first pod, %s at port %d, was not reached in time: %w (-answer-within; its log says more)", p.Root, p.Port, failure)
		}
		time.Sleep(delay) // nothing reports when the first pod starts to listen
		delay = min(2*delay, podRetryMax)
	}
}

// knockOnce tries the addresses of the first pod one after the other, each once, until a connection is made.
func knockOnce(ctx context.Context, p *allocation.Pods, secret [32]byte, until time.Time) (*os.File, error) {
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", p.Root)
	if err != nil {
		return nil, err
	}
	for _, ip := range ips {
		conn, e := bootstrap.Knock(bootstrap.Address{IP: ip.As16(), Port: p.Port}, p.Index, secret, until)
		if e == nil {
			return conn, nil
		}
		err = errors.Join(err, e)
	}
	return nil, err
}

// takeConnection makes a connection the standard input and output of this process. These are the descriptors
// that an agent uses for its link to the launcher.
func takeConnection(conn *os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Control(func(fd uintptr) {
		failure = errors.Join(unix.Dup3(int(fd), 0, 0), unix.Dup3(int(fd), 1, 0))
	})
	return errors.Join(err, failure, conn.Close(), unix.SetNonblock(0, false))
}
