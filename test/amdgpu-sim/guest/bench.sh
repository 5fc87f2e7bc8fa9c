# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# The variables are those of modes.sh.
# shellcheck disable=SC2034,SC2154
# Measures restores of GPU memory: the gain of filling buffers while processes are restored, and of filling two GPUs at
# once. Runs in the virtual machine. Results are lines "::figure NAME VALUE".
. /guest/modes.sh

turns=${TURNS:-5}
scale=${SCALE:-1} # sizes and bandwidths are divided by it
bandwidth=0
limit=200

# Uses huge pages, as hardware has them. Otherwise single pages take most of the time.
echo always >/sys/kernel/mm/transparent_hugepage/shmem_enabled
room=${ROOM:-4500} # MiB for images
mount -o remount,huge=always,size=$((room / scale))m /work
# The host allocates the machine's memory at its first use, which takes several times as long as later uses.
dd if=/dev/zero of=/work/warm bs=1M count=$(((room - 100) / scale)) 2>/dev/null
rm /work/warm
# The emulator translates code at its first execution at an address, which takes much longer than the execution. With
# random addresses that would dominate criu's start and the end of a restore. With fixed addresses it happens once, in a
# restore that isn't measured.
echo 0 >/proc/sys/kernel/randomize_va_space

figure() { echo "::figure $*"; }

now() { awk '/^now at/ {printf "%d", $3 / 1000000; exit}' /proc/timer_list; } # ms

# Prints the median of numbers.
median() { printf '%s\n' "$@" | sort -n | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'; }

# usage: with PROCESSES GPUS MIB_PER_GPU MIB_OF_OWN: makes images of such a tree
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

# usage: timed NAME OPTION: restores and ends the tree. Sets $took (ms), $filled (ms for contents), $peak (KiB of criu's
# memory) and $bounce (KiB of buffers in system memory; the program has none).
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

# usage: measured NAME OPTION: restores; the result counts in the next medians()
measured() {
    timed "$1" "$2"
    all_took="$all_took $took"
    all_filled="$all_filled ${filled:-0}"
    all_peak="$all_peak $peak"
}

# Sets $took, $filled and $peak to the medians since the last call.
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

# usage: rest_of PROCESSES GPUS MIB_OF_OWN: sets $rest to the time of a restore without contents. It measures a tree
# with as many buffers, each of 1 MiB, and unlimited bandwidth. A subtraction of $filled would be wrong: processes fill
# their buffers while others are restored.
rest_of() {
    bandwidth=0
    with "$1" "$2" 1 "$3"
    rounds --parallel
    rest=$took
    small_peak=$peak
    rm -rf "$dir"
}

# Alternates sequential and parallel restores. Sets $sequential, $parallel, $filled (parallel) and $peak to medians.
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

# usage: compare PROCESSES GPUS MIB_PER_GPU MIB_OF_OWN: compares parallel and sequential restores, with contents that
# take as long as the rest
compare() {
    rest_of "$1" "$2" "$4"
    figure "without contents: ms" "$rest"
    with "$@"
    # MiB on each of two GPUs over all processes.
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

# usage: bench_together MIB: fills two GPUs at once, and one GPU
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

# With full sizes the two processors of the machine do the work of the simulated engines. They need longer for contents
# than for the rest, whatever the bandwidth is, and can't do other work. bench_scaled uses an eighth of the buffers and
# of the bandwidth: contents take the same time, and the processors are about as free as with real GPUs. bench_large has
# the same effect by more memory.
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

# usage: one_of_matrix PROCESSES GPUS: measures the gain of --parallel. Each process has buffers on each GPU. In all
# there are 64 MiB of contents and 512 MiB of memory. Contents are few because processors copy them for simulated
# engines. The bandwidth makes them take as long as the rest.
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

# Compares the restore of one process with n GPUs to that with one GPU and an nth of the contents. The bandwidth is the
# limit.
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

# Uses the same contents and four times as much memory, so the rest takes longer than the processors need for contents.
bench_large() {
    echo "::begin one process with two GPUs, much memory"
    compare 1 2 $((512 / scale)) $((4096 / scale))
}

# usage: rate_of GPUS MIB RATE: restores MIB on each GPU by engines of RATE MiB/s that cost the processor nothing. Prints
# a row of a table: GPUs, the engines' rate, the rate of all contents, and its share of the engines' rate in percent.
rate_of() {
    reload_simulator "gpus=$1"
    with 1 "$1" "$2" 1 >/dev/null
    echo 1 >/sys/module/amdgpu_sim/parameters/free_copies
    all=
    for turn in $(seq $turns); do
        echo "$3" >$controls/bandwidth
        criu_run "rate-$turn" restore -d -D "$dir/images" --parallel
        [ $code = 0 ] || fail "restore failed: $(errors "$dir/rate-$turn.log")"
        all="$all $(sed -n 's/.*of device memory restored in \([0-9]*\) ms.*/\1/p' "$dir/rate-$turn.log" | tail -n 1)"
        echo 0 >$controls/bandwidth
        end_program # its contents are wrong
    done
    # shellcheck disable=SC2086
    took=$(median $all)
    reached=$(($1 * $2 * 1000 / $(at_least_1 "$took")))
    figure "| $1 | $(($1 * $3)) MiB/s | $reached MiB/s | $((reached * 100 / ($1 * $3))) % |"
    echo 0 >/sys/module/amdgpu_sim/parameters/free_copies
    rm -rf "$dir"
}

# Measures criu's own work for contents: engines take their time and no processor.
bench_rate() {
    figure "| GPUs | engines | contents | share |"
    figure "|---|---|---|---|"
    for gpus in 1 2; do
        for rate in 200 400 800 64000; do
            rate_of $gpus $((256 / scale)) $rate
        done
    done
}

bench() {
    bench_scaled
    bench_matrix
    bench_several
    bench_full
}
