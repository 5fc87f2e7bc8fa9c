# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Modes of the test programs, a function mode_NAME each. A mode succeeds, or calls `fail REASON`.
#
# The first argument of a program is a folder. The program creates the file `ready` there after its setup. On SIGUSR1 it
# checks that its GPU works, and creates `alive`. On SIGTERM it checks everything, writes "ok" or an error to `result`,
# and ends.

controls=/sys/kernel/debug/amdgpu_sim
criu=criu # or criu-other
limit=40 # seconds that any one step may take

# usage: fail REASON; ends the case
fail() {
    echo "$*" >>"$dir/why"
    exit 1
}

# usage: until_true SECONDS COMMAND...; returns false after that time
until_true() {
    left=$(($1 * 50))
    shift
    until "$@"; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        usleep 20000
    done
}

gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.[ZX]' "/proc/$1/status" 2>/dev/null; }
ready_or_gone() { [ -e "$dir/ready" ] || gone "$pid"; }
has_result() { [ -e "$dir/result" ] || gone "$pid"; }
loaded() { grep -q "^$1 " /proc/modules; }

# usage: load_simulator [PARAMETER=VALUE]...
load_simulator() {
    insmod /modules/amdgpu_sim.ko "$@" 2>>/work/insmod.log
}

# Removes the module, which works only while no process uses it. So a leak in the driver shows here.
unload_simulator() {
    until_true 5 rmmod amdgpu_sim 2>/dev/null
}

reload_simulator() {
    unload_simulator || fail "the simulator is still in use: $(cat $controls/state)"
    load_simulator "$@" || fail "the simulator can't be loaded with $*"
}

# Starts the case's program and waits until it is ready.
start() {
    # shellcheck disable=SC2086
    setsid "/programs/$program" "$dir" $arguments </dev/null >"$dir/out" 2>&1 &
    pid=$!
    until_true $limit ready_or_gone || fail "the program was not ready in time"
    [ -e "$dir/ready" ] || fail "the program ended while it set up: $(tail -n 3 "$dir/out")"
}

# Makes the program check everything and end.
verify() {
    rm -f "$dir/result"
    kill -TERM "$pid" || fail "the program is gone"
    until_true $limit has_result || fail "the program did not check in time"
    [ -e "$dir/result" ] || fail "the program ended without a result: $(tail -n 3 "$dir/out")"
    [ "$(cat "$dir/result")" = ok ] || fail "the program found: $(cat "$dir/result")"
    until_true 10 gone "$pid" || fail "the program did not end"
}

# usage: still_works WHAT_HAPPENED; makes the program check that its GPU works
still_works() {
    rm -f "$dir/alive"
    kill -USR1 "$pid" 2>/dev/null || fail "after $1 the program is gone"
    until_true $limit alive_or_gone
    [ -e "$dir/alive" ] || fail "after $1 the program's GPU does not go on: $(tail -n 3 "$dir/out")"
}

alive_or_gone() { [ -e "$dir/alive" ] || gone "$pid"; }

end_program() {
    # kills the program's session, which is also its process group
    kill -KILL "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null
    until_true 10 gone "$pid" || fail "the program can't be killed"
}

# usage: errors LOG
errors() { grep -h Error "$1" "$1.out" 2>/dev/null | head -n 5 | tr '\n' ' '; }

# usage: criu_run NAME ARGUMENTS...; sets $code
criu_run() {
    name=$1
    shift
    # shellcheck disable=SC2046
    timeout $limit "/bin/$criu" "$@" -v4 -o "$dir/$name.log" $(cat "/guest/$criu-arguments" 2>/dev/null) \
        </dev/null >"$dir/$name.log.out" 2>&1
    code=$?
}

# usage: dump FOLDER [OPTION]...
dump() {
    into=$1
    shift
    mkdir -p "$dir/$into"
    criu_run "dump-$into" dump -t "$pid" -D "$dir/$into" "$@"
}

dump_well() {
    dump "$@"
    [ $code = 0 ] || fail "dump ended with $code: $(errors "$dir/dump-$into.log")"
}

# usage: restore FOLDER LOG [OPTION]...; sets $code
restore() {
    from=$1
    name=$2
    shift 2
    criu_run "$name" restore -d -D "$dir/$from" "$@"
}

restore_well() {
    restore "$@"
    [ $code = 0 ] || fail "restore ended with $code: $(errors "$dir/$name.log")"
}

mode_alone() {
    start
    still_works "nothing"
    verify
}

# Runs a program that tests the driver itself and doesn't wait for a dump.
mode_interface() {
    reload_simulator change_handle=1
    # shellcheck disable=SC2086
    "/programs/$program" "$dir" $arguments >"$dir/out" 2>&1 || fail "$(tail -n 3 "$dir/out")"
}

# Runs such a program for rules that depend on the Linux version, once for each version.
mode_interface_versions() {
    for version in 601 604 608 617 618 619 703; do
        reload_simulator interface=$version
        "/programs/$program" "$dir" $version >"$dir/out" 2>&1 || fail "Linux $version: $(tail -n 3 "$dir/out")"
    done
}

# Tests the driver's rule for cgroups: a restore needs exactly as many GPUs as before.
mode_interface_groups() {
    reload_simulator gpus=3
    make_group two 128 129
    in_group two "/programs/$program" "$dir" save >"$dir/out" 2>&1 || fail "$(tail -n 3 "$dir/out")"
    for case in "128 129:0" "128 129 130:22" "128:22" "129 130:0"; do
        # shellcheck disable=SC2086
        allow_gpus two ${case%:*}
        in_group two "/programs/$program" "$dir" "${case#*:}" >"$dir/out" 2>&1 ||
            fail "with GPUs ${case%:*}: $(tail -n 3 "$dir/out")"
    done
    remove_groups
}

mode_once() {
    start
    dump_well images
    until_true 10 gone "$pid" || fail "the program is still there after the dump"
    restore_well images restore
    still_works "the restore"
    verify
}

# Starts the case's program as the init of a container, in private namespaces. usage: start_contained [PREPARE]
start_contained() {
    # shellcheck disable=SC2086
    unshare -p -f -m -n -i -u --mount-proc sh -c "mount --make-rprivate /; $1
        exec setsid -c /programs/$program $dir $arguments" </dev/null >"$dir/out" 2>&1 &
    outside=$!
    until_true $limit ready_or_ended || fail "the program was not ready in time"
    [ -e "$dir/ready" ] || fail "the program ended while it set up: $(tail -n 3 "$dir/out")"
    pid=$(cat "/proc/$outside/task/$outside/children")
    pid=${pid% }
}

ready_or_ended() { [ -e "$dir/ready" ] || gone "$outside"; }

# usage: dump_contained FOLDER; restore_contained FOLDER LOG [OPTION]...
dump_contained() {
    dump_well "$1" --external "mnt[/work]:work" --external "mnt[/dev]:dev" --external "mnt[/sys]:sys" \
        --external "mnt[/tmp]:tmp" --external "mnt[/run]:run"
    until_true 10 gone "$pid" || fail "the program is still there after the dump"
}

restore_contained() {
    rm -f "$dir/pid"
    restore_well "$@" --root / --pidfile "$dir/pid" --external "mnt[work]:/work" --external "mnt[dev]:/dev" \
        --external "mnt[sys]:/sys" --external "mnt[tmp]:/tmp" --external "mnt[run]:/run"
    pid=$(cat "$dir/pid")
}

# Dumps and restores a container. A parallel restore must fill buffers without a namespace that coordinator and
# processes share.
mode_contained() {
    start_contained
    dump_contained images
    restore_contained images restore --parallel
    still_works "the restore"
    dump_contained images-2
    restore_contained images-2 restore-2 --no-parallel
    still_works "the second restore"
    verify
}

# Dumps and restores a container that has one of the GPUs.
mode_contained_one() {
    start_contained "mount -t tmpfs tmpfs /dev/dri && mknod /dev/dri/renderD128 c 226 128"
    dump_contained images
    restore_contained images restore --parallel
    still_works "the restore"
    [ ! -e "/proc/$pid/root/dev/dri/renderD129" ] || fail "the restored container has another GPU"
    verify
}

groups=/groups

# Makes a cgroup whose tasks may use only the given GPUs, by their render nodes. usage: make_group NAME MINOR...
make_group() {
    mkdir -p "$groups"
    grep -q " $groups cgroup " /proc/mounts || mount -t cgroup -o devices cgroup $groups || fail "there are no device groups"
    mkdir -p "$groups/$1"
    allow_gpus "$@"
}

# usage: allow_gpus NAME MINOR...
allow_gpus() {
    group=$1
    shift
    for node in /dev/dri/renderD*; do
        minor=${node#/dev/dri/renderD}
        file=devices.deny
        for allowed; do
            [ "$allowed" != "$minor" ] || file=devices.allow
        done
        echo "c 226:$minor rwm" >"$groups/$group/$file"
    done
}

remove_groups() { rmdir "$groups"/*/; }

# usage: gpu_of MINOR: prints the GPU's id
gpu_of() {
    for node in /sys/class/kfd/kfd/topology/nodes/*; do
        grep -q "^drm_render_minor $1\$" "$node/properties" && cat "$node/gpu_id"
    done
}

# Runs a command in a cgroup, and returns its status. usage: in_group NAME COMMAND...
in_group() {
    echo 0 >"$groups/$1/cgroup.procs"
    shift
    "$@"
    ended=$?
    echo 0 >$groups/cgroup.procs
    return $ended
}

# Restores a process whose cgroup allows one of eight GPUs. criu is outside of the cgroup (as with plain criu and crun)
# or inside (runc). The cgroup allows another GPU at the restore, also with --gpu-map.
mode_grouped() {
    reload_simulator gpus=8
    make_group one 130
    in_group one start
    dump_well images
    restore_well images restore
    still_works "the restore"
    dump_well images
    in_group one restore_well images restore-inside
    still_works "the restore by a criu in the group"
    had=$(gpu_of 130)
    dump_well images
    allow_gpus one 133
    restore_well images restore-elsewhere
    still_works "the restore on another GPU"
    dump_well images
    allow_gpus one 135
    restore_well images restore-chosen --gpu-map "$had=$(gpu_of 135)"
    still_works "the restore on a GPU that was chosen"
    dump_well images
    # A restore can't use a GPU that the cgroup forbids, and the driver requires the same number of GPUs.
    for case in "135:--gpu-map $had=$(gpu_of 128):no GPU" "134 135::had 1 GPUs.*lets it use 2" \
        "::had 1 GPUs.*lets it use 0"; do
        minors=${case%%:*}
        case=${case#*:}
        # shellcheck disable=SC2086
        allow_gpus one $minors
        # shellcheck disable=SC2086
        restore images restore-refused ${case%%:*}
        [ $code = 1 ] || fail "with GPUs '$minors' a restore ended with $code"
        grep -q "Error.*${case#*:}" "$dir/restore-refused.log" ||
            fail "with GPUs '$minors' the log says: $(errors "$dir/restore-refused.log")"
        gone "$pid" || fail "a restore that was refused left the program behind"
    done
    allow_gpus one 135
    restore_well images restore-last
    still_works "the last restore"
    verify
    remove_groups
}

# Dumps and restores processes of one tree that see different GPUs.
mode_grouped_apart() {
    reload_simulator gpus=4
    make_group one 129
    make_group two 131
    arguments="$groups/one $groups/two $groups/one"
    start
    dump_well images
    restore_well images restore
    still_works "the restore"
    dump_well images
    allow_gpus one 128
    restore_well images restore-2 --gpu-map "$(gpu_of 131)=$(gpu_of 131)"
    still_works "the restore of which some have moved"
    verify
    remove_groups
}

# usage: refused_dump PATTERN [OPTION]...: requires a dump to fail with this error and the program to continue
refused_dump() {
    said=$1
    shift
    dump images "$@"
    [ $code = 1 ] || fail "the dump ended with $code"
    grep -q "Error.*$said" "$dir/dump-images.log" || fail "the log doesn't say why: $(errors "$dir/dump-images.log")"
    [ ! -e "$dir/images/inventory.img" ] || fail "there is an inventory after a failed dump"
    still_works "the dump that was refused"
    verify
}

# Requires a dump to refuse states of closed_files.
mode_refused() {
    start
    case $arguments in
        kfd) said="process $pid.*which the process has closed" ;;
        render) said="process $pid maps.*no buffer" ;;
        doorbells) said="of process $pid ($program) maps offset 0x[cdef].* of /dev/kfd, which the driver has in none" ;;
        twice) said="process $(cat "/proc/$pid/task/$pid/children")(.*) has /dev/kfd twice, once of another process" ;;
        *) said="process $(cat "/proc/$pid/task/$pid/children")(.*) has /dev/kfd of the process that is $pid" ;;
    esac
    refused_dump "$said"
    ! grep -q "stays without its GPU queues" "$dir/dump-images.log" || fail "queues were forgotten"
}

# Requires a dump to refuse a state of another GPU client, and to name it.
mode_refused_kind() {
    start
    whose="buffer [0-9]* of /dev/dri/renderD128 in process $pid ($program)"
    case $arguments in
        context) said="process $pid ($program) has context 1 of /dev/dri/renderD128 for graphics or video" ;;
        late_context) said="process $pid ($program) has context 900 of /dev/dri/renderD128 for graphics or video" ;;
        sync_object) said="process $pid ($program) has synchronization object 1 of /dev/dri/renderD128" ;;
        late_sync_object) said="process $pid ($program) has synchronization object 200 of /dev/dri/renderD128" ;;
        userptr) said="$whose is memory of a process" ;;
        *) said="$whose is always valid in its address space, and hidden from processors" ;;
    esac
    refused_dump "$said"
}

# Requires the search for contexts to run while GPUs copy contents: it asks the driver 4,095 times for each render node of
# the frozen tree. So when a late query fails, contents have been copied.
mode_context_search() {
    start
    echo >$controls/clear
    echo "drm.ctx 2000 5" >$controls/fault
    dump images --leave-running
    [ $code = 1 ] || fail "a dump whose search for contexts failed ended with $code"
    grep -q "Error.*ask whether a render node has context" "$dir/dump-images.log" ||
        fail "the log doesn't name the failed query: $(errors "$dir/dump-images.log")"
    hits | grep -q drm.cs || fail "the tree waited for the search before contents were copied"
    still_works "the dump that failed"
    verify
}

# Uses a kernel that lists contexts. A dump asks each render node once, and clients of graphics come back, twice.
mode_listed_contexts() {
    reload_simulator list_contexts=1
    [ "$arguments" != running ] || echo 8 >$controls/bandwidth
    start
    echo >$controls/clear
    case $arguments in
        files) refused_dump "renderD128 of process $pid ($program): this file and .*renderD128 of .*may share them" ;;
        lost)
            echo >$controls/reset
            dump images
            [ $code = 1 ] || fail "the dump ended with $code"
            grep -q "renderD128 of process $pid ($program): context 2 is lost, because the GPU was reset" "$dir/dump-images.log" ||
                fail "the log doesn't say why: $(errors "$dir/dump-images.log")"
            end_program
            ;;
        *)
            dump_well images
            echo 0 >$controls/bandwidth
            # The threads that copy have contexts of their own, at most four for each of two GPUs.
            queries=$(sed -n 's/^drm.ctx //p' $controls/hits)
            [ "$queries" -le 32 ] || fail "the dump asked $queries times for contexts"
            restore_well images restore
            still_works "the restore"
            dump_well again
            restore_well again restore-again
            verify
            ;;
    esac
}

# With --no-loss, a dump refuses the loss of trap handlers, unless it is allowed.
mode_no_loss() {
    start
    refused_dump "trap handlers.*--allow-loss=gpu" --no-loss
    rm -f "$dir/ready" "$dir/result" "$dir/alive"
    start
    dump_well allowed --no-loss --allow-loss=gpu
    restore_well allowed restore
    still_works "the restore"
    verify
}

# A dump of the running client doesn't change its contexts.
mode_listed_running() {
    reload_simulator list_contexts=1
    start
    dump_well images --leave-running
    still_works "the dump"
    verify
}

# Calls to the driver fail while contexts and synchronization objects are restored: the restore fails and leaves nothing.
mode_listed_faults() {
    reload_simulator list_contexts=1
    start
    dump_well images
    for call in drm.ctx drm.cs drm.wait_cs drm.gem_userptr; do
        echo "$call 1 12" >$controls/fault
        restore images "restore-$call"
        [ $code != 0 ] || fail "a restore whose $call failed ended with 0"
        until_true 10 gone "$pid" || fail "after a failed $call a process is left"
        echo >$controls/clear
    done
    restore_well images restore
    still_works "the restore"
    verify
}

# Restores images that don't name the driver's render file, as those of CRIU 4.2. The mode changes the number of the
# field, 4202, to an unknown one.
mode_unnoted() {
    start
    dump_well images
    for image in "$dir"/images/amdgpu-kfd-*.img; do
        sed -i "s/$(printf '\320\206\002')/$(printf '\220\207\002')/g" "$image"
        ! grep -q "$(printf '\320\206\002')" "$image" || fail "the image still says it"
        grep -q "$(printf '\220\207\002')" "$image" || fail "the image didn't say it"
    done
    restore_well images restore
    still_works "the restore"
    verify
}

# Uses the interface of Linux 6.1: other versions, no list of buffers, new DMA-BUFs each time.
mode_linux_6_1() {
    reload_simulator interface=601
    mode_once
}

mode_linux_6_8() {
    reload_simulator interface=608
    mode_once
}

# Uses an interface with GEM_CHANGE_HANDLE, as some kernels had.
mode_change_handle() {
    reload_simulator change_handle=1
    mode_once
}

# Uses Linux 6.17, the last version without a list of buffers, and the state of all dies.
mode_linux_6_17() {
    reload_simulator interface=617 xccs=4
    mode_once
}

mode_linux_6_19() {
    reload_simulator interface=619
    mode_once
}

# Restores onto GPUs with other ids, where /dev/kfd maps doorbells and registers by the ids that a process uses: on GPUs
# that have changed places, on one of which no id is known, and as --gpu-map says. Each is dumped again.
mode_linux_7_3() {
    parameters=interface=703
    reload_simulator $parameters
    start
    dump_well images
    reload_simulator $parameters swapped=1 gpu_id=0x1111,0x2222
    restore_well images restore
    still_works "the restore on GPUs with other ids"
    dump_well images-2
    reload_simulator $parameters
    restore_well images-2 restore-2
    still_works "the restore on the first machine"
    dump_well images-3
    map_crosswise
    restore_well images-3 restore-3 --gpu-map "$one=$two" --gpu-map "$two=$one"
    still_works "the restore crosswise"
    dump_well images-4
    restore_well images-4 restore-4 --gpu-map "$one=$two" --gpu-map "$two=$one"
    still_works "the second restore crosswise"
    verify
}

# Requires a dump to refuse a second context, which it can't distinguish from the process' first one.
mode_refused_context() {
    reload_simulator interface=619
    start
    refused_dump "process $pid ($program) has /dev/kfd twice, each with a context of its own"
}

# Requires a dump to fail before it kills the program if the kernel can't change handles, because a restore here would
# fail.
mode_refused_handles() {
    start
    dump images-running --leave-running
    [ $code = 0 ] || fail "the dump for another machine ended with $code: $(errors "$dir/dump-images-running.log")"
    grep -q "Warn.*process $pid ($program) has 1 buffers.*GEM_CHANGE_HANDLE" "$dir/dump-images-running.log" ||
        fail "the log of a dump for another machine doesn't say what it needs"
    refused_dump "process $pid ($program) has 1 buffers.*GEM_CHANGE_HANDLE"
}

# Requires a dump to warn about GPUs of several dies: older kernels save the state of the first die only.
mode_dies() {
    reload_simulator xccs=4
    start
    dump_well images
    restore_well images restore
    still_works "the restore"
    verify
    reload_simulator xccs=4 interface=608
    start
    dump_well images-old --leave-running
    grep -q "Warn.*has 4 dies.*queues of process $pid ($program) may stand still" "$dir/dump-images-old.log" ||
        fail "a dump of several dies by an older kernel doesn't warn"
    still_works "the dump by an older kernel"
    verify
}

# Restores a queue whose hardware queue another process has now.
mode_busy_queue() {
    start
    dump_well images
    first=$pid
    dir=$dir/other
    mkdir -p "$dir"
    start
    other=$pid
    dir=${dir%/other}
    pid=$first
    restore images restore-busy
    [ $code = 1 ] || fail "a restore of a queue that another process has ended with $code"
    grep -q "Error.*Device or resource busy.*hardware queue.*--gpu-map" "$dir/restore-busy.log" ||
        fail "the log doesn't name the busy queue: $(errors "$dir/restore-busy.log")"
    gone "$pid" || fail "a failed restore left the program behind"
    kill -KILL "$other"
    until_true 10 gone "$other"
    restore_well images restore
    still_works "the restore"
    verify
}

# Evicts video memory during a dump. The driver stops the program's queues for that, too, and must resume them when
# there is room, not before.
mode_evicted() {
    start
    moved=$(counted moves)
    echo 3000 >$controls/evict
    # The driver doesn't move buffers of one page.
    [ "$program" != kfd_memory ] || [ "$(counted moves)" -gt "$moved" ] || fail "nothing was moved"
    dump_well images --leave-running
    still_works "a dump while there was no room"
    # Evicts memory again and again, at any time of a dump and of a restore.
    (while usleep 100000; do echo 50 >$controls/evict; done) &
    evicting=$!
    dump_well images
    restore_well images restore
    kill $evicting
    echo 1000 >$controls/evict
    still_works "the restore"
    verify
}

# usage: counted WHAT: prints a number of the simulator's state
counted() { sed -n "s/^$1 //p" $controls/state; }

# Restores memory of the process that GPUs use. The driver looks at it only at RESUME. At that time all of it must
# exist, and it must not change until the program runs.
mode_notified() {
    start
    echo >$controls/clear
    dump_well images --leave-running --track-mem
    still_works "the dump that writes notes about memory"
    dump_well images
    echo >$controls/clear
    restore_well images restore
    [ "$(counted missing)" = 0 ] || fail "$(counted missing) ranges weren't there at RESUME"
    [ "$(counted notifications)" = 0 ] || fail "memory changed $(counted notifications) times after RESUME"
    echo "$(counted blocked) notifications were blocked"
    still_works "the restore"
    verify
}

# Uses video memory that processors reach only after a move.
mode_small_window() {
    reload_simulator vram_visible=0
    start
    echo "drm.cs 1 22 1000000" >$controls/fault
    dump_well images
    restore_well images restore
    [ "$(sed -n 's/^migrations //p' $controls/state)" -gt 0 ] || fail "no memory was moved"
    echo >$controls/clear
    still_works "the restore"
    verify
}

# Changes the number of objects between two queries of criu, twice.
mode_changing() {
    start
    echo >$controls/clear
    echo 2 >$controls/split_ranges
    dump_well images
    [ "$(sed -n 's/^kfd.criu.checkpoint //p' $controls/hits)" = 3 ] || fail "the state was not read again"
    restore_well images restore
    still_works "the restore"
    verify
}

# usage: hardware_check NAMES [OPTION]; sets $code
hardware_check() {
    HARDWARE_CHECK_MIB=16 HARDWARE_CHECK_LIMIT=$limit sh /guest/hardware-check --criu /bin/criu --programs /programs \
        --output "$dir/report" $2 --only "$1" >"$dir/out" 2>&1
    code=$?
}

# Runs the script for machines with real GPUs. It must succeed here, and must report an error where one is.
mode_hardware_check() {
    hardware_check "kfd_queues shared container map bulk-2" --quick
    [ $code = 0 ] || fail "the script ended with $code: $(grep -e FAILED -e passed "$dir/report/report" | tr '\n' ' ')"
    for line in "THE DRIVER IS SIMULATED" "simd_count 416" "amdgpu_svm is supported" "5 passed, 0 failed, 0 skipped" \
        "parameter gpus: 2" "PCIe of renderD128" "the kernel's log of amdgpu" "^driver: .*interface 1.18" \
        "^ok map-[0-9]*-[0-9]*: --gpu-map" "^ok kfd_queues: .*[0-9]* bytes of device memory saved in [0-9]* ms" \
        "^ok shared: dumped and restored" "^ok bulk-2: dump.*restore --no-parallel [0-9]* ms; restore --parallel [0-9]* ms"; do
        grep -q "$line" "$dir/report/report" || fail "the report has no '$line'"
    done
    ! grep -q unique_id "$dir/report/report" || fail "the report has serial numbers"
    echo "kfd.criu.restore 1 12" >$controls/fault
    hardware_check kfd_queues
    [ $code = 1 ] || fail "with an error of the driver the script ended with $code"
    grep -q "^FAILED kfd_queues: restore ended with 1: .*KFD_CRIU_OP_RESTORE" "$dir/report/report" ||
        fail "the report doesn't name an error of the driver"
}

# Makes video memory unreachable for copy engines and processors. The dump must fail with an error, and no process may
# crash.
mode_pinned() {
    start
    echo "drm.cs 1 22 1000000" >$controls/fault
    echo 1 >/sys/module/amdgpu_sim/parameters/vram_pinned
    dump images --leave-running
    echo 0 >/sys/module/amdgpu_sim/parameters/vram_pinned
    echo >$controls/clear
    [ $code = 1 ] || fail "a dump without any way to copy ended with $code"
    grep -q "Error.*copy engine can't be used.*nor the processor.*can't be moved to where processors reach it" \
        "$dir/dump-images.log" || fail "the log doesn't name the error: $(errors "$dir/dump-images.log")"
    still_works "a dump without any way to copy"
    verify
}

# Requires a dump to refuse compute state in a private user namespace, where the driver would refuse a restore.
mode_refused_users() {
    # shellcheck disable=SC2086
    unshare -U -r -p -f setsid "/programs/$program" "$dir" $arguments </dev/null >"$dir/out" 2>&1 &
    outside=$!
    until_true $limit ready_or_ended || fail "the program was not ready in time"
    [ -e "$dir/ready" ] || fail "the program ended while it set up: $(tail -n 3 "$dir/out")"
    pid=$(cat "/proc/$outside/task/$outside/children")
    pid=${pid% }
    refused_dump "process $pid ($program) is in a user namespace.*compute driver"
}

# Requires a dump to refuse memory that two processes share if a restore would separate it. That is so with kernels that
# make another DMA-BUF each time, and with CRIU 4.2.
mode_refused_sharing() {
    # shellcheck disable=SC2086
    [ "$arguments" = compat ] || reload_simulator interface=${arguments%% *}
    options=
    [ "$arguments" != compat ] || options="--compat 4.2"
    case $arguments in
        *render) arguments=render ;;
        *) arguments= ;;
    esac
    start
    child=$(cat "/proc/$pid/task/$pid/children")
    # shellcheck disable=SC2086
    refused_dump "process $pid ($program) and process ${child% } (.*) share memory of GPU" $options
}

# Requires images of dump --background to show the moment of the freeze, whatever the tree did while its memory was
# written.
mode_background() {
    [ "$program" != both_vendors ] || play_cuda
    start
    dump_well images --leave-running --background
    still_works "the dump"
    end_program
    restore_well images restore
    still_works "the restore"
    verify
}

# criu stays until the program ends. It must hold no GPU memory in this time, so that memory which the program frees
# becomes free.
mode_attended() {
    start
    dump_well images
    restore_well images restore
    still_works "the restore"
    usual=$(counted buffers)
    dump_well images
    # shellcheck disable=SC2046
    /bin/criu restore -D "$dir/images" -v4 -o "$dir/attended.log" $(cat /guest/criu-arguments 2>/dev/null) \
        </dev/null >"$dir/attended.log.out" 2>&1 &
    attending=$!
    until_true $limit restored_or_gone $attending
    ! gone $attending || fail "criu has ended: $(errors "$dir/attended.log")"
    still_works "a restore that stays"
    [ "$(counted buffers)" = "$usual" ] || fail "while criu stays there are $(counted buffers) buffers, not $usual"
    if [ "$program" = render_passed ]; then
        for child in $(children_of "$pid"); do
            kill -KILL "$child"
        done
        until_true 5 no_buffers || fail "criu keeps $(counted buffers) buffers that no process has"
        kill -KILL "$pid"
    else
        verify
    fi
    until_true $limit gone $attending || fail "criu stays when the program has ended"
}

restored_or_gone() { grep -q "Restore finished: " "$dir/attended.log" 2>/dev/null || gone "$1"; }
no_buffers() { [ "$(counted buffers)" = 0 ]; }

# usage: children_of PID: prints all descendants
children_of() {
    for child in $(cat "/proc/$1/task/$1/children"); do
        echo "$child"
        (children_of "$child")
    done
}

mode_leave_running() {
    start
    dump_well images --leave-running
    still_works "the dump"
    verify
}

# Exchanges images with another criu.
mode_to_other() {
    start
    dump_well images --compat 4.2
    criu="criu-other"
    restore_well images restore
    still_works "the restore"
    verify
}

# CRIU 4.2 would search contents in missing files. It must refuse the images by their version before it calls the driver
# or creates anything, and the images must stay valid.
mode_other_refuses() {
    start
    dump_well images
    has_form images device-pages 1
    echo >$controls/clear
    criu="criu-other"
    restore images restore-other
    [ $code = 1 ] || fail "the other criu ended with $code"
    grep -q "Error.*Not supported images version 4200" "$dir/restore-other.log" ||
        fail "the other criu's log doesn't say why: $(errors "$dir/restore-other.log")"
    gone "$pid" || fail "the other criu left something behind"
    ! hits | grep -q -e kfd.criu -e drm.gem_create || fail "the other criu began to restore: $(hits | tr '\n' ' ')"
    criu=criu
    restore_well images restore
    still_works "the restore"
    verify
}

mode_from_other() {
    start
    criu="criu-other"
    dump_well images
    criu=criu
    restore_well images restore
    still_works "the restore"
    verify
}

# Restores the same images twice.
mode_twice() {
    start
    dump_well images
    restore_well images restore-1
    still_works "the first restore"
    end_program
    restore_well images restore-2
    still_works "the second restore"
    verify
}

# Dumps a restored tree again.
mode_again() {
    start
    for turn in 1 2 3; do
        dump_well "images-$turn"
        restore_well "images-$turn" "restore-$turn"
        still_works "restore $turn"
    done
    verify
}

# Restores a tree where the GPUs are in another order.
mode_swapped() {
    start
    dump_well images
    reload_simulator swapped=1 $parameters
    restore_well images restore
    still_works "the restore"
    # Dumps the tree there, and restores it on the first machine.
    dump_well images-2
    reload_simulator $parameters
    restore_well images-2 restore-2
    still_works "the second restore"
    verify
}

# Dumps and restores a buffer of more than 4 GiB by the copy engine, and by the processor.
mode_large() {
    limit=300
    reload_simulator vram_mb=8192,8192
    start
    dump_well images
    restore_well images restore
    still_works "the restore"
    ! grep -q "copied by the processor" "$dir/dump-images.log" "$dir/restore.log" || fail "the processor copied"
    echo "drm.cs 1 22 1000000" >$controls/fault
    dump_well images-2
    restore_well images-2 restore-2
    for log in dump-images-2 restore-2; do
        grep -q "Warn.*copied by the processor" "$dir/$log.log" || fail "$log doesn't tell who copied"
    done
    echo >$controls/clear
    still_works "the restore by the processor"
    verify
}

# The GPUs execute no copies, so the processor copies where it can.
mode_no_engine() {
    start
    echo "drm.cs 1 22 1000000" >$controls/fault
    without_engine
}

# The driver starts queues some time after RESUME: a restore must wait for them. If they never start, it must warn for
# each GPU.
mode_resumed_late() {
    start
    dump_well images
    echo 1500 >/sys/module/amdgpu_sim/parameters/resume_delay
    restore_well images restore
    for file in /sys/class/kfd/kfd/proc/"$pid"/stats_*/evicted_ms; do
        [ "$(cat "$file")" != 0 ] || fail "the restore ended before the queues ran: $file"
    done
    ! grep -q "Warn.*don't run" "$dir/restore.log" || fail "a restore that waited warns: $(grep Warn "$dir/restore.log")"
    still_works "the restore with late queues"
    dump_well images-2
    echo -1 >/sys/module/amdgpu_sim/parameters/resume_delay
    restore_well images-2 restore-2 --timeout 2
    echo 0 >/sys/module/amdgpu_sim/parameters/resume_delay
    [ "$(grep -c "Warn.*process $pid: its queues on GPU [0-9]* don't run 2 seconds after RESUME" "$dir/restore-2.log")" = 2 ] ||
        fail "the log doesn't tell which queues don't run: $(grep Warn "$dir/restore-2.log")"
    end_program
    restore_well images-2 restore-3
    still_works "the last restore"
    verify
}

# usage: parameter NAME VALUE: sets a parameter of the simulator while it is loaded
parameter() { echo "$2" >"/sys/module/amdgpu_sim/parameters/$1"; }

# RESUME's work fails at first, as it does without memory for pages of the process. The driver repeats it, and a restore
# waits for that. A driver that doesn't count stops must not make a restore wait for all of --timeout. A process without
# queues has none to wait for.
mode_resumed_oddly() {
    start
    dump_well images
    parameter resume_failures 300
    restore_well images restore
    parameter resume_failures 0
    ! grep -q "Warn.*don't run" "$dir/restore.log" || fail "a restore that waited warns: $(grep Warn "$dir/restore.log")"
    still_works "the restore with failed attempts"
    dump_well images-2
    parameter evicted_counts 0
    # The step's limit ends a restore that waits for so long.
    restore_well images-2 restore-2 --timeout 1000
    parameter evicted_counts 1
    if [ "$program" = kfd_bulk ]; then
        ! grep -q "Warn.*don't run\|Warn.*can't tell" "$dir/restore-2.log" ||
            fail "a restore without queues warns: $(grep Warn "$dir/restore-2.log")"
    else
        grep -q "Warn.*can't tell whether queues run" "$dir/restore-2.log" ||
            fail "the log doesn't tell that the driver counts nothing: $(grep Warn "$dir/restore-2.log")"
    fi
    still_works "the restore with a driver that doesn't count"
    verify
}

# A queue doesn't stop at a dump, so the driver resets the GPU. Later the GPU is reset while it copies contents. Both
# dumps fail and tell why.
mode_reset() {
    start
    echo 1 >$controls/hang
    dump images-hung --leave-running
    [ $code = 1 ] || fail "a dump of queues that don't stop ended with $code"
    grep -q "Error.*PROCESS_INFO.*reset" "$dir/dump-images-hung.log" ||
        fail "the log doesn't tell of the reset: $(errors "$dir/dump-images-hung.log")"
    end_program # its queues are lost
    rm -f "$dir/ready"
    start
    mkdir -p "$dir/images"
    echo >$controls/clear
    echo 1 >$controls/bandwidth
    # shellcheck disable=SC2046
    /bin/criu dump -t "$pid" -D "$dir/images" --gpu-buffer 256K -v4 -o "$dir/dump.log" \
        $(cat /guest/criu-arguments 2>/dev/null) </dev/null >"$dir/dump.log.out" 2>&1 &
    running=$!
    until_true 20 copies_or_gone $running || fail "the GPUs were not told to copy"
    echo 1 >$controls/reset
    wait $running
    code=$?
    echo 0 >$controls/bandwidth
    [ $code = 1 ] || fail "a dump whose GPU was reset ended with $code"
    grep -q "Error.*the GPU was reset" "$dir/dump.log" || fail "the log doesn't tell of the reset: $(errors "$dir/dump.log")"
    [ ! -e "$dir/images/inventory.img" ] || fail "there is an inventory after a failed dump"
    still_works "the dump that failed"
    verify
}

# Another program has taken the GPU's memory. A restore fails, tells what it needs, and leaves nothing.
mode_no_room() {
    reload_simulator vram_mb=64,64
    start
    dump_well images
    first=$pid
    dir=$dir/other
    mkdir -p "$dir"
    start
    other=$pid
    dir=${dir%/other}
    pid=$first
    restore images restore-full
    [ $code = 1 ] || fail "a restore without room ended with $code"
    grep -q "Error.*Cannot allocate memory.*the process had [0-9]* bytes of memory on GPU.*--gpu-map" \
        "$dir/restore-full.log" || fail "the log doesn't tell how much room the program needs: $(errors "$dir/restore-full.log")"
    gone "$pid" || fail "a failed restore left the program behind"
    kill -KILL "$other"
    until_true 10 gone "$other"
    restore_well images restore
    still_works "the restore"
    verify
}

# Requires images to name the driver, and a restore by the other kind of driver to fail before anything is made: AMD's
# driver and that of Linux have different records in their private data.
mode_drivers() {
    for parameters in dkms=0 dkms=1; do
        reload_simulator $parameters
        start
        dump_well "images-$parameters"
        reload_simulator dkms=$((1 - ${parameters#dkms=}))
        refused_restore "images-$parameters" "the compute state is of .*, and here is .*different forms"
        reload_simulator $parameters
        restore_well "images-$parameters" "restore-$parameters"
        still_works "the restore by $parameters"
        verify
        rm -f "$dir/ready" "$dir/alive"
    done
    grep -q "Error.*is of AMD's driver 6.16.13 on Linux .*, and here is the driver of Linux" "$dir/restore-refused.log" ||
        fail "the log doesn't name the drivers: $(errors "$dir/restore-refused.log")"
}

# A driver refuses private data of another version, and an XNACK mode that GPUs lack. The restore's error names both
# drivers' differences and what helps, and nothing is left.
mode_other_driver() {
    start
    dump_well images
    reload_simulator private_version=2 interface=608
    must_say private "private data has version 1 in the images and 2 here.*interface is 1.18, here it is 1.14.*restore with a kernel"
    ! grep -q "Stage: processes" "$dir/restore-private.log" || fail "criu made processes before it compared private data"
    reload_simulator xnack=0 interface=608
    must_say xnack "XNACK is on.*noretry=0"
    ! grep -q "Stage: processes" "$dir/restore-xnack.log" || fail "criu made processes before it noticed that XNACK is missing"
    grep -q "amdgpu: the images' interface is 1.18, here it is 1.14" "$dir/restore-xnack.log" ||
        fail "the log doesn't tell that the interface differs"
    reload_simulator
    restore_well images restore
    still_works "the restore"
    verify
}

# usage: must_say NAME PATTERN: requires a restore to fail with this error and to leave nothing
must_say() {
    restore images "restore-$1"
    [ $code = 1 ] || fail "a restore with another driver ended with $code"
    grep -q "Error.*$2" "$dir/restore-$1.log" || fail "the log doesn't tell the difference: $(errors "$dir/restore-$1.log")"
    gone "$pid" || fail "a failed restore left the program behind"
}

# AMD's driver joins memory that processes share by its handles when it restores them. criu must not import such memory
# again: it would lose the handle.
mode_dkms_shared() {
    reload_simulator dkms=1
    start
    shared=$(counted ipc)
    [ "$shared" = 2 ] || fail "$shared allocations have a handle, not 2"
    for turn in 1 2; do
        dump_well "images-$turn"
        restore_well "images-$turn" "restore-$turn"
        [ "$(counted ipc)" = "$shared" ] || fail "after restore $turn $(counted ipc) allocations have a handle, not $shared"
        still_works "restore $turn"
    done
    verify
}

# The GPUs have no rings for programs (amdgpu.user_queue=2): the processor copies where it can.
mode_no_rings() {
    reload_simulator kernel_rings=0
    start
    without_engine
}

# Dumps and restores the running program where no engine copies.
without_engine() {
    if [ "$program" = kfd_memory ]; then # has memory that the processor doesn't reach
        dump images --leave-running
        [ $code = 1 ] || fail "a dump without copy engines ended with $code"
        grep -q "Error.*copy engine can't be used.*nor the processor" "$dir/dump-images.log" ||
            fail "the log doesn't name the error: $(errors "$dir/dump-images.log")"
        echo >$controls/clear
        still_works "a dump without copy engines"
        verify
        return
    fi
    dump_well images
    grep -q "Warn.*copied by the processor" "$dir/dump-images.log" || fail "the log doesn't tell who copied"
    for option in --parallel --no-parallel; do
        restore_well images "restore$option" "$option"
        grep -q "Warn.*copied by the processor" "$dir/restore$option.log" || fail "the log doesn't tell who copied"
        [ $option = --no-parallel ] || end_program
    done
    echo >$controls/clear
    still_works "the restore"
    verify
}

# Fills buffers while processes are restored, and not at that time (--no-parallel).
mode_no_parallel() {
    start
    dump_well images
    restore_well images restore --no-parallel
    still_works "the restore"
    verify
}

# usage: both_engines_copied WHAT: requires copies by one context of each GPU since the last clear
both_engines_copied() {
    while read -r _ gpu _ _ _ _ _ _ _ _ _ _ _ contexts _ first second; do
        [ "$contexts" = 1 ] || fail "$1 had $contexts contexts of GPU $gpu at a time"
        [ "$first" -gt 0 ] && [ "$second" -gt 0 ] || fail "$1 gave the engines of GPU $gpu $first and $second copies"
    done <<end
$(grep "^gpu " $controls/state)
end
}

# Requires both copy engines of each GPU to copy, by one context. The link is slow, so one thread with its engine can't
# finish before the other begins.
mode_engines() {
    start
    echo 100 >$controls/bandwidth
    echo >$controls/clear
    dump_well images
    both_engines_copied "the dump"
    echo >$controls/clear
    restore_well images restore --parallel
    both_engines_copied "the restore"
    echo 0 >$controls/bandwidth
    still_works "the restore"
    verify
}

# usage: has_form FOLDER EXTENSIONS PAGES: requires the inventory to name these extensions. Contents must be in pages
# (1) or in files as of CRIU 4.2 (0).
has_form() {
    for extension in device-pages striped-pages compressed-pages; do
        case " $2 " in
            *" $extension "*) wanted=0 ;;
            *) wanted=1 ;;
        esac
        grep -q $extension "$dir/$1/inventory.img"
        [ $? = $wanted ] || fail "the inventory of $1 names $extension, or should"
    done
    [ "$(find "$dir/$1" -name 'pagemap-device-*' | wc -l)" -gt 0 ]
    [ $? = $((1 - $3)) ] || fail "contents of $1 aren't where they should be"
    [ "$(find "$dir/$1" -name 'amdgpu-*pages-*' | wc -l)" -gt 0 ]
    [ $? = "$3" ] || fail "there are files of another form in $1"
}

# usage: flip FILE OFFSET: changes a byte
flip() {
    byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    # shellcheck disable=SC2059
    printf "\\$(printf %o $(((byte + 1) % 256)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# Changes a byte of the largest pages file, which has contents of GPUs. usage: damage FOLDER
damage() {
    largest=$(ls -S "$dir/$1"/pages-*.img | head -n 1)
    flip "$largest" $(($(stat -c %s "$largest") / 8192 * 4096))
}

# Stores contents of GPUs as pages of memory are: striped, compressed, with checksums, or plain.
mode_stored() {
    start
    dump_well images-usual --leave-running
    has_form images-usual device-pages 1
    dump_well images-striped --leave-running --pages-files 3
    has_form images-striped "device-pages striped-pages" 1
    dump_well images --compress=lz4
    has_form images "device-pages compressed-pages" 1
    for folder in images-usual images-striped; do
        restore_well $folder restore-$folder
        still_works "the restore of $folder"
        end_program
    done
    restore_well images restore-compressed --no-parallel
    still_works "the restore by the processes themselves"
    # Checksums cover contents of GPUs: criu verify and a restore must find damage.
    dump_well images-checked --checksum
    criu_run verify verify "$dir/images-checked"
    [ $code = 0 ] || fail "verify ended with $code: $(errors "$dir/verify.log")"
    restore_well images-checked restore-checked
    still_works "the restore of images with checksums"
    end_program
    damage images-checked
    criu_run verify-damaged verify "$dir/images-checked"
    [ $code = 1 ] || fail "verify of a damaged buffer ended with $code"
    restore images-checked restore-damaged
    [ $code = 1 ] || fail "a restore of a damaged buffer ended with $code"
    gone "$pid" || fail "a restore of a damaged buffer left the program behind"
    # A restore must report missing images before it creates anything.
    mkdir "$dir/away"
    mv "$dir"/images/pagemap-device-1.img "$dir/away"
    restore images restore-without
    [ $code = 1 ] || fail "a restore without contents ended with $code"
    grep -q "Error.*the images have no pages of device memory 1" "$dir/restore-without.log" ||
        fail "the log doesn't name the missing image: $(errors "$dir/restore-without.log")"
    ! grep -q "Restoring process\|stage: processes" "$dir/restore-without.log" || fail "processes were made in vain"
    gone "$pid" || fail "a restore without contents left the program behind"
    mv "$dir"/away/* "$dir/images"
    restore_well images restore
    still_works "the restore"
    verify
}

keys=/guest/keys
both="--decrypt $keys/recipient.key --signed-by $keys/signer.pub"

# usage: refused_restore FOLDER PATTERN [OPTION]...: requires a restore to fail with this error before it creates
# anything or calls a driver
refused_restore() {
    from=$1
    said=$2
    shift 2
    echo >$controls/clear
    restore "$from" restore-refused "$@"
    [ $code = 1 ] || fail "a restore of $from with '$*' ended with $code"
    grep -q "Error.*$said" "$dir/restore-refused.log" ||
        fail "a restore of $from with '$*' says: $(errors "$dir/restore-refused.log")"
    ! hits | grep -q -e kfd.criu -e drm.gem_create || fail "a restore of $from that was refused began: $(hits | tr '\n' ' ')"
    gone "$pid" || fail "a restore of $from that was refused left the program behind"
}

# Changes the largest file of a kind, which has contents of GPUs, and sets $damaged to its name. usage: damage_one
# FOLDER KIND WAY
damage_one() {
    largest=$(ls -S "$dir/$1"/$2 | head -n 1)
    damaged=${largest##*/}
    size=$(stat -c %s "$largest")
    case $3 in
        removed) rm "$largest" ;;
        cut) truncate -s $((size - 1)) "$largest" ;;
        *) flip "$largest" $((size / 2)) ;;
    esac
}

# usage: contents_are_hidden FOLDER: requires only encrypted images, and images that describe the encryption
contents_are_hidden() {
    others=$(cd "$dir/$1" && find . -name '*.img' ! -name 'encrypted-*' ! -name encryption.img ! -name inventory.img ! -name signature.img)
    [ -z "$others" ] || fail "$1 has $others, which isn't encrypted"
    [ -e "$dir/$1/encrypted-1.img" ] || fail "$1 isn't encrypted"
}

# Encrypts and signs contents of GPUs. The owner of the key must get them by each kind of restore. A restore must notice
# any change before it creates anything.
mode_encrypted() {
    start
    dump_well images --encrypt $keys/stranger.pub --encrypt $keys/recipient.pub --sign $keys/signer.key
    contents_are_hidden images
    refused_restore images "are encrypted"
    refused_restore images "signer isn't the one that" --decrypt $keys/recipient.key --signed-by $keys/forger.pub
    for way in changed cut removed; do
        cp -a "$dir/images" "$dir/images-bad"
        damage_one images-bad 'encrypted-*.img' $way
        # shellcheck disable=SC2086
        refused_restore images-bad "$damaged" $both
        refused_restore images-bad "$damaged" --decrypt $keys/recipient.key
        rm -rf "$dir/images-bad"
    done
    # shellcheck disable=SC2086
    restore_well images restore-parallel $both --parallel
    still_works "the restore"
    end_program
    # shellcheck disable=SC2086
    restore_well images restore-sequential $both --no-parallel
    still_works "the restore by the processes themselves"
    dump_well images-compressed --encrypt $keys/recipient.pub --compress --checksum
    contents_are_hidden images-compressed
    restore_well images-compressed restore-compressed --decrypt $keys/recipient.key
    still_works "the restore of compressed images"
    verify
}

# Signs contents of GPUs without encryption.
mode_signed() {
    start
    dump_well images --sign $keys/signer.key --pages-files 3
    for way in changed cut removed; do
        cp -a "$dir/images" "$dir/images-bad"
        damage_one images-bad 'pages-*.img' $way
        refused_restore images-bad "$damaged" --signed-by $keys/signer.pub
        rm -rf "$dir/images-bad"
    done
    refused_restore images "signer isn't the one that" --signed-by $keys/forger.pub
    restore_well images restore --signed-by $keys/signer.pub
    still_works "the restore"
    verify
}

# Sends contents of GPUs through a stream with all other images.
mode_streamed() {
    start
    dump images --stream-to "$dir/stream"
    [ $code = 0 ] || fail "the dump into a stream ended with $code: $(errors "$dir/dump-images.log")"
    [ ! -e "$dir/images/inventory.img" ] || fail "a dump into a stream left images"
    until_true 10 gone "$pid" || fail "the program is still there after the dump"
    restore_well images restore --stream-from "$dir/stream"
    still_works "the restore from a stream"
    verify
}

# Makes a pre-dump, which must save only memory of the processes and not touch GPUs. The next dump must have all
# contents.
mode_pre_dumped() {
    start
    mkdir "$dir/before"
    echo >$controls/clear
    criu_run pre-dump pre-dump -t "$pid" -D "$dir/before"
    [ $code = 0 ] || fail "the pre-dump ended with $code: $(errors "$dir/pre-dump.log")"
    ! hits | grep -q kfd.criu || fail "a pre-dump stops queues: $(hits | tr '\n' ' ')"
    still_works "the pre-dump"
    dump_well images --prev-images-dir ../before --track-mem
    has_form images "" 0
    restore_well images restore
    still_works "the restore"
    verify
}

# Makes images that CRIU 4.2 reads: by --compat, and if other images build on them.
mode_compat() {
    start
    dump_well images-tracked --leave-running --track-mem
    has_form images-tracked "" 0
    dump_well images --compat 4.2
    has_form images "" 0
    restore_well images-tracked restore-tracked
    still_works "the restore of the dump that tracks memory"
    end_program
    restore_well images restore
    still_works "the restore"
    verify
}

# usage: traced NAME WHAT BYTES: requires the spans of a trace with this name to have these bytes in all
traced() {
    bytes=$(sed -n "s/.*\"name\":\"$2\".*\"bytes\":\([0-9]*\).*/\1/p" "$dir/$1.trace" | awk '{sum += $1} END {printf "%d", sum}')
    [ "$bytes" = "$3" ] || fail "the trace has $bytes bytes of '$2', not $3"
}

queue_bytes=$((16384 + 4096)) # of gpu/queue.hpp

# Requires images to have shared memory once: 2 MiB of each of two processes, and the memory of one queue of each.
mode_shared_contents() {
    start
    dump_well images --trace "$dir/dump.trace"
    traced dump "save device memory" $((4 * 1048576 + 2 * queue_bytes))
    restore_well images restore
    still_works "the restore"
    verify
}

# Requires a restore to create the file and the semaphore that all ROCm programs of a machine share, for all users. It
# must not change existing ones.
mode_runtime_files() {
    file=/dev/shm/hsakmt_shared_mem
    semaphore=/dev/shm/sem.hsakmt_semaphore
    printf 'ROCm and more' >$file
    truncate -s 8192 $file
    start
    dump_well images
    for way in gone there; do
        if [ $way = gone ]; then
            rm -f $file $semaphore
        else
            printf 'here' >$file
        fi
        restore_well images "restore-$way"
        still_works "the restore where the files were $way"
        end_program
        [ "$(stat -c %a:%s $file)" = 666:8192 ] || [ $way = there ] || fail "$file is $(stat -c %a:%s $file)"
        [ "$(head -c 4 $file)" = "$([ $way = gone ] && echo ROCm || echo here)" ] || fail "$file begins with $(head -c 4 $file)"
        [ "$(stat -c %a $semaphore)" = 666 ] || fail "$semaphore has mode $(stat -c %a $semaphore)"
    done
    restore_well images restore
    verify
    rm -f $file $semaphore
}

# Requires the progress line and the trace to include contents: 100 MiB over a slow link.
mode_watched() {
    start
    dump_well images-usual --leave-running
    echo 40 >$controls/bandwidth
    mkdir "$dir/images"
    for way in dump --parallel --no-parallel; do
        case $way in
            dump) said=Dumping command="dump -t $pid" ;;
            *) said=Restoring command="restore -d $way" ;;
        esac
        timeout $limit script -q -c "criu $command -D $dir/images -v2 --trace $dir/$way.trace" "$dir/$way.terminal" \
            </dev/null >/dev/null 2>&1
        grep -q "$said: [1-9][0-9.]* of 10[0-9.]* MiB ([0-9]* %), [0-9.]* MiB/s, [0-9]* s left" "$dir/$way.terminal" ||
            fail "$way: the terminal says: $(tr '\r' '\n' <"$dir/$way.terminal" | tail -n 3)"
        [ $way != --parallel ] || end_program
    done
    echo 0 >$controls/bandwidth
    traced dump "save device memory" 104857600
    traced --parallel "load device memory" 104857600
    traced --no-parallel "load device memory" 104857600
    still_works "the restore"
    verify
}

# Copies buffers much larger than the copy limit.
mode_small_buffer() {
    start
    dump_well images --gpu-buffer 64K
    restore_well images restore --gpu-buffer 4K
    still_works "the restore"
    verify
}

# usage: took_bounce WHAT LEAST MOST: requires buffers in system memory to have had so many MiB since the last clear
took_bounce() {
    took=$(awk '/^system_peak/ {print int($2 / 1048576)}' $controls/state)
    [ "$took" -ge "$2" ] && [ "$took" -le "$3" ] || fail "$1 copied through $took MiB, not $2 to $3"
}

# Copies with an unlimited bounce buffer (KFD_MAX_BUFFER_SIZE=0), which is as large as the GPU buffer of 64 MiB. The
# default is 4 MiB for a thread. Commands come on top.
mode_unlimited_buffer() {
    start
    echo >$controls/clear
    dump_well images-usual --leave-running
    took_bounce "a dump" 4 5
    export KFD_MAX_BUFFER_SIZE=0
    echo >$controls/clear
    dump_well images
    took_bounce "a dump without a limit" 64 65
    restore_well images restore
    still_works "the restore"
    verify
}

# Uses GPUs whose copy packets contain bytes, not bytes - 1.
mode_old_family() {
    reload_simulator family=130
    mode_once
}

# Sets $one and $two to the ids of the first and the last GPU.
map_crosswise() {
    ids=$(cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id | grep -v '^0$')
    one=${ids%%
*}
    two=${ids##*
}
}

# Restores with --gpu-map on the other GPU.
mode_mapped() {
    start
    map_crosswise
    dump_well images
    restore_well images restore --gpu-map "$one=$two" --gpu-map "$two=$one"
    still_works "the restore"
    dump_well images-2
    restore_well images-2 restore-2
    still_works "the second restore"
    verify
}

# Restores without checks that the user may switch off.
mode_unchecked() {
    start
    dump_well images
    must_not_fit fw_version=60,60
    restore_well images restore --no-gpu-fw-check
    still_works "the restore"
    dump_well images
    must_not_fit vram_mb=2048,2048
    restore_well images restore --no-gpu-vram-check
    still_works "the second restore"
    verify
}

# Requires linked GPUs to be linked at the restore, too.
mode_linked() {
    reload_simulator xgmi=1
    start
    dump_well images
    must_not_fit xgmi=0
    reload_simulator xgmi=1 swapped=1
    restore_well images restore
    still_works "the restore"
    verify
}

# Restores where no GPU fits: requires an error, and that nothing is left. usage: must_not_fit PARAMETER...
must_not_fit() {
    reload_simulator "$@"
    restore images restore-unfit
    [ $code != 0 ] || fail "a restore succeeded with $*"
    [ "$code" -lt 124 ] || fail "a restore with $* ended with $code"
    grep -q Error "$dir/restore-unfit.log" || fail "a restore with $* failed without an error in its log"
    gone "$pid" || fail "a failed restore with $* left the program behind"
}

mode_unfit() {
    start
    dump_well images
    must_not_fit gpus=1
    must_not_fit vram_visible=0
    must_not_fit vram_mb=16,4096
    must_not_fit fw_version=68,67
    must_not_fit sdma_fw_version=7,8
    must_not_fit device_id=29704,1
    must_not_fit simd_count=416,208
    unload_simulator || fail "the simulator is still in use"
    restore images restore-none
    [ $code != 0 ] || fail "a restore without any GPU succeeded"
    load_simulator
    # Newer firmware is accepted.
    reload_simulator fw_version=69,70
    restore_well images restore
    verify
}

hits() { sed 's/ .*//' $controls/hits; }

# Makes each ioctl of a dump fail once. Either the dump fails and the program continues, or the images are valid.
mode_dump_faults() {
    start
    echo >$controls/clear
    dump_well images --leave-running
    points=$(hits | grep -v -e kfd.wait_events)
    [ -n "$points" ] || fail "the dump asked the driver nothing"
    good=
    for point in $points; do
        echo >$controls/clear
        echo "$point 1 5" >$controls/fault
        dump "images-$point" --leave-running
        [ $code -lt 124 ] || fail "with an error of $point the dump ended with $code"
        still_works "a dump with an error of $point (exit status $code)"
        if [ $code = 0 ]; then
            good="$good $point"
        else
            rm -rf "$dir/images-$point"
        fi
    done
    echo >$controls/clear
    dump_well images-last
    for point in $good; do
        echo "an error of $point did not keep the dump from succeeding"
        restore_well "images-$point" "restore-$point"
        still_works "the restore of a dump with an error of $point"
        end_program
    done
    restore_well images-last restore-last
    verify
}

# Makes each ioctl of a restore fail once. Either the restore fails and leaves nothing, or the state is correct.
mode_restore_faults() {
    start
    dump_well images
    echo >$controls/clear
    restore_well images restore
    points=$(hits | grep -v -e kfd.wait_events)
    [ -n "$points" ] || fail "the restore asked the driver nothing"
    end_program
    for point in $points; do
        echo >$controls/clear
        echo "$point 1 5" >$controls/fault
        restore images "restore-$point"
        [ "$code" -lt 124 ] || fail "with an error of $point the restore ended with $code"
        if [ $code = 0 ]; then
            echo >$controls/clear
            verify_and_restart "$point" && continue
        fi
        gone "$pid" || fail "a restore that failed by $point left the program behind"
    done
    echo >$controls/clear
    fails_in_copy
    restore_well images restore-last
    verify
}

# Makes a process fail while GPUs copy contents into its buffers. The copies must end before criu frees memory that they
# use.
fails_in_copy() {
    echo 1 >$controls/bandwidth
    echo "kfd.get_version 1 5" >$controls/fault
    restore images restore-copying
    echo 0 >$controls/bandwidth
    echo >$controls/clear
    [ $code = 1 ] || fail "a restore that failed while the GPUs copied ended with $code"
    grep -q "Error.*ask the compute driver for its version" "$dir/restore-copying.log" ||
        fail "the log of a restore that failed in a copy says: $(errors "$dir/restore-copying.log")"
    gone "$pid" || fail "a restore that failed while the GPUs copied left the program behind"
}

# Makes queues fail to start again. A dump that leaves the program in this state must fail and must leave no valid
# images. Fewer failures than criu's retries have no effect.
mode_stuck_queues() {
    start
    for option in --leave-running --leave-stopped; do
        echo "kfd.criu.unpause 2 5 3" >$controls/fault
        dump images-stuck "$option"
        [ $code = 1 ] || fail "a dump with $option whose queues can't be started again ended with $code"
        grep -q "Error.*process $pid stays without its GPU queues.*UNPAUSE" "$dir/dump-images-stuck.log" ||
            fail "the log doesn't name the error: $(errors "$dir/dump-images-stuck.log")"
        [ ! -e "$dir/images-stuck/inventory.img" ] || fail "there is an inventory after a failed dump"
        grep -q "^State:.S" "/proc/$pid/status" || fail "the program doesn't run after the failed dump"
        # the message recommends this
        dump_well images-again --leave-running
        still_works "the next dump"
    done
    # The dump fails by another error, and then queues fail to start.
    echo "kfd.criu.checkpoint 1 12" >$controls/fault
    echo "kfd.criu.unpause 2 5 3" >$controls/fault
    dump images-stuck --leave-running
    [ $code = 1 ] || fail "a dump with two failures ended with $code"
    grep -q "Error.*CHECKPOINT" "$dir/dump-images-stuck.log" || fail "the log doesn't tell the first failure"
    grep -q "Error.*stays without its GPU queues" "$dir/dump-images-stuck.log" ||
        fail "the log doesn't tell the second failure"
    echo "kfd.criu.unpause 2 5 2" >$controls/fault
    dump_well images-again --leave-running
    still_works "a dump that had to try again"
    # A dump that kills the program doesn't start its queues.
    echo "kfd.criu.unpause 2 5 3" >$controls/fault
    dump_well images
    echo >$controls/clear
    restore_well images restore
    still_works "the restore"
    verify
}

# Checks every byte after a restore that has survived an error. The images restore the program for the next turn.
verify_and_restart() {
    echo "an error of $1 did not keep the restore from succeeding"
    still_works "a restore with an error of $1"
    verify
}

# Ends criu at each point that it passes, alternately by SIGTERM and SIGKILL. The program must not notice.
mode_interrupted() {
    start
    echo >$controls/clear
    dump_well images-first --leave-running
    points=$(hits | grep -v -e kfd.wait_events)
    signal=KILL
    for point in $points; do
        [ $signal = KILL ] && signal=TERM || signal=KILL
        echo >$controls/clear
        echo "$point 1 400" >$controls/delay
        mkdir -p "$dir/images-broken"
        # shellcheck disable=SC2046
        /bin/criu dump -t "$pid" -D "$dir/images-broken" -v4 -o "$dir/broken.log" \
            $(cat /guest/criu-arguments 2>/dev/null) </dev/null >"$dir/broken.log.out" 2>&1 &
        dumping=$!
        until_true 20 passed_or_gone "$point" $dumping || fail "the dump did not come to $point"
        kill -$signal $dumping 2>/dev/null
        if wait $dumping; then
            # The signal came after the dump was complete, so the images must be valid.
            restore_well images-broken "restore-after-$point"
        fi
        still_works "SIG$signal at $point"
        rm -rf "$dir/images-broken"
    done
    echo >$controls/clear
    dump_well images
    restore_well images restore
    still_works "the restore"
    verify
}

# usage: end_in_copy SIGNAL NAME ARGUMENTS...: runs criu and ends it during a long copy; sets $code
end_in_copy() {
    signal=$1
    name=$2
    shift 2
    echo >$controls/clear
    echo 1 >$controls/bandwidth
    # shellcheck disable=SC2046
    /bin/criu "$@" --gpu-buffer 256K -v4 -o "$dir/$name.log" $(cat /guest/criu-arguments 2>/dev/null) \
        </dev/null >"$dir/$name.log.out" 2>&1 &
    running=$!
    until_true 20 copies_or_gone $running || fail "$name: the GPUs were not told to copy"
    gone $running && fail "$name: criu was done before it could be ended"
    kill -"$signal" $running
    until_true 3 gone $running || fail "$name: criu went on in spite of SIG$signal"
    wait $running
    code=$?
    echo 0 >$controls/bandwidth
    [ $code = 1 ] || fail "$name ended with $code"
    grep -q "Error.*stopped by SIG" "$dir/$name.log" || fail "$name: $(errors "$dir/$name.log")"
}

copies_or_gone() { [ "$(sed -n 's/^drm.cs //p' $controls/hits)0" -ge 40 ] || gone "$1"; }

# Requires criu to notice a signal during a copy of contents, not only before and after it.
mode_ended_copy() {
    start
    mkdir -p "$dir/images"
    for way in TERM HUP; do # a shell starts its background commands without SIGINT
        end_in_copy $way "dump-$way" dump -t "$pid" -D "$dir/images"
        [ ! -e "$dir/images/inventory.img" ] || fail "there is an inventory after a failed dump"
        still_works "SIG$way in a copy"
    done
    dump_well images
    for option in --parallel --no-parallel; do
        end_in_copy TERM "restore$option" restore -d -D "$dir/images" $option
        gone "$pid" || fail "a failed restore left the program behind"
    done
    restore_well images restore
    still_works "the restore"
    verify
}

passed_or_gone() { grep -q "^$1 " $controls/hits || gone "$2"; }

# Uses the distribution's driver without hardware: criu must work without a GPU.
mode_real_driver() {
    unload_simulator || fail "the simulator is still in use"
    while read -r module; do
        loaded "$(echo "${module%.ko}" | tr - _)" || insmod "/modules/$module" || fail "module $module can't be loaded"
    done </modules/amdgpu
    until_true 10 test -e /dev/kfd || fail "there is no /dev/kfd"
    /programs/no_gpu_check "$dir" >"$dir/check" 2>&1 || fail "$(tail -n 3 "$dir/check")"
    asked amdgpu 1 "amdgpu is not supported"
    missing_in_all ""
    mode_once
}

# usage: asked FEATURE STATUS LINES: checks the output of `criu check --feature`, without the reason behind it
asked() {
    said=$(/bin/criu check --feature "$1" 2>>"$dir/check.err")
    code=$?
    said=$(echo "$said" | grep -v '^  ')
    [ $code = "$2" ] || fail "check --feature $1 ended with $code"
    [ "$said" = "$3" ] || fail "check --feature $1 said: $said"
}

# usage: missing_in_all FEATURES: requires these GPU features to be missing in `criu check --all`
missing_in_all() {
    /bin/criu check --all -v4 >"$dir/check-all" 2>&1
    code=$?
    said=$(sed -n 's/.*Warn.*feature \(amdgpu[a-z_]*\) is missing.*/\1/p' "$dir/check-all" | tr '\n' ' ')
    [ "$said" = "$1" ] || fail "check --all misses '$said', not '$1'"
    [ -z "$1" ] || [ $code = 1 ] || fail "check --all with something missing ended with $code"
}

# Checks the output of `criu check` for a complete driver and for parts of it.
mode_check() {
    reload_simulator change_handle=1
    whole="amdgpu is supported
amdgpu_list_handles is supported
amdgpu_mapping_info is supported
amdgpu_change_handle is supported
amdgpu_dmabuf is supported
amdgpu_svm is supported"
    asked amdgpu 0 "$whole"
    missing_in_all ""
    for case in list_handles:drm.gem_list_handles mapping_info:drm.gem_op change_handle:drm.gem_change_handle \
        dmabuf:drm.prime_handle_to_fd; do
        echo "${case#*:} 1 22 1000" >$controls/fault
        asked "amdgpu_${case%:*}" 1 "amdgpu_${case%:*} is not supported"
        asked amdgpu 0 "$(echo "$whole" | sed "s/\(amdgpu_${case%:*} is\)/\1 not/")"
        missing_in_all "amdgpu_${case%:*} "
        echo >$controls/clear
    done
    reload_simulator change_handle=1 capability=0
    asked amdgpu_svm 1 "amdgpu_svm is not supported"
    echo "kfd.get_version 1 22 1000" >$controls/fault
    asked amdgpu 1 "amdgpu is not supported"
    missing_in_all "amdgpu amdgpu_svm "
    echo >$controls/clear
    unload_simulator || fail "the simulator is still in use"
    asked amdgpu 1 "amdgpu is not supported"
    asked amdgpu_dmabuf 1 "amdgpu_dmabuf is not supported"
    missing_in_all ""
    load_simulator
}

# Uses no driver at all.
mode_no_driver() {
    unload_simulator || fail "the simulator is still in use"
    mode_once
}

# Runs one case in a subshell, so that `fail` ends only this case.
run_case() {
    mode=$1
    program=$2
    shift 2
    arguments=$*
    parameters=
    dir=/work/$mode-$program
    rm -rf "$dir" # of other arguments, with --keep
    mkdir -p "$dir"
    loaded amdgpu_sim || loaded amdgpu || load_simulator || echo "the simulator can't be loaded" >"$dir/why"
    "mode_$mode"
}

run_cases() {
    while read -r mode program rest; do
        began=$(cut -d' ' -f1 /proc/uptime)
        # shellcheck disable=SC2086
        (run_case "$mode" "$program" $rest) >/work/said 2>&1 </dev/null
        status=$?
        dir=/work/$mode-$program
        # Ends processes that a failed case has left.
        for folder in /proc/[0-9]*; do
            case $(readlink "$folder/exe") in
                /programs/* | /bin/criu) kill -KILL "${folder#/proc/}" ;;
            esac
        done
        [ ! -e $controls/clear ] || echo >$controls/clear
        no_cuda
        if [ $status = 0 ] && loaded amdgpu_sim && ! unload_simulator; then
            status=1
            echo "the driver is still in use after the end: $(tr '\n' ' ' <$controls/state)" >"$dir/why"
        fi
        if [ $status = 0 ] && dmesg | grep -E -q 'BUG:|WARNING:|Oops|general protection|possible circular'; then
            status=1
            echo "the kernel complains, see dmesg" >"$dir/why"
        fi
        dmesg -c >"$dir/dmesg"
        mv /work/said "$dir/said"
        seconds=$(echo "$began $(cut -d' ' -f1 /proc/uptime)" | awk '{printf "%.1f", $2 - $1}')
        if [ $status = 0 ]; then
            echo "::passed $mode:$program $seconds s"
            [ -e /guest/keep ] || rm -rf "$dir"
        else
            echo "::failed $mode:$program $(tail -n 1 "$dir/why" 2>/dev/null || echo "ended with $status")"
        fi
    done </guest/cases
}
