# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Variables are those of modes.sh.
# shellcheck disable=SC2034,SC2154
# Restore of GPU memory, measured: how much is won by filling buffers while processes are restored, and by filling those
# of two GPUs at the same time. Runs in the virtual machine; figures are lines "::figure NAME VALUE".
. /guest/modes.sh

turns=${TURNS:-3}
scale=${SCALE:-1} # sizes and bandwidths are divided by it
bandwidth=0
limit=200

# Memory in large pieces, as on hardware: otherwise most of the time goes into single pages.
echo always >/sys/kernel/mm/transparent_hugepage/shmem_enabled
mount -o remount,huge=always,size=$((4500 / scale))m /work
# The first use of the machine's memory, which the host has to find, takes several times as long as the next.
dd if=/dev/zero of=/work/warm bs=1M count=$((4400 / scale)) 2>/dev/null
rm /work/warm

figure() { echo "::figure $*"; }

now() { awk '{printf "%d", $1 * 1000}' /proc/uptime; } # ms; the kernel counts in steps of 10

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

# usage: rounds OPTION: medians of $turns restores
rounds() {
    all_took=
    all_filled=
    all_peak=
    for turn in $(seq $turns); do
        timed "restore$1-$turn" "$1"
        all_took="$all_took $took"
        all_filled="$all_filled ${filled:-0}"
        all_peak="$all_peak $peak"
    done
    # shellcheck disable=SC2086
    {
        took=$(median $all_took)
        filled=$(median $all_filled)
        peak=$(median $all_peak)
    }
}

# Sets $rest: what a restore takes besides contents, in the clock's steps.
without_contents() {
    rest=$((took - filled))
    [ $rest -ge 10 ] || rest=10
}

at_least_1() {
    if [ "$1" -ge 1 ]; then echo "$1"; else echo 1; fi
}

# usage: compare PROCESSES GPUS MIB_PER_GPU MIB_OF_OWN: parallel beside sequential, contents taking as long as the rest
compare() {
    with "$1" 1 1 "$4"
    rounds --parallel
    small_peak=$peak
    rm -rf "$dir"
    figure "restore of $1 processes without GPU memory: ms" "$took"
    with "$@"
    # MiB in all on each GPU, of two, when processes take turns.
    per_gpu=$(($1 * $2 * $3 / 2))
    rounds --no-parallel
    without_contents
    figure "sequential, GPUs as fast as the simulation: ms" "$took"
    figure "sequential, without contents: ms" "$rest"
    bandwidth=$(at_least_1 $((per_gpu * 1000 / rest)))
    figure "bandwidth of each GPU, so that contents take as long: MiB/s" "$bandwidth"
    rounds --no-parallel
    sequential=$took
    figure "sequential: ms" "$took"
    figure "sequential, of that in contents: ms" "$filled"
    rounds --parallel
    figure "parallel: ms" "$took"
    figure "parallel, contents: ms" "$filled"
    figure "criu's peak beyond that without GPU memory: KiB" $((peak - small_peak))
    figure "bounce buffers and commands in system memory: KiB" "$bounce"
    figure "parallel saves: %" "$(echo "$sequential $took" | awk '{printf "%.1f", 100 * ($1 - $2) / $1}')"
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

# Of the full size, all that simulated engines do is done by the two processors that criu restores with: more than what
# is measured. With an eighth of the buffers and an eighth of the bandwidth contents take the same time, and the
# processors are about as free as with GPUs that copy by themselves.
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

# usage: one_of_matrix PROCESSES GPUS: what --parallel saves, with 64 MiB on each GPU and 256 MiB of memory in all
one_of_matrix() {
    reload_simulator gpus=4
    with "$1" "$2" $((64 / scale / $1)) $((256 / scale / $1))
    bandwidth=0
    rounds --no-parallel
    without_contents
    bandwidth=$(at_least_1 $((64 / scale * 1000 / rest))) # contents of a GPU take as long as all the rest
    rounds --no-parallel
    sequential=$took
    rounds --parallel
    figure "$1 processes, $2 GPUs: sequential ms, parallel ms, saved %:" "$sequential" "$took" \
        "$(echo "$sequential $took" | awk '{printf "%.1f", 100 * ($1 - $2) / $1}')"
    rm -rf "$dir"
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

bench() {
    bench_scaled
    bench_matrix
    bench_several
    bench_full
}
