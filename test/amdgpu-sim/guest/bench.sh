# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Variables are those of modes.sh.
# shellcheck disable=SC2034,SC2154
# Restore of GPU memory, measured: how much is won by filling buffers while processes are restored, and by filling those
# of two GPUs at the same time. Runs in the virtual machine; figures are lines "::figure NAME VALUE".
. /guest/modes.sh

turns=${TURNS:-5}
scale=${SCALE:-1} # sizes and bandwidths are divided by it
bandwidth=0
limit=200

# Memory in large pieces, as on hardware: otherwise most of the time goes into single pages.
echo always >/sys/kernel/mm/transparent_hugepage/shmem_enabled
room=${ROOM:-4500} # MiB for images
mount -o remount,huge=always,size=$((room / scale))m /work
# The first use of the machine's memory, which the host has to find, takes several times as long as the next.
dd if=/dev/zero of=/work/warm bs=1M count=$(((room - 100) / scale)) 2>/dev/null
rm /work/warm
# The emulator translates code when it is first executed at an address, which takes much longer than executing it: with
# random addresses that was most of criu's start, and of what a process does at the end of its restore. Where addresses
# stay, it is done once, in a restore that isn't measured.
echo 0 >/proc/sys/kernel/randomize_va_space

figure() { echo "::figure $*"; }

now() { awk '/^now at/ {printf "%d", $3 / 1000000; exit}' /proc/timer_list; } # ms

# The middle one of numbers.
median() { printf '%s\n' "$@" | sort -n | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'; }

# usage: with PROCESSES GPUS MIB_PER_GPU MIB_OF_OWN: has images of such a tree
with() {
    arguments=$*
    dir="/work/bench-$(echo "$*" | tr ' ' -)"
    program=kfd_bulk
    mkdir -p "$dir"
    start
    echo 1 >/sys/module/amdgpu_sim/parameters/keep_vram
    began=$(now)
    dump_well images
    figure "dump of $1 processes with $2 x $3 MiB and $4 MiB of their own: ms" $(($(now) - began))
    until_true 20 gone "$pid" || fail "the program is still there after the dump"
    cat "$dir"/images/* >/dev/null # from now on in the page cache
}

# usage: timed NAME OPTION: restores, ends the tree; sets $took (ms), $filled (ms that contents took), $peak
# and $bounce (KiB: criu's memory, and beside it that of buffers in system memory, of which the program has none)
timed() {
    name=$1
    shift
    echo >$controls/clear
    echo "$bandwidth" >$controls/bandwidth
    began=$(now)
    # shellcheck disable=SC2046
    busybox time -v -o "$dir/$name.time" /bin/criu restore -d -D "$dir/images" -v4 -o "$dir/$name.log" "$@" \
        </dev/null >"$dir/$name.log.out" 2>&1 || fail "restore failed: $(errors "$dir/$name.log")"
    took=$(($(now) - began))
    filled=$(sed -n 's/.*of device memory restored in \([0-9]*\) ms.*/\1/p' "$dir/$name.log" | sort -n | tail -n 1)
    peak=$(sed -n 's/.*Maximum resident set size.*: //p' "$dir/$name.time")
    echo 0 >$controls/bandwidth # the program is checked as fast as it goes
    bounce=$(awk '/^system_peak/ {print int($2 / 1024)}' $controls/state)
    verify
}

all_took=
all_filled=
all_peak=

# usage: measured NAME OPTION: a restore that counts in the next medians()
measured() {
    timed "$1" "$2"
    all_took="$all_took $took"
    all_filled="$all_filled ${filled:-0}"
    all_peak="$all_peak $peak"
}

# Sets $took, $filled and $peak to medians of what was measured since the last call.
medians() {
    # shellcheck disable=SC2086
    {
        took=$(median $all_took)
        filled=$(median $all_filled)
        peak=$(median $all_peak)
    }
    all_took=
    all_filled=
    all_peak=
}

# usage: rounds OPTION: medians of $turns restores, after one that isn't measured
rounds() {
    timed "restore$1-0" "$1"
    for turn in $(seq $turns); do
        measured "restore$1-$turn" "$1"
    done
    medians
}

# usage: rest_of PROCESSES GPUS MIB_OF_OWN: sets $rest, what a restore takes besides contents: that of a tree with the
# same buffers, but of 1 MiB, from GPUs as fast as the simulation. It can't be had by subtracting what contents took:
# processes that fill their own buffers do so beside each other's restore.
rest_of() {
    bandwidth=0
    with "$1" "$2" 1 "$3"
    rounds --parallel
    rest=$took
    small_peak=$peak
    rm -rf "$dir"
}

# Sequential and parallel restores in turn: sets $sequential, $parallel, $filled (of the parallel ones), $peak to medians.
both() {
    all_sequential=
    timed restore-0 --no-parallel
    timed restore-0 --parallel
    for turn in $(seq $turns); do
        timed "restore-$turn" --no-parallel
        all_sequential="$all_sequential $took"
        measured "restore-parallel-$turn" --parallel
    done
    # shellcheck disable=SC2086
    sequential=$(median $all_sequential)
    medians
    parallel=$took
    saved=$(echo "$sequential $parallel" | awk '{printf "%.1f", 100 * ($1 - $2) / $1}')
}

at_least_1() {
    if [ "$1" -ge 1 ]; then echo "$1"; else echo 1; fi
}

# usage: compare PROCESSES GPUS MIB_PER_GPU MIB_OF_OWN: parallel beside sequential, contents taking as long as the rest
compare() {
    rest_of "$1" "$2" "$4"
    figure "without contents: ms" "$rest"
    with "$@"
    # MiB in all on each GPU, of two, when processes take turns.
    per_gpu=$(($1 * $2 * $3 / 2))
    bandwidth=$(at_least_1 $((per_gpu * 1000 / rest)))
    figure "bandwidth of each GPU, so that contents take as long: MiB/s" "$bandwidth"
    both
    figure "sequential: ms" "$sequential"
    figure "parallel: ms" "$parallel"
    figure "parallel, contents: ms" "$filled"
    figure "criu's peak beyond that with small buffers: KiB" $((peak - small_peak))
    figure "bounce buffers and commands in system memory: KiB" "$bounce"
    figure "parallel saves: %" "$saved"
    rm -rf "$dir"
    bandwidth=0
}

# usage: bench_together MIB: contents of two GPUs at the same time beside those of one
bench_together() {
    echo "::begin two GPUs at the same time"
    with 1 1 "$1" 1
    bandwidth=$(at_least_1 $(($1 / 5)))
    rounds --parallel
    single=$filled
    figure "contents of one GPU: ms" "$single"
    rm -rf "$dir"
    bandwidth=0
    with 1 2 "$1" 1
    bandwidth=$(at_least_1 $(($1 / 5)))
    rounds --parallel
    figure "contents of two GPUs: ms" "$filled"
    figure "two GPUs beside one after the other" "$(echo "$filled $single" | awk '{printf "%.2f", $1 / (2 * $2)}')"
    rm -rf "$dir"
    bandwidth=0
}

# Of the full size, all that simulated engines do is done by the two processors that criu restores with: they need longer
# for contents than the rest takes, whatever the bandwidth is, and what they are busy with can't be done beside anything
# else. With an eighth of the buffers and an eighth of the bandwidth contents take the same time, and the processors are
# about as free as with GPUs that copy by themselves; so they are with more of the rest (bench_large).
bench_full() {
    echo "::begin one process with two GPUs"
    compare 1 2 $((512 / scale)) $((512 / scale))
    bench_together $((512 / scale))
}

bench_scaled() {
    echo "::begin one process with two GPUs, an eighth of buffers and bandwidth"
    compare 1 2 $((64 / scale)) $((512 / scale))
    echo "::begin four processes, one GPU each, two GPUs in all, likewise"
    compare 4 1 $((32 / scale)) $((128 / scale))
    bench_together $((64 / scale))
}

# usage: one_of_matrix PROCESSES GPUS: what --parallel saves. Each process has buffers on each GPU. In all there are 64 MiB
# of contents and 512 MiB of memory: contents are little because it is processors that copy for simulated engines, and
# take as long as everything else by the bandwidth that is left to them.
one_of_matrix() {
    reload_simulator "gpus=$2"
    own=$((512 / scale / $1))
    share=$(at_least_1 $((64 / scale / $1 / $2)))
    rest_of "$1" "$2" $own
    reload_simulator "gpus=$2"
    with "$1" "$2" "$share" $own
    bandwidth=$(at_least_1 $(($1 * share * 1000 / rest)))
    both
    figure "$1 processes, $2 GPUs: without contents ms, sequential ms, parallel ms, saved %:" "$rest" "$sequential" \
        "$parallel" "$saved"
    rm -rf "$dir"
    bandwidth=0
}

bench_matrix() {
    for processes in 1 2 4 8; do
        for gpus in 1 2 4; do
            one_of_matrix $processes $gpus
        done
    done
}

# The restore of one process with n GPUs beside that with one GPU that holds an nth of it, the bandwidth being the limit.
bench_several() {
    single=0
    for gpus in 1 2 4; do
        reload_simulator gpus=4
        with 1 $gpus $((64 / scale)) 16
        bandwidth=$((16 / scale))
        rounds --parallel
        [ $gpus != 1 ] || single=$took
        figure "$gpus GPUs with $((64 / scale)) MiB each: ms, times one GPU:" "$took" "$(echo "$took $single" | awk '{printf "%.2f", $1 / $2}')"
        rm -rf "$dir"
    done
    bandwidth=0
}

# The same contents, and four times as much memory: the rest takes longer than the processors need for contents.
bench_large() {
    echo "::begin one process with two GPUs, much memory"
    compare 1 2 $((512 / scale)) $((4096 / scale))
}

bench() {
    bench_scaled
    bench_matrix
    bench_several
    bench_full
}
