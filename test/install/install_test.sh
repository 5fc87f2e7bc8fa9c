#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What `make install` puts where, and that it works from there. usage: install_test.sh BUILD-DIRECTORY
set -u
build=$(realpath "$1")
cd "$(dirname "$(realpath "$0")")/../.." || exit 1
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$build/CMakeCache.txt")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
passed=0 failed=0

# expect DESCRIPTION COMMAND...: the command must succeed
expect() {
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "FAILED: $what: $*"
        failed=$((failed + 1))
    fi
}
installed() { [[ -s $stage$prefix/$1 ]]; }
says() { # says TEXT COMMAND...
    local text=$1
    shift
    "$@" 2>&1 | grep -qF -e "$text"
}

expect "make install" make install BUILD="$build" PREFIX="$prefix" DESTDIR="$stage" >"$stage/log" 2>&1 || cat "$stage/log"
expect "make install names what is loaded when it is needed" grep -q "needs them: libarchive13 " "$stage/log"
for file in sbin/criu bin/compel include/compel/tracee.hpp libexec/compel/std.lib.a libexec/compel/scripts/blob.lds \
    include/criu/criu-plugin.h share/doc/criu/COPYING share/doc/criu/COPYING.LGPL share/man/man8/criu.8 share/bash-completion/completions/criu; do
    expect "installed" installed "$file"
done
library=$(cd "$stage$prefix" && find lib -name libcompel.a)
expect "libcompel.a in lib or lib/TRIPLET" test -n "$library"
outside=$(find "$stage" -type f ! -path "$stage$prefix/*" ! -path "$stage/log")
expect "nothing outside of the prefix: $outside" test -z "$outside"
expect "criu runs" says "Version: " "$stage$prefix/sbin/criu" --version
expect "compel names what is installed" says "$prefix/libexec/compel" "$stage$prefix/bin/compel" plugins
echo "$passed passed, $failed failed, 0 skipped"
[[ $failed == 0 ]]
