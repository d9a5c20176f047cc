package rdmavm

import (
	"context"
	"crypto/sha256"
	_ "embed" // image.sh
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// recipe is the shell script that makes the image.
//
//go:embed image.sh
var recipe string

// imageLimit bounds the time in which an image is made. It is long because the download of the
// packages may be slow.
const imageLimit = 15 * time.Minute

// programs are the packages of Debian 12 with the guest's programs and their libraries.
const programs = `libc6 libgcc-s1 busybox-static kmod libzstd1 liblzma5 libssl3
	libibverbs1 librdmacm1 ibverbs-providers libibumad3 libnl-3-200 libnl-route-3-200
	rdmacm-utils ibverbs-utils perftest libpci3 zlib1g libudev1
	iproute2 libmnl0 libelf1 libbpf1 libbsd0 libmd0 libcap2 libselinux1 libpcre2-8-0 libtirpc3
	libgssapi-krb5-2 libkrb5-3 libk5crypto3 libcom-err2 libkrb5support0 libkeyutils1 libxtables12 libdb5.3
	dropbear-bin xz-utils libtomcrypt1 libtommath1 libgmp10 libcrypt1`

// ErrMissing is the error if this machine lacks a program or a package that a guest needs.
var ErrMissing = errors.New("rdmavm: cannot have a guest")

// missing returns an ErrMissing with a description of the missing part.
func missing(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMissing}, args...)...)
}

// need returns an ErrMissing if a program is not installed. Each element of tools is the name of a
// program and of the Debian package that contains it.
func need(tools ...[2]string) error {
	for _, t := range tools {
		if _, err := exec.LookPath(t[0]); err != nil {
			return missing("%s is missing (apt-get install %s)", t[0], t[1])
		}
	}
	return nil
}

// Image returns the directory that contains vmlinux and initrd. If the user's cache has no such
// image, Image makes it, which takes about a minute. If another process is making it, Image waits
// until it is done.
func Image(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, imageLimit)
	defer cancel()
	if goruntime.GOARCH != "amd64" {
		return "", missing("it is made for amd64 only")
	}
	if err := need([2]string{"apt-get", "apt"}, [2]string{"apt-cache", "apt"}, [2]string{"dpkg-deb", "dpkg"}); err != nil {
		return "", err
	}
	kernel, packages, err := choose(ctx)
	if err != nil {
		return "", err
	}
	// Print the names and checksums of all packages without downloading the packages.
	list, err := output(ctx, "", "apt-get", append([]string{"download", "--print-uris"}, packages...)...)
	if err != nil {
		return "", err
	}
	content := []string{recipe, kernel}
	for line := range strings.Lines(list) {
		_, sum, _ := strings.Cut(line, "' ") // without the URL
		content = append(content, sum)
	}
	sum := sha256.Sum256([]byte(strings.Join(content, "\n")))
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", missing("%w", err)
	}
	home := filepath.Join(cache, "gorun-rdmavm")
	dir := filepath.Join(home, fmt.Sprintf("%x", sum[:12]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil // without the lock, because a process that makes another image may hold it for minutes
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", missing("%w", err)
	}
	lock, err := os.Create(filepath.Join(home, "lock"))
	if err != nil {
		return "", missing("%w", err)
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, build(ctx, home, dir, kernel, packages)
}

// choose returns the version of the kernel in this Debian release, and the packages of the image.
func choose(ctx context.Context) (kernel string, packages []string, err error) {
	kernels, err := depends(ctx, "linux-image-amd64", "linux-image-")
	if err != nil {
		return "", nil, err
	}
	kernel = strings.TrimPrefix(kernels[0], "linux-image-")
	headers, err := depends(ctx, "linux-headers-"+kernel, "linux-")
	if err != nil {
		return "", nil, err
	}
	series := strings.Join(strings.SplitN(kernel, ".", 3)[:2], ".")
	packages = append(packages, headers...)
	packages = append(packages, kernels[0], "linux-headers-"+kernel, "linux-source-"+series)
	for _, h := range headers {
		if compiler, ok := strings.CutPrefix(h, "linux-compiler-"); ok {
			compiler = strings.TrimSuffix(compiler, "-x86")
			if err := need([2]string{compiler, compiler}); err != nil {
				return "", nil, err
			}
		}
	}
	return kernel, append(packages, strings.Fields(programs)...), nil
}

// depends returns the dependencies of a package whose names begin with prefix. If there is no such
// dependency, it returns an ErrMissing.
func depends(ctx context.Context, name, prefix string) ([]string, error) {
	text, err := output(ctx, "", "apt-cache", "depends", name)
	var found []string
	for line := range strings.Lines(text) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: "); ok && strings.HasPrefix(p, prefix) {
			found = append(found, p)
		}
	}
	if err != nil || len(found) == 0 {
		return nil, missing("apt does not know %s (apt-get update; it needs Debian)", name)
	}
	return found, nil
}

// build makes an image in a temporary directory, and renames that directory to dir. The caller holds the
// lock.
func build(ctx context.Context, home, dir, kernel string, packages []string) error {
	if err := need([2]string{"make", "make"}, [2]string{"tar", "tar"}, [2]string{"strip", "binutils"}); err != nil {
		return err
	}
	// Remove the temporary directories of processes that were killed. No other process is making an image
	// now, because the caller holds the lock.
	left, err := filepath.Glob(filepath.Join(home, "making-*"))
	if err != nil {
		return err
	}
	for _, l := range left {
		_ = os.RemoveAll(l)
	}
	work, err := os.MkdirTemp(home, "making-")
	if err != nil {
		return missing("%w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	debs, made := filepath.Join(work, "debs"), filepath.Join(work, "made")
	for _, d := range []string{debs, made} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return missing("%w", err)
		}
	}
	if _, err := output(ctx, debs, "apt-get", append([]string{"download", "-q"}, packages...)...); err != nil {
		return err
	}
	if _, err := output(ctx, work, "sh", "-c", recipe, "image.sh", kernel); err != nil {
		return err
	}
	for _, file := range []string{"vmlinux", "initrd"} {
		if err := os.Rename(filepath.Join(work, file), filepath.Join(made, file)); err != nil {
			return err
		}
	}
	return os.Rename(made, dir)
}

// output runs a command in a directory and returns its standard output. If the command fails, the
// error is an ErrMissing with the last line of its standard error.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	var out, errs strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return "", missing("%s: %w: %s", filepath.Base(name), err, lines[len(lines)-1])
	}
	return out.String(), nil
}
