#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests the plugin interface on a live process: calls of hooks, their order, and the effect of their failures.
# usage: plugin_test.sh PATH_OF_CRIU PATH_OF_DEVICE_USER PLUGIN_DIRECTORY
set -u
if [[ ${INSIDE:-} == "" ]]; then
    INSIDE=1 exec unshare --pid --fork --mount-proc "$0" "$@"
fi
criu=$(realpath "$1") user=$(realpath "$2") plugins=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset CRIU_LIBS_DIR
export EXAMPLE_LOG=$work/calls
passed=0 failed=0

# expect DESCRIPTION COMMAND...: the command must succeed
expect() {
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "FAILED: $what: $*"
        grep -hE "Error|Warn" images/*.log 2>/dev/null
        failed=$((failed + 1))
    fi
}
fails() { ! "$@"; }
start() {
    rm -rf images out
    mkdir images
    setsid "$user" "$@" </dev/null >>out 2>&1 &
    pid=$!
    until grep -q . out; do sleep 0.01; done
    if grep -q SKIP out; then
        cat out
        exit 77
    fi
}
calls() { # prints the plugin's records in one line
    [[ $(paste -sd, calls) == "$1" ]] || { echo "the plugin noted: $(paste -sd, calls)"; return 1; }
}
dump() {
    : >calls
    "$criu" dump -t "$pid" -D images -o dump.log -v4 "$@"
}
restore() {
    : >calls
    "$criu" restore -d -D images -o restore.log -v4 "$@"
}
finished() { # checks that the program has printed PASS
    kill -TERM "$pid"
    for _ in $(seq 500); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.01
    done
    grep -q "$1" out || { cat out; return 1; }
}
gone() { ! kill -0 "$pid" 2>/dev/null; }

start
expect "without the plugin it can't be dumped" fails dump
expect "and it goes on" finished "PASS moved by 0"

start
expect "dump" dump -L "$plugins"
expect "hooks of a dump" calls "init 0,PAUSE_DEVICES,CHECKPOINT_DEVICES,DUMP_EXT_FILE,HANDLE_DEVICE_VMA,DUMP_DEVICES_LATE,exit 0 well"
wait "$pid" 2>/dev/null
expect "a restore without the plugin" fails restore
expect "names it" grep -q "Error.*without the plugin example" images/restore.log
expect "a restore with the plugin switched off" fails restore -L "$plugins" --no-device example
expect "restore" restore -L "$plugins"
expect "hooks of a restore" calls "init 2,RESTORE_INIT,RESTORE_ASYNCHRONOUS,RESTORE_EXT_FILE not yet,RESTORE_EXT_FILE opened,UPDATE_VMA_MAP /dev/loop0,RESUME_DEVICES_LATE,exit 2 well"
expect "the program found all unchanged" finished "PASS moved by 4096"

for hook in init PAUSE_DEVICES CHECKPOINT_DEVICES HANDLE_DEVICE_VMA DUMP_EXT_FILE DUMP_DEVICES_LATE; do
    start
    EXAMPLE_FAIL=$hook expect "$hook fails" fails dump -L "$plugins"
    expect "$hook is in the log" grep -q "Error.*example.*$hook" images/dump.log
    expect "$hook: the program goes on" finished "PASS moved by 0"
    [[ $hook == init ]] || expect "$hook: the plugin is called a last time" grep -q "exit 0 failed" calls
done

start
CRIU_LIBS_DIR=$plugins expect "dump, with the directory in the environment" dump
wait "$pid" 2>/dev/null
for hook in init RESTORE_INIT RESTORE_ASYNCHRONOUS RESTORE_EXT_FILE UPDATE_VMA_MAP RESUME_DEVICES_LATE; do
    EXAMPLE_FAIL=$hook expect "$hook fails" fails restore -L "$plugins"
    expect "$hook is in the log" grep -q "Error.*$hook" images/restore.log
    expect "$hook: nothing is left" gone
done
expect "restore after all" restore -L "$plugins"
expect "the program found all unchanged" finished "PASS moved by 4096"

# A bundle: the dynamic linker in its folder starts criu, which finds the plugins there.
linker=$(readelf -p .interp "$criu" | grep -o '/[^ ]*ld-linux[^ ]*')
mkdir -p bundle/lib/run bundle/lib/criu
cp "$linker" bundle/lib/
cp "$plugins/example.so" bundle/lib/criu/
ln -s "$criu" bundle/lib/run/criu
start
expect "dump from a bundle" "bundle/lib/${linker##*/}" "$criu" dump -t "$pid" -D images -o dump.log
kill -KILL "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
expect "restore after it" restore -L "$plugins"
expect "the program found all unchanged" finished "PASS moved by"

# Options of plugins.
start
expect "an option without plugin" fails dump -L "$plugins" --plugin-option colour=red
expect "dump refuses a value that the plugin refuses" fails dump -L "$plugins" --plugin-option example.colour
expect "and names the plugin" grep -q "Error.*example.*init" images/dump.log
expect "dump with options" dump -L "$plugins" --plugin-option example.colour=red --plugin-option=other.flag \
    --plugin-option cuda_plugin.backend=auto --plugin-option example.colour=blue=green
expect "the plugin reads its options in their order" grep -q \
    "^option colour red of 4,option colour blue=green of 4,init 0," <(paste -sd, calls)
expect "an option of a plugin that isn't loaded" grep -q "Warn.*other.flag: no plugin other is loaded" images/dump.log
expect "options of loaded plugins and of CUDA cause no warning" fails grep -q "Warn.*\(example\|cuda_plugin\)\." images/dump.log
wait "$pid" 2>/dev/null
mkdir two
cp "$plugins/example.so" two/first.so
cp "$plugins/example.so" two/second.so
expect "restore with two plugins" restore -L "$work/two" --plugin-option example.colour=white
expect "both read all options" test "$(grep -c "^option colour white of 1" calls)" = 2
expect "the program found all unchanged" finished "PASS moved by"

# A connection to an external process, which the plugin creates again.
export EXAMPLE_SERVER=$work/server
"$(dirname "$user")/socket_user" serve "$EXAMPLE_SERVER" </dev/null >server.out 2>&1 &
server=$!
until [[ -S $EXAMPLE_SERVER ]]; do sleep 0.01; done
device_user=$user user=$(dirname "$user")/socket_user
start use "$EXAMPLE_SERVER"
expect "a connection to the outside can't be dumped without the plugin" fails dump
EXAMPLE_FAIL=DUMP_UNIX_SK expect "DUMP_UNIX_SK fails" fails dump -L "$plugins"
expect "DUMP_UNIX_SK is in the log" grep -q "Error.*example.*DUMP_UNIX_SK" images/dump.log
EXAMPLE_SERVER=$work/another expect "the plugin doesn't want it" fails dump -L "$plugins"
expect "it is refused as ever" grep -q "Error.*outside of the tree" images/dump.log
expect "dump of a connection" dump -L "$plugins"
expect "hooks of its dump" calls "init 0,PAUSE_DEVICES,CHECKPOINT_DEVICES,DUMP_DEVICES_LATE,DUMP_UNIX_SK,exit 0 well"
wait "$pid" 2>/dev/null
expect "its restore without the plugin" fails restore
expect "names the plugin" grep -q "Error.*without the plugin example" images/restore.log
EXAMPLE_FAIL=RESTORE_UNIX_SK expect "RESTORE_UNIX_SK fails" fails restore -L "$plugins"
expect "the log says so" grep -q "Warn.*RESTORE_UNIX_SK failed" images/restore.log
expect "RESTORE_UNIX_SK: nothing is left" gone
expect "restore of a connection" restore -L "$plugins"
expect "hooks of its restore" calls "init 2,RESTORE_INIT,RESTORE_ASYNCHRONOUS,RESTORE_UNIX_SK,RESUME_DEVICES_LATE,exit 2 well"
expect "the server answers" finished PASS
kill "$server"

# A mount whose source isn't visible.
user=$(dirname "$device_user")/mount_user
start
expect "a part of a file system is dumped as the whole without the plugin" dump --leave-running
EXAMPLE_FAIL=DUMP_EXT_MOUNT expect "DUMP_EXT_MOUNT fails" fails dump -L "$plugins"
expect "DUMP_EXT_MOUNT is in the log" grep -q "Error.*example.*DUMP_EXT_MOUNT" images/dump.log
expect "the program goes on" finished "PASS original"
start
expect "dump of a mount" dump -L "$plugins"
expect "hooks of its dump" calls "init 0,PAUSE_DEVICES,DUMP_EXT_MOUNT ./mnt/example,CHECKPOINT_DEVICES,DUMP_DEVICES_LATE,exit 0 well"
wait "$pid" 2>/dev/null
expect "its restore without the plugin" fails restore --root /
EXAMPLE_FAIL=RESTORE_EXT_MOUNT expect "RESTORE_EXT_MOUNT fails" fails restore -L "$plugins" --root /
expect "RESTORE_EXT_MOUNT is in the log" grep -q "Error.*RESTORE_EXT_MOUNT" images/restore.log
expect "RESTORE_EXT_MOUNT: nothing is left" gone
expect "restore of a mount" restore -L "$plugins" --root /
either() { calls "$1" || calls "$2"; }
expect "hooks of its restore" either \
    "init 2,RESTORE_INIT,RESTORE_ASYNCHRONOUS,RESTORE_EXT_MOUNT /,RESUME_DEVICES_LATE,exit 2 well" \
    "init 2,RESTORE_INIT,RESTORE_EXT_MOUNT /,RESTORE_ASYNCHRONOUS,RESUME_DEVICES_LATE,exit 2 well"
expect "the plugin's mount is there" finished "PASS made by the plugin"
user=$device_user

# Files in place of CRIU's plugins have no hooks, whether criu loads them or not.
inert=$(dirname "$plugins")/../../plugins/inert
rm -rf images out
mkdir images
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
pid=$!
until [[ $(<"/proc/$pid/comm") == sleep ]]; do sleep 0.01; done
expect "dump with inert plugins" dump --leave-running -L "$inert"
expect "criu doesn't load them" grep -q "cuda_plugin.so isn't used: criu's own support of cuda does its work" images/dump.log
expect "dump without the built-in support" dump --leave-running -L "$inert" --no-device cuda
expect "the file says what it is" grep -q "cuda_plugin: this file has no hooks" images/dump.log
kill -KILL "$pid"

# A plugin with hooks that criu doesn't know replaces addresses of sockets.
listen_at='import socket,time
s = socket.socket(); s.bind(("127.0.0.5", 0)); s.listen(); print("READY", flush=True)
time.sleep(1000)'
rm -rf images out
mkdir images
setsid python3 -c "$listen_at" </dev/null >out 2>&1 &
pid=$!
until grep -q READY out; do sleep 0.01; done
expect "dump with a plugin of a later interface" dump -L "$(dirname "$plugins")/inet"
wait "$pid" 2>/dev/null
INET_PLUGIN_FROM=127.0.0.5 INET_PLUGIN_TO=127.0.0.6 expect "restore under another address" \
    restore -L "$(dirname "$plugins")/inet"
listens() { grep -q " 0600007F:[0-9A-F]* 00000000:0000 0A" "/proc/$pid/net/tcp"; }
expect "it listens there" listens
kill -KILL "$pid"

# A network device that criu can't dump: a macvlan device with a list of sources. The script of the restore makes another
# device instead.
make_device='ip link add v0 up type veth peer name v1 && ip link set v1 up &&
    ip link add ext0 index 9 address 02:00:00:00:00:09 link v0 type macvlan mode source'
make_another='ip link add ext0 index 9 address 02:00:00:00:00:09 type vxlan id 5 dstport 4789'
can_make() { unshare --net sh -c "$1" 2>/dev/null; }
if can_make "$make_device" && can_make "$make_another"; then
    cat >make-device <<END
#!/bin/sh
[ "\$CRTOOLS_SCRIPT_ACTION" != setup-namespaces ] || nsenter --net --target "\$CRTOOLS_INIT_PID" $make_another
END
    chmod +x make-device
    user=unshare
    start --net sh -c "$make_device && ip link set ext0 mtu 1300 up && ip addr add 10.9.0.1/24 dev ext0 && echo READY
        trap 'ip addr show ext0 | grep -q \"inet 10.9.0.1/24\" && ip link show ext0 | grep -q \"UP.* mtu 1300\" && echo PASS
            kill \$!; exit' TERM
        sleep 1000 & wait"
    expect "the device can't be dumped without the plugin" fails dump
    expect "it is named" grep -q "Error.*ext0 (macvlan)" images/dump.log
    EXAMPLE_FAIL=DUMP_EXT_LINK expect "DUMP_EXT_LINK fails" fails dump -L "$plugins"
    expect "DUMP_EXT_LINK is in the log" grep -q "Error.*example.*DUMP_EXT_LINK" images/dump.log
    expect "dump of a device" dump -L "$plugins"
    expect "hooks of its dump" calls "init 0,PAUSE_DEVICES,PAUSE_DEVICES,DUMP_EXT_LINK 9 1,CHECKPOINT_DEVICES,CHECKPOINT_DEVICES,DUMP_DEVICES_LATE,exit 0 well"
    wait "$pid" 2>/dev/null
    expect "a restore without a script that creates the device" fails restore
    expect "says what to do" grep -q "Error.*ext0: it was left to a plugin" images/restore.log
    expect "restore of a device" restore --action-script "$PWD/make-device"
    expect "the device is unchanged" finished PASS
    user=$device_user
fi

# The plugin doesn't affect a tree without resources for it.
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
pid=$!
sleep 0.1
rm -rf images
mkdir images
expect "dump of another tree" dump -L "$plugins"
expect "the plugin claimed nothing" calls "init 0,PAUSE_DEVICES,CHECKPOINT_DEVICES,DUMP_DEVICES_LATE,exit 0 well"
wait "$pid" 2>/dev/null
expect "its restore needs no plugin" restore
kill -9 "$pid"

# criu skips a plugin that a built-in subsystem replaces, by the name of its file or of its descriptor.
cd "$work" || exit 1
mkdir distribution
cp "$plugins/example.so" distribution/amdgpu_plugin.so
for directory in "$work/distribution" "$(dirname "$plugins")/substituted"; do
    setsid sleep 1000 </dev/null >/dev/null 2>&1 &
    pid=$!
    sleep 0.1
    expect "dump beside a plugin of a built-in subsystem" dump -R -L "$directory"
    expect "it isn't called" calls ""
    expect "the log says so once" test "$(grep -c "_\?plugin.*isn't used: criu's own support of amdgpu\|substituted.so isn't used: criu's own" images/dump.log)" = 1
    expect "dump with the subsystem switched off" dump -R -L "$directory" --no-device amdgpu
    expect "then it is called" grep -q "init 0" calls
    expect "dump with both switched off" dump -R -L "$directory" --no-device amdgpu_plugin
    expect "then neither is" calls ""
    kill -9 "$pid"
done
rm distribution/amdgpu_plugin.so
cp "$plugins/example.so" distribution/cuda_plugin.so
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
pid=$!
sleep 0.1
expect "dump beside a plugin of the other built-in subsystem" dump -R -L "$work/distribution"
expect "it isn't called" calls ""
expect "dump with that subsystem switched off" dump -R -L "$work/distribution" --no-device cuda
expect "then it is called" grep -q "init 0" calls
kill -9 "$pid"
mv distribution/cuda_plugin.so distribution/vendor_plugin.so
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
pid=$!
sleep 0.1
expect "dump with a plugin that no subsystem replaces" dump -L "$work/distribution"
expect "it is called" grep -q "init 0" calls
wait "$pid" 2>/dev/null

# Symbols that plugins of CRIU 4.2 import from criu.
export SYMBOLS_LOG=$work/symbols.log SYMBOLS_DIRECTORY
SYMBOLS_DIRECTORY=$(dirname "$plugins")/symbols
: >symbols.log
start
CRIU_FAULT=138 expect "dump with a plugin that uses all symbols" dump -L "$SYMBOLS_DIRECTORY" --timeout 17
wait "$pid" 2>/dev/null
CRIU_FAULT=138 expect "its restore" restore -L "$SYMBOLS_DIRECTORY" --timeout 17
expect "the program is unchanged" finished "PASS moved by 0"
expect "all symbols work" test "$(paste -sd, symbols.log)" = "looked dump,looked restore,looked process,looked resume"
grep "wrong:" symbols.log

rm -rf images
mkdir images
echo "not a shared object" >images/broken.so
expect "a file that isn't a plugin" fails dump -L images
echo "$passed passed, $failed failed, 0 skipped"
[[ $failed == 0 ]]
