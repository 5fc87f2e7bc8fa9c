# SPDX-License-Identifier: GPL-2.0-only
# Completion for fish. It gets commands, options and values from criu itself, so they fit the installed version.

# Prints the options of a help text on standard input, one per line: name, letter, whether it has a no-form, how its
# argument is attached, name of the argument, text. Tabs separate them.
function __criu_options
    awk '
        function flush() { if (name != "") { sub(/^ +/, "", text); gsub(/ +/, " ", text); print name "\t" letter "\t" no "\t" link "\t" argument "\t" text } }
        /^  (-.,|   ) --/ {
            flush()
            letter = substr($0, 3, 1) == "-" ? substr($0, 4, 1) : ""
            head = substr($0, 9); text = ""
            if (at = index(head, "  ")) { text = substr(head, at); head = substr(head, 1, at - 1) }
            no = sub(/^\[no-\]/, "", head) ? "no" : ""
            link = argument = ""
            if (at = index(head, "[=")) { link = "attached"; argument = substr(head, at + 2, length(head) - at - 2); head = substr(head, 1, at - 1) }
            else if (at = index(head, " ")) { link = "apart"; argument = substr(head, at + 1); head = substr(head, 1, at - 1) }
            name = head
            next
        }
        /^                                  / { text = text " " $0; next }
        { flush(); name = "" }
        END { flush() }'
end

# Prints possible values of an argument, by the argument's name.
function __criu_values --argument-names argument
    for word in (string split '|' -- $argument)
        string match -r '^[a-z]+$|^[a-z]+:' -- $word
    end
end

function __criu_features
    criu check --feature '?' 2>&1 | string replace -rf '.*use one of: ' '' | string split ', '
end

set -l commands (criu --help 2>/dev/null | sed -nE '/^Commands:/,/^$/s/^  ([a-z-]+) .*/\1/p' | uniq)
complete -c criu -f
complete -c criu -n "not __fish_seen_subcommand_from $commands" -a "$commands"
complete -c criu -n "__fish_seen_subcommand_from cpuinfo; and not __fish_seen_subcommand_from dump check" -a "dump check"
complete -c criu -n "__fish_seen_subcommand_from stream; and not __fish_seen_subcommand_from pack unpack" -a "pack unpack"
set -l helps
for command in $commands
    switch $command
        case cpuinfo
            set -a helps "cpuinfo dump"
        case stream
            set -a helps "stream pack" "stream unpack"
        case '*'
            set -a helps $command
    end
end
for help in $helps
    set -l words (string split ' ' -- $help)
    set -l seen "__fish_seen_subcommand_from $words[1]"
    test $words[1] = stream; and set seen "$seen; and __fish_seen_subcommand_from $words[2]"
    criu $words --help 2>/dev/null | __criu_options | while read -l -d \t name letter no link argument text
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
