#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs in the emulated machine: dumps processes in states that criu refuses on aarch64. Each dump must fail with a message,
# and leave the process running. usage: refused.sh PROGRAM
set -u
program=$1
folder=$(mktemp -d)
failures=0
# usage: failed NAME REASON
failed() {
    echo "::failed refused:$1 $2"
    failures=1
}
# usage: refuse NAME MESSAGE
refuse() {
    local name=$1 message=$2 pid state
    rm -rf "${folder:?}"/*
    setsid "$program" "$folder/ready" "$name" </dev/null >/dev/null 2>&1 &
    pid=$!
    until [ -e "$folder/ready" ] || [ ! -d "/proc/$pid" ]; do sleep 0.2; done
    sleep 1
    if [ ! -d "/proc/$pid" ]; then
        wait "$pid"
        state=$?
        [ $state = 77 ] && echo "::skipped refused:$name this processor or kernel lacks it" && return
        failed "$name" "the program ended with $state"
        return
    fi
    mkdir "$folder/images"
    if criu dump -t "$pid" -D "$folder/images" -v4 -o dump.log; then
        failed "$name" "the dump succeeded"
    elif ! grep -q "Error.*$message" "$folder/images/dump.log"; then
        tail -n 20 "$folder/images/dump.log"
        failed "$name" "the log has no error with the words: $message"
    elif ! grep -q '^TracerPid:[[:space:]]*0$' "/proc/$pid/status" || ! grep -q '^State:[[:space:]]*[RS]' "/proc/$pid/status"; then
        failed "$name" "the process doesn't run any more"
    else
        echo "::passed refused:$name"
    fi
    kill -KILL "$pid"
    wait "$pid"
}
refuse memory-tags 'tags'
refuse matrix 'matrix register ZA'
refuse streaming 'streaming mode'
refuse 32-bit '32-bit'
exit $failures
