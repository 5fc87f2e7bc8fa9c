#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only
# Usage: c_test.sh COMPEL CC SOURCE_DIR SHARED_LIBRARY [STATIC_LIBRARY PROGRAM]. Builds a program and a blob of the C
# interface without the build system of this tree. Runs them with the static and the shared library.
#
# With STATIC_LIBRARY and PROGRAM, a cross build: only builds PROGRAM, with this library and with the linker $LD.
compel=$1
compiler=$2
sources=$3/test/c
shared=$4
static=${5:-}
program=${6:-}
export COMPEL_UNINSTALLED_ROOTDIR="$3"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
set -e
options="-O2 -g -Wall -Wextra -Werror"
# shellcheck disable=SC2046,SC2086 # several words are wanted
{
    $compiler $options $($compel cflags) -I "$sources" -c "$sources/parasite.c" -o parasite.o
    ${LD:-ld} $($compel ldflags) -o parasite.po parasite.o $($compel plugins fds)
    $compel hgen -f parasite.po -o parasite.h
    if [ -n "$program" ]; then
        $compiler $options -D_GNU_SOURCE $($compel includes) -I. -I "$sources" "$sources/infect.c" -o "$program" \
            "$static" -pthread
        exit
    fi
    $compiler $options -D_GNU_SOURCE $($compel includes) -I. -I "$sources" "$sources/infect.c" -o static \
        $($compel --static libs) -pthread
    $compiler $options -D_GNU_SOURCE $($compel includes) -I. -I "$sources" "$sources/infect.c" -o shared \
        "$shared" -Wl,-rpath,"$(dirname "$shared")" -pthread
}
./static
./shared
