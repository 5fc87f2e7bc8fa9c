#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# podman with runc, an image whose program counts, and what tests ask of containers. Sourced, after common.sh.
command -v podman >/dev/null || skip "podman isn't installed"
mkdir -p /var/tmp/podman /etc/containers /var/tmp
cd /var/tmp/podman || exit 1
cat >/etc/containers/containers.conf <<'P'
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
P
echo '{"default": [{"type": "insecureAcceptAnything"}]}' >/etc/containers/policy.json
make_root image
tar -C image -cf image.tar .
podman import -q image.tar local/counter:latest || fail "podman import"

# usage: run NAME [OPTION]...
run() {
    local name=$1
    shift
    podman run -d --name "$name" --network none "$@" localhost/local/counter:latest /bin/count || fail "podman run $name"
    until_true 20 counts "$name" || fail "$name does not count"
}

# usage: number NAME
number() { podman exec "$1" cat /tmp/count 2>/dev/null; }
counts() { [ "$(number "$1")" -gt 0 ] 2>/dev/null; }
beyond() { [ "$(number "$1")" -gt "$2" ] 2>/dev/null; }

# usage: goes_on NAME NUMBER; it counts on from there
goes_on() { until_true 20 beyond "$1" "$2" || fail "$1 does not go on from $2: $(number "$1")"; }

work_of() { podman inspect --format '{{.StaticDir}}' "$1"; }
reason() { grep -h Error "$(work_of "$1")"/{dump,restore}.log 2>/dev/null; }
