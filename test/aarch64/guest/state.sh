#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs in the emulated machine: dumps and restores the program `state`, and checks its exit status.
# usage: state.sh PROGRAM
set -u
program=$1
images=$(mktemp -d)
fail() {
    echo "::failed state $*"
    tail -n 20 "$images"/*.log
    exit 1
}
# The refusal leaves the process unharmed.
setsid "$program" "$images/ready" "$images/go" sve </dev/null >/dev/null 2>&1 &
holder=$!
until [ -s "$images/ready" ]; do sleep 0.2; done
sleep 1
criu dump -t "$holder" -D "$images" -v4 -o refused.log --shell-job 2>&1 | tail -n 2
grep -q "registers of SVE" "$images/refused.log" || fail "SVE registers aren't refused"
touch "$images/go"
wait "$holder" || fail "a refused process ended with $?"
rm "$images"/*
# The shell starts the program, reaps it after the restore, and is dumped with it.
setsid bash -c "'$program' '$images/ready' '$images/go'; echo \$? >'$images/status'" </dev/null >/dev/null 2>&1 &
tree=$!
until [ -s "$images/ready" ]; do sleep 0.2; done
sleep 1
cat "$images/ready"
criu dump -t "$tree" -D "$images" -v4 -o dump.log --shell-job || fail "it can't be dumped"
criu restore -D "$images" -v4 -o restore.log --shell-job -d || fail "it can't be restored"
touch "$images/go"
for _ in $(seq 300); do
    [ -s "$images/status" ] && break
    sleep 0.2
done
[ "$(cat "$images/status")" = 0 ] || fail "it ended with $(cat "$images/status")"
echo "::passed state"
