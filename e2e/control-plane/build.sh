#!/usr/bin/env bash
# Builds etcd and the Kubernetes control plane that go.mod here pins, where they are not
# built yet, and prints the folder that holds them. A cold build takes over ten minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

go=${GO:-go}
bin=${TIDEGATE_E2E_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/tidegate/e2e}
kubernetes=$("$go" list -m -f '{{.Version}}' k8s.io/kubernetes)

# The binaries belong to these versions, this toolchain and this way of building.
stamp=$({ cat go.mod go.sum build.sh && "$go" version; } | sha256sum | cut -d ' ' -f 1)
if [[ $(cat "$bin/stamp" 2>/dev/null) == "$stamp" ]]; then
  echo "$bin"
  exit
fi

IFS=. read -r major minor _ <<<"${kubernetes#v}"
version=k8s.io/component-base/version
flags="-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=$major \
-X $version.gitMinor=$minor -X $version.gitTreeState=clean"

echo "building etcd and Kubernetes $kubernetes into $bin" >&2
mkdir -p "$bin"
rm -f "$bin/stamp"
build() { "$go" build -buildvcs=false -ldflags "$flags" -o "$bin/$1" "$2"; }
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kube-scheduler k8s.io/kubernetes/cmd/kube-scheduler
build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
echo "$stamp" >"$bin/stamp"
echo "$bin"
