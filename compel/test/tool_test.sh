#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only
# Usage: tool_test.sh COMPEL COMPILER SOURCE_DIR. Builds blobs like a user, without the build system of this tree.
compel=$1
compiler=$2
export COMPEL_UNINSTALLED_ROOTDIR="$3"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

expect() { # EXIT_CODE WORD COMMAND...: the command must end with this code and print the word
    wanted=$1
    word=$2
    shift 2
    "$@" >out 2>&1
    got=$?
    if [ $got -ne "$wanted" ] || { [ -n "$word" ] && ! grep -qe "$word" out; }; then
        echo "FAILED: $*: exit code $got, wanted $wanted and '$word'; it said:"
        cat out
        failures=$((failures + 1))
    fi
}

# shellcheck disable=SC2317 # called by expect
link() { # FILE: compiles FILE.cpp and links it to FILE.po
    # shellcheck disable=SC2046 # several words are wanted
    "$compiler" $($compel --cxx cflags) -c "$1.cpp" -o "$1.o" &&
        "$compiler" $($compel --cxx ldflags) "$1.o" $($compel --cxx plugins) -o "$1.po"
}

expect 0 '^Version: 1.0.0$' "$compel" -V
expect 0 'hgen' "$compel" --help
expect 0 "^-I $COMPEL_UNINSTALLED_ROOTDIR/c/include\$" "$compel" includes
expect 0 "^-I $COMPEL_UNINSTALLED_ROOTDIR/include\$" "$compel" --cxx includes
expect 0 '/std.lib.a$' "$compel" plugins
expect 0 '/fds.lib.a$' "$compel" plugins fds
expect 0 '/blob.lib.a$' "$compel" plugins fds --cxx
expect 0 '/libcompel.a$' "$compel" libs --static
expect 1 'static' "$compel" libs
expect 1 'no plugin' "$compel" plugins nonsense
expect 1 'unknown action' "$compel" nonsense
expect 1 'unknown option' "$compel" cflags --nonsense
expect 1 '32-bit' "$compel" cflags --compat
expect 1 'action argument required' "$compel"
expect 1 'option --output required' "$compel" hgen -f x
expect 1 'option --file required' "$compel" -o x hgen
expect 255 'open missing.po' "$compel" hgen -f missing.po -o missing.hpp
expect 2 'prefix' "$compel" hgen -f 1.po -o 2.hpp

cat >good.cpp <<'EOF'
#include <compel/blob/daemon.hpp>
extern "C" [[gnu::visibility("default")]] std::int64_t other_entry() { return 2; }
extern "C" std::int64_t blob_entry(void* argument) {
    return compel::blob::serve(*static_cast<const compel::protocol::DaemonArgument*>(argument),
                               [](const auto& command) -> compel::blob::Answer { return {command.number}; });
}
EOF
expect 0 '' link good
expect 0 '' "$compel" hgen -f good.po -o good.hpp
expect 0 'namespace good' cat good.hpp
expect 0 'other_entry = 0x' cat good.hpp
cat >use.cpp <<'EOF'
#include "good.hpp"
static_assert(!good::blob.bytes.empty() && good::blob.entryOffset < good::blob.endOffset);
static_assert(good::symbols::other_entry < good::blob.bytes.size());
int main() { return static_cast<int>(good::blob.bytes.size() == 0); }
EOF
# shellcheck disable=SC2046 # several words are wanted
expect 0 '' "$compiler" -std=c++20 -Wall -Wextra -Werror $($compel --cxx includes) use.cpp -o use
expect 0 '' ./use
expect 0 '' "$compel" hgen -f good.po -o split.hpp --source split.cpp -p other::name
expect 0 'extern const compel::Blob blob' cat split.hpp
# shellcheck disable=SC2046 # several words are wanted
expect 0 '' "$compiler" -std=c++20 -Wall -Wextra -Werror $($compel --cxx includes) -c split.cpp

entry='extern "C" long blob_entry(void* argument)'
cat >pointers.cpp <<EOF
static const char* volatile const names[] = {"a", "b", "c"};
$entry { return names[(long)argument][0]; }
EOF
expect 1 'can.t have writable\|relocations are left' link pointers
echo "static int counter; $entry { return counter++ + (long)argument; }" >writable.cpp
expect 1 'can.t have writable' link writable
echo "extern int elsewhere(long); $entry { return elsewhere((long)argument); }" >undefined.cpp
expect 1 'elsewhere' link undefined

# The tool accepts only files that the linker script makes, and rejects malformed ones.
echo "int main() { return 0; }" >plain.cpp
expect 0 '' "$compiler" plain.cpp -o plain.po
expect 255 'plain.po' "$compel" hgen -f plain.po -o plain.hpp
expect 255 'not a linked' "$compel" hgen -f good.o -o good2.hpp
echo "int parasite_daemon_cmd(int c, void* a) { (void)c; (void)a; return 0; } int parasite_trap_cmd(int c, void* a) { (void)c; (void)a; return 0; } void parasite_cleanup(void) {}" >c.c
# shellcheck disable=SC2046 # several words are wanted
expect 0 '' cc $($compel cflags) -c c.c -o c.o
# shellcheck disable=SC2046 # several words are wanted
expect 0 '' ld $($compel ldflags) -o c.po c.o $($compel plugins)
expect 0 '' "$compel" hgen -f c.po -o c.h -p mine
expect 0 'mine_setup_c_header(struct parasite_ctl \*ctl)' cat c.h
expect 0 '#define mine_sym__export_parasite_head_start 0x0' cat c.h
expect 255 'always stand in its header' "$compel" hgen -f c.po -o c.h --source c2.c
expect 255 'section' "$compel" hgen -f plain.po -o plain.h
echo "int undefined_elsewhere(void); int parasite_daemon_cmd(int c, void* a) { (void)c; (void)a; return undefined_elsewhere(); }" >u.c
# shellcheck disable=SC2046 # several words are wanted
expect 0 '' cc $($compel cflags) -c u.c -o u.o
# shellcheck disable=SC2046 # several words are wanted
expect 1 'undefined_elsewhere' ld $($compel ldflags) -o u.po u.o $($compel plugins)
size=$(wc -c <c.po)
for length in 63 100 $((size / 2)) $((size - 64)); do
    head -c "$length" c.po >cut.po
    expect 255 'cut' "$compel" hgen -f cut.po -o cut.h
done
size=$(wc -c <good.po)
for length in 0 10 63 100 $((size / 2)) $((size - 64)); do
    head -c "$length" good.po >cut.po
    expect 255 'cut' "$compel" hgen -f cut.po -o cut.hpp
done

[ $failures -eq 0 ] || echo "$failures failed; again: $0 $*"
exit $((failures != 0))
