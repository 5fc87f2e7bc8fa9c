#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What `make install` puts where, and that it works from there. usage: install_test.sh BUILD-DIRECTORY
set -u
build=$(realpath "$1")
cd "$(dirname "$(realpath "$0")")/../.." || exit 1
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$build/CMakeCache.txt")
stage=$(mktemp -d)
trap 'rm -rf "$stage" "$stage.bundle"' EXIT
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
for file in sbin/criu sbin/criu-ns bin/crit bin/criu-coredump bin/criu-slurm bin/criu-together share/man/man1/crit.1 share/man/man1/criu-ns.1 share/man/man1/criu-slurm.1 share/man/man1/criu-together.1 \
    share/man/man1/criu-coredump.1 bin/compel include/compel/tracee.hpp include/compel/infect.h include/compel/asm/fpu.h include/compel/plugins/std/asm/syscall-types.h \
    include/criu/criu-plugin.h include/criu/criu.h include/criu/rpc.pb-c.h include/criu/rpc.proto include/criu/version.h \
    share/doc/criu/COPYING share/doc/criu/COPYING.LGPL share/man/man8/criu.8 share/bash-completion/completions/criu share/bash-completion/completions/crit \
    lib/criu/cuda_plugin.so lib/criu/amdgpu_plugin.so share/zsh/site-functions/_criu share/fish/vendor_completions.d/criu.fish \
    share/zsh/site-functions/_crit share/fish/vendor_completions.d/crit.fish; do
    expect "installed" installed "$file"
done
# Links of the installed README, without the fragment.
docs="$stage$prefix/share/doc/criu"
while read -r link; do
    expect "README.md links to $link" test -e "$docs/$link"
done < <(grep -oE '\]\([^)#:]+[)#]' "$docs/README.md" | sed 's/^](//; s/[)#]$//' | sort -u)
library=$(cd "$stage$prefix" && find lib -name libcompel.a)
expect "libcompel.a in lib or lib/TRIPLET" test -n "$library"
for file in libcompel.so libcompel.so.1 compel/std.lib.a compel/fds.lib.a compel/blob.lib.a compel/scripts/blob.lds \
    compel/scripts/compel-pack.lds.S; do
    expect "installed" installed "$(dirname "$library")/$file"
done
outside=$(find "$stage" -type f ! -path "$stage$prefix/*" ! -path "$stage/log")
expect "nothing outside of the prefix: $outside" test -z "$outside"
expect "criu runs" says "Version: " "$stage$prefix/sbin/criu" --version
expect "compel names what is installed" says "$prefix/$(dirname "$library")/compel/std.lib.a" "$stage$prefix/bin/compel" plugins
if says "" /usr/bin/python3 -c "import google.protobuf"; then
    expect "crit runs" says "4.2" "$stage$prefix/bin/crit" --version
    expect "crit finds the messages" says "Unknown magic" "$stage$prefix/bin/crit" info "$stage/log"
    expect "criu-coredump runs" says "4.2" "$stage$prefix/bin/criu-coredump" --version
fi
expect "criu-slurm runs" says "exec criu-slurm" "$stage$prefix/bin/criu-slurm" --help
expect "criu-together runs" says "NAME=COMMAND" "$stage$prefix/bin/criu-together" --help
expect "criu-ns runs" says "Usage: criu-ns" "$stage$prefix/sbin/criu-ns" --help
# `make bundle` and others install elsewhere, from the same build directory.
cmake --install "$build" --prefix "$stage.bundle" >"$stage/log" 2>&1
rm -rf "$stage.bundle"
make uninstall BUILD="$build" PREFIX="$prefix" DESTDIR="$stage" >"$stage/log" 2>&1
left=$(find "$stage" -mindepth 1 ! -path "$stage/log")
expect "make uninstall leaves nothing behind: $left" test -z "$left"
mkdir "$stage/alone"
touch "$stage/alone/file"
echo "$stage/alone/file" >"$stage/list"
removed=$(scripts/uninstall "$stage/list" "$stage/alone")
expect "uninstall without DESTDIR prints plain paths: $removed" test "$removed" = "removed $stage/alone/file"
echo "$passed passed, $failed failed, 0 skipped"
[[ $failed == 0 ]]
