# SPDX-License-Identifier: GPL-2.0-only
# Completion for fish. It gets commands, options and views from crit itself, so they fit the installed version.

# Prints the options of a help text on standard input, one per line: long name, letter, argument, text. Tabs separate
# them.
function __crit_options
    awk '
        function flush(   count, names, i, at, name, letter, argument) {
            if (head == "") return
            sub(/^ +/, "", text)
            name = letter = argument = ""
            count = split(head, names, ", ")
            for (i = 1; i <= count; i++) {
                if (at = index(names[i], " ")) { argument = substr(names[i], at + 1); names[i] = substr(names[i], 1, at - 1) }
                if (names[i] ~ /^--/) name = substr(names[i], 3)
                else letter = substr(names[i], 2)
            }
            print name "\t" letter "\t" argument "\t" text
            head = ""
        }
        /^  -/ {
            flush()
            head = substr($0, 3); text = ""
            if (at = index(head, "  ")) { text = substr(head, at); head = substr(head, 1, at - 1) }
            next
        }
        /^            / { text = text " " $0; next }
        { flush() }
        END { flush() }'
end

# Returns success if the command line has the command and this number of words behind it that are no options.
function __crit_has_words --argument-names command count
    set -l words (string match -v -r '^-' -- (commandline -opc))
    test (count $words) -eq (math $count + 2); and test "$words[2]" = "$command"
end

set -l commands (crit --help 2>/dev/null | sed -nE 's/^    ([a-z]+) .*/\1/p')
complete -c crit -f
complete -c crit -n "not __fish_seen_subcommand_from $commands" -a "$commands"
complete -c crit -n "not __fish_seen_subcommand_from $commands" -l version -d "prints the version"
complete -c crit -n "__crit_has_words x 0; or __crit_has_words explain 0" -a "(__fish_complete_directories)"
complete -c crit -n "__crit_has_words x 1" -a "(crit x --help 2>/dev/null | sed -nE '1s/.*\{(.*)\}.*/\1/;1s/,/\n/gp')"
complete -c crit -n "__crit_has_words info 0; or __crit_has_words show 0" -F
for command in $commands
    env COLUMNS=500 crit $command --help 2>/dev/null | __crit_options | while read -l -d \t name letter argument text
        set -l given -c crit -n "__fish_seen_subcommand_from $command" -l $name -d $text
        test -n "$letter"; and set -a given -s $letter
        test -n "$argument"; and set -a given -r -F
        complete $given
    end
end
