package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// answerDefault is how long a host may take to answer if -answer-within is not given. The default for pods is
// podsAnswerDefault.
const answerDefault = 30 * time.Second

// Values of -transport.
const (
	transportAuto = "auto"
	transportShm  = "shm"
	transportRDMA = "rdma"
)

func setHosts(o *options, _ *app, v string) error {
	l, err := parseHosts(v)
	return o.addHosts(l, err)
}

func setHostFile(o *options, _ *app, v string) error {
	l, err := readHostFile(v)
	return o.addHosts(l, err)
}

func (o *options) addHosts(l hostList, err error) error {
	for _, h := range l {
		o.hosts = o.hosts.add(h)
	}
	return errors.Join(err, o.hosts.check())
}

func setRsh(o *options, _ *app, v string) (err error) {
	o.rsh, err = splitCommand(v)
	return err
}

// interfaceBytesMax is the largest length of an interface's name (IFNAMSIZ-1 of
// netdevice(7)).
const interfaceBytesMax = 15

func setNet(o *options, _ *app, v string) error {
	for part := range strings.SplitSeq(v, ",") {
		if !namesNetwork(part) {
			return errors.New("want networks such as 10.1.0.0/16 or fd00::/8, addresses such as 10.1.0.7, or names of interfaces such as eth0, separated by commas")
		}
		if p, err := netip.ParsePrefix(bootstrap.Networks(part)); err == nil && p.Addr().Is4In6() {
			return fmt.Errorf("%s: an IPv4 network in IPv6 form has a prefix of 96 to 128 bits", part)
		}
	}
	o.net = bootstrap.Networks(v)
	return nil
}

// namesNetwork reports whether a text can be a network, an address or the name of an interface. Each host
// checks by itself whether it has that network or interface.
func namesNetwork(v string) bool {
	if _, err := netip.ParsePrefix(v); err == nil {
		return true
	}
	if _, err := netip.ParseAddr(v); err == nil {
		return true
	}
	return !strings.ContainsAny(v, "/: \t\n") && v != "" && v != "." && v != ".." && len(v) <= interfaceBytesMax
}

// setRDMADevice sets the RDMA adapter. The value is the name of the adapter, the name or an address of its
// network interface, none or auto. Each host checks by itself whether it has that adapter.
func setRDMADevice(o *options, _ *app, v string) error {
	if v == "" || strings.ContainsAny(v, "/, \t\n") {
		return errors.New("want the name of an RDMA adapter such as mlx5_0, the name or an address of its network interface, none or auto")
	}
	o.rdmaDevice = v
	return nil
}

func setTransport(o *options, _ *app, v string) error {
	err := setOneOf(&o.transport, v, transportShm, transportRDMA, transportAuto)
	if v == "tcp" {
		return fmt.Errorf("%w: rdma is iWARP over TCP where there is no adapter, or with -rdma-device none", err)
	}
	return err
}

func setEncrypt(o *options, _ *app, v string) error {
	if v == "" {
		v = bootstrap.EncryptYes
	}
	return setOneOf(&o.encrypt, v, bootstrap.EncryptYes, bootstrap.EncryptNo, bootstrap.EncryptAuto)
}

// environ returns the environment variables that pass flags on to the ranks.
func (o *options) environ() []string {
	var env []string
	if o.explain {
		env = append(env, "GORUN_EXPLAIN=1")
	}
	if o.reproducible {
		env = append(env, "GORUN_REPRODUCIBLE=1")
	}
	if o.check {
		env = append(env, "GORUN_CHECK=1")
	}
	if o.net != "" {
		env = append(env, bootstrap.EnvNet+"="+o.net)
	}
	if o.rdmaDevice != "" {
		env = append(env, bootstrap.EnvRDMADevice+"="+o.rdmaDevice)
	}
	if o.encrypt != "" {
		env = append(env, bootstrap.EnvEncrypt+"="+o.encrypt)
	}
	if o.transport != "" {
		env = append(env, bootstrap.EnvTransport+"="+o.transport)
	}
	return env
}
