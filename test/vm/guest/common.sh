# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What the scripts of clients/ have in common. A script ends well, by `skip REASON` or by `fail REASON`.
set -u

fail() {
    echo "$*"
    exit 1
}

skip() {
    echo "$*"
    exit 77
}

# usage: expect_failure TEXT COMMAND...; it must fail and say that
expect_failure() {
    local text=$1 said
    shift
    said=$("$@" 2>&1) && fail "$* did not fail: $said"
    grep -q -- "$text" <<<"$said" || fail "$* does not say '$text': $said"
}

# usage: until_true SECONDS COMMAND...; false if the time is up
until_true() {
    local left=$(($1 * 10))
    shift
    until "$@"; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.1
    done
}

# usage: grows FILE; its number gets larger, of somebody who counts there
grows() {
    local before
    before=$(cat "$1" 2>/dev/null) || return 1
    until_true 20 counted_beyond "$1" "$before"
}

counted_beyond() { [ "$(cat "$1" 2>/dev/null || echo 0)" -gt "$2" ] 2>/dev/null; }

# usage: make_root FOLDER; a root file system of busybox
make_root() {
    local root=$1 applet
    mkdir -p "$root"/{bin,dev,etc,proc,root,run,sys,tmp,usr,var}
    cp /bin/busybox "$root/bin/busybox"
    mknod -m 666 "$root/dev/null" c 1 3
    for applet in $(/bin/busybox --list); do
        [ "$applet" = busybox ] || ln -sf busybox "$root/bin/$applet"
    done
    echo "root:x:0:0:root:/root:/bin/sh" >"$root/etc/passwd"
    echo "root:x:0:" >"$root/etc/group"
    printf '#!/bin/sh\ni=0\nwhile true; do i=$((i+1)); echo $i >/tmp/count.new; mv /tmp/count.new /tmp/count; sleep 0.2; done\n' >"$root/bin/count"
    chmod 755 "$root/bin/count"
}
