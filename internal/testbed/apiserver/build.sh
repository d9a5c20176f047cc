#!/bin/sh
# Builds kube-apiserver from modules of the Go module proxy. The first build takes ten minutes of
# processor time. The script needs neither root nor a container.
# usage: internal/testbed/apiserver/build.sh DIR [VERSION]
# The build is in a scratch module. The go.mod of Kubernetes replaces the modules of its parts by
# directories beside it. The scratch module replaces them by the published modules instead. The
# version of a part begins with v0 where the version of Kubernetes begins with v1.
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
