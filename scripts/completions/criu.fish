# SPDX-License-Identifier: GPL-2.0-only
# Completion for fish. It gets commands, options and values from criu itself, so they fit the installed version.

# Prints possible values of an argument, by the argument's name.
function __criu_values --argument-names argument
    for word in (string split '|' -- $argument)
        string match -r '^[a-z]+$|^[a-z]+:' -- $word
    end
end

function __criu_features
    criu check --feature '?' 2>&1 | string replace -rf '.*use one of: ' '' | string split ', '
end

set -l helps (criu --list-options 2>/dev/null)
set -l commands (string replace -r ' .*' '' -- $helps | uniq)
complete -c criu -f
complete -c criu -n "not __fish_seen_subcommand_from $commands" -a "$commands"
complete -c criu -n "__fish_seen_subcommand_from cpuinfo; and not __fish_seen_subcommand_from dump check" -a "dump check"
complete -c criu -n "__fish_seen_subcommand_from stream; and not __fish_seen_subcommand_from pack unpack" -a "pack unpack"
complete -c criu -n "__fish_seen_subcommand_from explain verify" -a "(__fish_complete_directories)"
for help in $helps
    set -l words (string split ' ' -- $help)
    set -l seen "__fish_seen_subcommand_from $words[1]"
    test $words[1] = stream; and set seen "$seen; and __fish_seen_subcommand_from $words[2]"
    criu $words --list-options 2>/dev/null | while read -l -d \x1f name letter no link argument text
        set -l given -c criu -n "$seen" -l $name -d $text
        test -n "$letter"; and set -a given -s $letter
        switch "$link/$argument"
            case apart/DIR
                set -a given -x -a "(__fish_complete_directories)"
            case apart/FILE apart/PROGRAM
                set -a given -r -F
            case apart/PID
                set -a given -x -a "(__fish_complete_pids)"
            case apart/NAME
                set -a given -x
                test $name = feature; and set -a given -a "(__criu_features)"
            case 'apart/*'
                set -a given -x -a "$(__criu_values $argument | string join ' ')"
            case 'attached/*'
                set -a given -a "$(__criu_values $argument | string join ' ')"
        end
        complete $given
        test -n "$no"; and complete -c criu -n "$seen" -l no-$name -d "not: $text"
    end
end
