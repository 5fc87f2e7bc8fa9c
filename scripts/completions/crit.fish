# SPDX-License-Identifier: GPL-2.0-only
# Completion for fish. It gets commands, options and views from crit itself, so they fit the installed version.

# Returns success if the command line has the command and this number of words behind it that are no options.
function __crit_has_words --argument-names command count
    set -l words (string match -v -r '^-' -- (commandline -opc))
    test (count $words) -eq (math $count + 2); and test "$words[2]" = "$command"
end

# Prints the words of a command that stand alone on their lines: commands or views.
function __crit_words
    crit $argv --list-options 2>/dev/null | string match -v '*'\x1f'*'
end

set -l commands (__crit_words)
complete -c crit -f
complete -c crit -n "not __fish_seen_subcommand_from $commands" -a "$commands"
complete -c crit -n "not __fish_seen_subcommand_from $commands" -l version -d "prints the version"
complete -c crit -n "__crit_has_words x 0; or __crit_has_words explain 0" -a "(__fish_complete_directories)"
complete -c crit -n "__crit_has_words x 1" -a "(__crit_words x)"
complete -c crit -n "__crit_has_words info 0; or __crit_has_words show 0" -F
for command in $commands
    crit $command --list-options 2>/dev/null | string match '*'\x1f'*' | while read -l -d \x1f name letter argument text
        set -l given -c crit -n "__fish_seen_subcommand_from $command" -l $name -d $text
        test -n "$letter"; and set -a given -s $letter
        test -n "$argument"; and set -a given -r -F
        complete $given
    end
end
