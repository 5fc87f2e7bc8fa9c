#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs in the emulated machine: dumps and restores the program `state`, and checks its exit status.
# usage: state.sh PROGRAM
set -u
program=$1
images=$(mktemp -d)
fail() {
    echo "::failed $*"
    tail -n 20 "$images"/*.log
    exit 1
}
# usage: start WORDS...; starts the program with these further arguments, and sets `tree`
start() {
    rm -rf "${images:?}"/*
    # The shell starts the program, reaps it after the restore, and is dumped with it.
    setsid bash -c "'$program' '$images/ready' '$images/go' $*; echo \$? >'$images/status'" </dev/null >/dev/null 2>&1 &
    tree=$!
    until [ -s "$images/ready" ]; do sleep 0.2; done
    sleep 1
    cat "$images/ready"
}
# usage: finish NAME
finish() {
    touch "$images/go"
    for _ in $(seq 300); do
        [ -s "$images/status" ] && break
        sleep 0.2
    done
    [ "$(cat "$images/status")" = 0 ] || fail "$1 it ended with $(cat "$images/status")"
    echo "::passed $1"
}
for words in "" sve; do
    name=state${words:+:$words}
    start "$words"
    criu dump -t "$tree" -D "$images" -v4 -o dump.log --shell-job -R || fail "$name it can't be dumped"
    finish "$name:dumped"
    start "$words"
    for turn in 1 2; do
        criu dump -t "$tree" -D "$images" -v4 -o "dump-$turn.log" --shell-job || fail "$name it can't be dumped"
        criu restore -D "$images" -v4 -o "restore-$turn.log" --shell-job -d || fail "$name it can't be restored"
    done
    finish "$name:restored"
done
