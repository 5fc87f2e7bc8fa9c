#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests of the criu program's command line: exit statuses, destination of messages, configuration files, completion.
# usage: cli_test.sh PATH_OF_CRIU
set -u
criu=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME=$work/home
unset CRIU_CONFIG_FILE CRIU_FAULT CRIU_DEPRECATED CRIU_LIBS_DIR
failures=0

# run STATUS ARGUMENT...: runs criu, stores its output in $out and $err, and checks its exit status.
run() {
    local expected=$1 status
    shift
    last="criu $*"
    "$criu" "$@" >out 2>err
    status=$?
    out=$(<out) err=$(<err)
    if [[ $status != "$expected" ]]; then
        complain "exit status $status, not $expected"
    fi
}

complain() {
    echo "FAILED: $last: $1" >&2
    echo "  standard output: $out" >&2
    echo "  standard error:  $err" >&2
    echo "  again: $here/cli_test.sh $criu" >&2
    failures=$((failures + 1))
}

# has TEXT PATTERN: checks that a stored text matches a shell pattern.
has() {
    # shellcheck disable=SC2053 # it is a pattern
    [[ $1 == $2 ]] || complain "no match for '$2'"
}

run 0 --version
has "$out" "Version: 4.2
GitID: *
Implementation: *"
has "$err" ""
run 0 check --feature list
has "$out" "*uffd * userfaultfd serves missing pages*cuda_storage * directly between GPUs and images*"
run 0 -V --images-dir /nowhere
run 0 -h
has "$out" "usage: criu*--tree PID*"
run 0 dump --help
has "$out" "usage: criu dump*--tree PID*"

run 1
has "$err" "*Error*no command given*"
run 1 dmup
has "$err" "*Error*unknown command 'dmup'; did you mean dump? (see criu --help)*"
run 1 help
has "$err" "*Error*unknown command 'help'; did you mean --help? (see criu --help)*"
run 1 help dump
has "$err" "*Error*unknown command 'help'; did you mean dump --help? (see criu --help)*"
run 1 checkpoint
has "$err" "*Error*unknown command 'checkpoint'; did you mean dump? (see criu --help)*"
run 1 dump help
has "$err" "*Error*dump takes no such word: help (criu dump --help lists its options)*"
run 1 version
has "$err" "*Error*unknown command 'version'; did you mean --version? (see criu --help)*"
run 1 restore --no-default-config --config /nowhere.conf
has "$err" "*Error*--config*/nowhere.conf: No such file*"
mkdir empty
run 1 restore --no-default-config -D empty
has "$err" "*Error*no complete checkpoint in empty*"
run 255 show
run 255 exec
run 1 dump -t 1 --bogus
has "$err" "*Error*unknown option --bogus (criu --help lists all options)*"
run 1 dump -t 1 --tcpest
has "$err" "*Error*unknown option --tcpest; did you mean --tcp-established?*"
run 1 check --feature memtrk
has "$err" "*Error*unknown feature 'memtrk'; did you mean mem_dirty_track?*"
run 1 explain -t 77
has "$err" "*Error*--tree is for*not for explain (criu dump -t PID --dry-run lists what prevents a dump)*"
run 1 explain 77
has "$err" "*Error*77: No such file or directory (for a process: criu dump -t 77 --dry-run lists what prevents a dump)*"
run 1 swrk 77
has "$err" "*Error*swrk 77: *: Bad file descriptor*"
run 1 swrk 0 </dev/null
has "$err" "*Error*the descriptor is no socket of a client: Socket operation on non-socket*"
run 1 dump
has "$err" "*Error*-t PID*"
run 1 dump -t 1 -D /nowhere
has "$err" "*Error*/nowhere: No such file or directory*"
run 1 restore --inherit-fd 'fd[77]:x'
has "$err" "*Error*--inherit-fd fd*77*x: Bad file descriptor*"
run 1 dedup
has "$err" "*Error*no inventory*"
CRIU_FAULT=139 run 1 check
has "$err" "*Error*CRIU_FAULT: 139 is out of range*"
CRIU_FAULT=x run 1 check
has "$err" "*Error*CRIU_FAULT*not a number*"

# A log file is in the work directory, is truncated, and begins with version and machine.
mkdir images logs
echo old >logs/check.log
run 1 dump -t 1 --external 'file[1' -D images -W logs -o check.log -v4
has "$(<logs/check.log)" old
run 1 restore -D images -W logs -o check.log -v4
[[ -s logs/check.log ]] || complain "no log file in the work directory"
has "$(head -n 1 logs/check.log)" "(*) Version: 4.2*"
has "$(sed -n 2p logs/check.log)" "(*) Running on $(uname -n) Linux $(uname -r)*"
has "$(<logs/check.log)" "*Error (*"
run 1 restore -D images -o fresh.log
has "$(stat -c %a images/fresh.log)" 600
run 1 restore -D images -o -
has "$out" "*Error (*"
run 1 restore -D images -o check.log --verbosity=4 -verbosity=0
has "$(<images/check.log)" ""

# criu uses the values of configuration files, and reports mistakes with file and line.
mkdir -p home/.criu
echo 'log-file home.log' >home/.criu/default.conf
run 1 restore -D images
[[ -e images/home.log ]] || complain "the configuration file in \$HOME was not used"
rm images/home.log
run 1 restore -D images --no-default-config
[[ ! -e images/home.log ]] || complain "--no-default-config did not help"
printf '\nlog-file "x\n' >home/.criu/default.conf
run 1 restore -D images
has "$err" "*Error*home/.criu/default.conf:2: the closing quote is missing*"
run 0 --help
echo 'log-file named.log' >named.conf
CRIU_CONFIG_FILE=named.conf run 1 restore -D images --no-default-config
[[ -e images/named.log ]] || complain "\$CRIU_CONFIG_FILE was not used"
printf '\nverbosity=4 \nimages-dir images \nlog-file chosen.log \n' >chosen.conf
run 1 restore --no-default-config --config chosen.conf
has "$(<images/chosen.log)" "*Version*"

# Files that control criu must be writable only by root and the user.
chmod o+w chosen.conf
run 1 restore -D images --no-default-config --config chosen.conf
has "$err" "*Error*chosen.conf may be changed by others (mode 646)*"
chmod o-w chosen.conf
echo 'log-file home.log' >home/.criu/default.conf
chmod 666 home/.criu/default.conf
rm -f images/home.log
run 1 restore -D images
has "$err" "*Warn*default.conf may be changed by others (mode 666)*it isn't used*"
[[ ! -e images/home.log ]] || complain "a configuration file that others may change was used"
mkdir -m 777 plugins
: >plugins/some.so
run 1 restore -D images --no-default-config --libdir plugins
has "$err" "*Error*plugins may be changed by others (mode 777)*"
CRIU_LIBS_DIR=plugins run 1 restore -D images --no-default-config
has "$err" "*Error*plugins may be changed by others (mode 777)*"
if [[ $(id -u) = 0 ]]; then
    chown 65534 chosen.conf
    run 1 restore -D images --no-default-config --config chosen.conf
    has "$err" "*Error*chosen.conf belongs to user 65534*"
    chown 0 chosen.conf

    # A set-user-id criu does nothing for its user: no command, no configuration file, no environment.
    cp "$criu" lent-criu
    chmod 4755 lent-criu
    chmod 755 .
    rm -f images/named.log
    if [[ $(setpriv --reuid 65534 --clear-groups ./lent-criu --version 2>&1; echo $?) != *127 && ! $(findmnt -no OPTIONS -T .) =~ nosuid ]]; then
        for words in "check" "swrk 0" "restore -D images --no-default-config" "dump -t 1 -D images --libdir plugins"; do
            # shellcheck disable=SC2086
            CRIU_CONFIG_FILE=named.conf CRIU_LIBS_DIR=plugins setpriv --reuid 65534 --clear-groups ./lent-criu $words \
                >lent.out 2>&1 </dev/null && complain "a set-user-id criu obeyed: $words"
            has "$(<lent.out)" "*Error*criu is set-user-id*chmod ug-s*"
            [[ ! -e images/named.log ]] || complain "\$CRIU_CONFIG_FILE was used by a program with rights of its file"
        done
    fi
    rm lent-criu
fi

# `cpuinfo dump` writes the processor's features, `cpuinfo check` compares them.
mkdir cpu
run 1 cpuinfo check --no-default-config -D cpu
has "$err" "*Error*cpuinfo.img*No such file*"
run 0 cpuinfo dump --no-default-config -D cpu
[[ -s cpu/cpuinfo.img ]] || complain "no cpuinfo.img"
run 0 cpuinfo check --no-default-config -D cpu
run 0 cpuinfo check --no-default-config -D cpu --cpu-cap=ins
run 1 cpuinfo check --no-default-config -D cpu --cpu-cap=nothing
has "$err" "*Error*nothing*"
run 1 cpuinfo --no-default-config -D cpu
has "$err" "*Error*dump or check*"

# criu reads properties of cgroups before it changes anything.
sleep 60 >/dev/null 2>&1 &
program=$!
run 1 dump --no-default-config -t $program -D images --cgroup-props '"cpu": wrong'
has "$err" "*Error*cgroup properties, line 1*"
kill $program

# Files that criu opens must not get the numbers of closed standard streams.
last="criu restore with closed streams"
"$criu" restore --no-default-config -D images -o closed.log -v4 <&- >&- 2>&-
has "$(head -c 9 images/closed.log | tail -c 8)" "??.?????"

# Completion offers existing commands and options.
# shellcheck source=/dev/null
source "$here/../../scripts/completions/criu.bash"
complete_words() {
    COMP_WORDS=("$criu" "$@")
    COMP_CWORD=$#
    COMP_LINE=${COMP_WORDS[*]}
    COMP_POINT=${#COMP_LINE}
    COMPREPLY=()
    last="completion of: criu $*"
    _criu
    out="${COMPREPLY[*]}"
}
complete_words du
has "$out" dump
complete_words dump --ghost-
has "$out" "--ghost-limit --ghost-fiemap --ghost-links"
complete_words dump --no-ghost
has "$out" "--no-ghost-fiemap --no-ghost-links"
complete_words restore -D ima
has "$out" images
complete_words dump --log-file ch
has "$out" chosen.conf
complete_words check --tree
has "$out" ""
crit=$(dirname "$criu")/crit
if [[ -x $crit ]] && "$crit" --version >/dev/null 2>&1; then
    # shellcheck source=/dev/null
    source "$here/../../scripts/completions/crit.bash"
    complete_crit() {
        COMP_WORDS=("$crit" "$@")
        COMP_CWORD=$#
        COMPREPLY=()
        last="completion of: crit $*"
        _crit
        out="${COMPREPLY[*]}"
    }
    complete_crit de
    has "$out" decode
    complete_crit decode --pr
    has "$out" --pretty
    complete_crit x images m
    has "$out" "*mems*"
    complete_crit show ima
    has "$out" images
fi

# A signal ends a dump, and the processes go on. SIGINT may be ignored where this script runs. The script is found from the directory that criu was started in.
if [[ $(id -u) == 0 ]]; then
    cat >interrupt <<'SCRIPT'
#!/bin/sh
[ "$CRTOOLS_SCRIPT_ACTION" != post-dump ] || { kill -TERM $PPID; exec sleep 100; }
SCRIPT
    chmod +x interrupt
    setsid sleep 1000 </dev/null >/dev/null 2>&1 &
    sleeper=$!
    disown
    until [[ $(<"/proc/$sleeper/comm") == sleep ]]; do sleep 0.05; done
    mkdir interrupted
    run 1 dump --no-default-config -t $sleeper -D interrupted --action-script ./interrupt
    has "$err" "*stopped by SIG*the processes run on*"
    kill -0 $sleeper || complain "the process has ended"
    kill -KILL $sleeper
fi

# CAP_CHECKPOINT_RESTORE suffices for processes of the same user, with and without --unprivileged.
few=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +checkpoint_restore
    --ambient-caps +checkpoint_restore --bounding-set "-all,+checkpoint_restore")
if [[ $(id -u) == 0 ]] && "${few[@]}" true 2>/dev/null &&
    [[ $(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0) == 0 ]]; then
    cat >few-rights <<'SCRIPT'
#!/bin/bash
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
sleeper=$!
disown
until [[ $(<"/proc/$sleeper/comm") == sleep ]]; do sleep 0.05; done
"$1" dump --no-default-config -t $sleeper -D "$2" -o dump.log -v4 "${@:3}" || exit 1
"$1" restore --no-default-config -d -D "$2" -o restore.log -v4 "${@:3}" || exit 2
[[ $(tr '\0' ' ' <"/proc/$sleeper/cmdline") == "sleep 1000 " ]] || exit 3
kill -KILL $sleeper
SCRIPT
    chmod 755 . few-rights
    cp "$criu" own-criu
    for option in --unprivileged --no-unprivileged; do
        rm -rf few-images
        mkdir -m 700 few-images
        chown 65534:65534 few-images
        last="criu with CAP_CHECKPOINT_RESTORE $option"
        out="" err=""
        unshare --pid --fork --mount-proc "${few[@]}" bash "$work/few-rights" "$work/own-criu" "$work/few-images" \
            "$option" >few.out 2>&1 ||
            complain "exit status $?: $(<few.out) $(grep -h Error few-images/*.log)"
    done
    rm own-criu
fi

# Titles in ps distinguish criu's processes. A restored program with a private network namespace waits for the network
# lock, so that an action script can read the titles.
if [[ $(id -u) == 0 ]] && unshare --net true 2>/dev/null; then
    cat >look <<'SCRIPT'
#!/bin/sh
[ "$CRTOOLS_SCRIPT_ACTION" = "$STAGE" ] || exit 0
for process in /proc/[0-9]*; do
    # The process may have ended since the listing.
    { tr '\0' ' ' <"$process/cmdline" && echo; } 2>/dev/null
done >"$TITLES"
exit 0
SCRIPT
    chmod +x look
    setsid unshare --net sleep 1000 </dev/null >/dev/null 2>&1 &
    sleeper=$!
    disown
    until [[ $(<"/proc/$sleeper/comm") == sleep ]]; do sleep 0.05; done
    export STAGE=network-lock TITLES=$work/titles
    run 0 dump --no-default-config -t $sleeper -D images --action-script "$work/look"
    out=$(<titles)
    has "$out" "*$criu dump *"
    has "$out" "*criu: dump tree $sleeper*"
    STAGE=setup-namespaces
    run 0 restore --no-default-config -D images -d --action-script "$work/look"
    out=$(<titles)
    has "$out" "*criu: restore process $sleeper (sleep)*"
    out=$(tr '\0' ' ' <"/proc/$sleeper/cmdline")
    has "$out" "sleep 1000 "
    kill -KILL $sleeper
fi

if ((failures != 0)); then
    echo "$failures failed" >&2
    exit 1
fi
echo "command line: all fine"
