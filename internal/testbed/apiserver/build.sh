#!/bin/sh
# Builds kube-apiserver from the modules of the Go module proxy, which takes ten minutes of
# processor time the first time. Without root and without a container.
# usage: internal/testbed/apiserver/build.sh DIR [VERSION]
# GOFLAGS=-mod=mod in a scratch module: the module of Kubernetes takes those it consists of from
# directories beside it (replace), which have versions of their own with 0 in place of 1.
set -eu
dir=$1 version=${2:-v1.37.2}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
parts=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",*$/\1/p')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
{
	printf 'module scratch\n\n'
	grep '^go ' "$parts"
	printf 'require k8s.io/kubernetes %s\n' "$version"
	sed -n "s,^\t\(k8s.io/[a-z-]*\) => \./staging/.*,replace \1 => \1 v0${version#v1},p" "$parts"
} >go.mod
CGO_ENABLED=0 go build -mod=mod -trimpath -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$dir/" k8s.io/kubernetes/cmd/kube-apiserver
echo "built $dir/kube-apiserver: KUBEBUILDER_ASSETS=$dir"
