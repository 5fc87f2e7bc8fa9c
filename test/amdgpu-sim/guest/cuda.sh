# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Trees with GPUs of two vendors: simulated AMD GPUs, and two GPUs of test/cuda's fake driver, which is a library
# and a few files. The functions are used as those of modes.sh, and use them.
# shellcheck disable=SC2154 # variables of modes.sh

nvidia_1=GPU-fafafafa-fafa-fafa-fafa-fafafafafa00
nvidia_2=GPU-fafafafa-fafa-fafa-fafa-fafafafafa01

# Makes the driver with two GPUs available to programs and criu of this case.
play_cuda() {
    export LD_LIBRARY_PATH=/cuda FAKE_CUDA_DEVICES=2
    for file in nvidiactl nvidia0 nvidia1; do
        : >/dev/$file
    done
    mount -t tmpfs none /proc/driver || fail "there is no place for the driver's files"
    mkdir /proc/driver/nvidia
    echo "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04" >/proc/driver/nvidia/version
    number=0
    for uuid in $nvidia_1 $nvidia_2; do
        mkdir -p "/proc/driver/nvidia/gpus/0000:0$number:00.0"
        printf 'Model: \t NVIDIA H100\nGPU UUID: \t %s\n' "$uuid" >"/proc/driver/nvidia/gpus/0000:0$number:00.0/information"
        number=$((number + 1))
    done
}

no_cuda() {
    rm -f /dev/nvidia*
    ! grep -q ' /proc/driver ' /proc/mounts || umount /proc/driver
}

# usage: names_plugins FOLDER NAME...: requires the inventory to name exactly these plugins
names_plugins() {
    folder=$1
    shift
    for plugin in amdgpu_plugin cuda_plugin; do
        case " $* " in
            *" $plugin "*) wanted=0 ;;
            *) wanted=1 ;;
        esac
        grep -q $plugin "$dir/$folder/inventory.img"
        [ $? = $wanted ] || fail "the inventory of $folder names $plugin, or should"
    done
}

# usage: says LOG TEXT: requires a log to contain a text
says() { grep -q "$2" "$dir/$1.log" || fail "the log of $1 doesn't say '$2': $(errors "$dir/$1.log")"; }

# Dumps and restores a tree with GPUs of both vendors in all forms that the drivers share.
mode_vendors() {
    play_cuda
    start
    for feature in amdgpu cuda; do
        criu check --feature $feature 2>&1 | grep -q "^$feature is supported" || fail "check doesn't tell of $feature"
    done
    dump_well images --leave-running
    names_plugins images amdgpu_plugin cuda_plugin
    still_works "a dump that leaves it running"
    dump_well images
    restore_well images restore --parallel
    still_works "the restore"
    dump_well images
    restore_well images restore-serial --no-parallel
    still_works "the restore with --no-parallel"
    dump images-none --stream-to "$dir/stream"
    [ "$code" = 0 ] || fail "the dump into a stream ended with $code: $(errors "$dir/dump-images-none.log")"
    restore_well images-none restore-stream --stream-from "$dir/stream"
    still_works "the restore from a stream"
    dump_well images-off --leave-running --no-device cuda
    names_plugins images-off amdgpu_plugin
    [ ! -e "$dir/images-off/cuda.img" ] || fail "there is a cuda.img in spite of --no-device cuda"
    still_works "a dump without CUDA"
    verify
}

# Requires each driver to use the parts of --gpu-map for its GPUs, and criu to refuse an unknown GPU.
mode_vendors_mapped() {
    play_cuda
    start
    one=$(gpu_of 128)
    two=$(gpu_of 129)
    dump_well images
    restore images restore-unknown --gpu-map "$one=$two" --gpu-map "7=0"
    [ "$code" = 1 ] || fail "a restore with an unknown GPU ended with $code"
    says restore-unknown "Error.*--gpu-map 7=0: the images have no GPU"
    restore images restore-off --no-device cuda
    [ "$code" = 1 ] || fail "a restore without what the images need ended with $code"
    says restore-off "Error.*can't be restored without the plugin cuda_plugin"
    gone "$pid" || fail "a restore that was refused left the program behind"
    restore_well images restore --gpu-map "$one=$two" --gpu-map "$two=$one" --gpu-map 0=1 --gpu-map "$nvidia_2=$nvidia_1"
    says restore "cuda: $nvidia_1 becomes $nvidia_2"
    says restore "amdgpu: GPU.* becomes GPU"
    still_works "the restore"
    verify
}

# usage: fails_whole WHAT: requires a dump to fail and the tree to continue, whichever driver was called before
fails_whole() {
    dump images-failed --leave-running
    [ "$code" = 1 ] || fail "a dump with $1 ended with $code"
    [ ! -e "$dir/images-failed/inventory.img" ] || fail "there is an inventory after a dump with $1"
    still_works "a dump with $1"
}

# usage: leaves_nothing WHAT: requires a restore to fail and to leave nothing
leaves_nothing() {
    restore images restore-failed
    [ "$code" = 1 ] || fail "a restore with $1 ended with $code"
    gone "$pid" || fail "a restore with $1 left the program behind"
}

# usage: with_faults FUNCTION FAULTS POINTS: calls the function for each fault of the fake CUDA driver, and for
# each failing point of the simulated AMD driver
with_faults() {
    for fault in $2; do
        export FAKE_CUDA_FAULT="$fault"
        $1 "$fault"
    done
    unset FAKE_CUDA_FAULT
    for point in $3; do
        echo "$point 1 12" >$controls/fault
        $1 "$point"
        echo >$controls/clear
    done
}

# Requires a failure of one driver to roll back the other.
mode_vendor_faults() {
    play_cuda
    start
    with_faults fails_whole "lock=999 checkpoint=801" "kfd.criu.process_info kfd.criu.checkpoint"
    # Kills the working process while queues are stopped and CUDA's contents are saved.
    echo "kfd.criu.checkpoint 1 400" >$controls/delay
    mkdir -p "$dir/images-killed"
    criu dump -t "$pid" -D "$dir/images-killed" -v4 -o "$dir/killed.log" </dev/null >"$dir/killed.log.out" 2>&1 &
    dumping=$!
    until_true 20 passed_or_gone kfd.criu.checkpoint $dumping || fail "the dump did not come to its checkpoint"
    kill -KILL "$(cut -d' ' -f1 "/proc/$dumping/task/$dumping/children")"
    ! wait $dumping || fail "a dump that was killed ended well"
    echo >$controls/clear
    still_works "a dump that was killed"
    dump_well images
    with_faults leaves_nothing "restore=2 restore=broken unlock=999" "kfd.criu.restore kfd.criu.resume"
    restore_well images restore
    still_works "the restore"
    verify
}
