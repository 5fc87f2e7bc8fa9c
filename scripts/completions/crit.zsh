#compdef crit
# SPDX-License-Identifier: GPL-2.0-only
# Completion for zsh. It gets commands, options and views from crit itself, so they fit the installed version.

# Prints specifications for _arguments of the options of a help text ($1), one per line.
_crit_specs() {
    print -r -- "$1" | awk '
        function flush(   count, names, i, at, argument, action) {
            if (head == "") return
            gsub(/\[/, "(", text); gsub(/\]/, ")", text); gsub(/:/, "\\:", text); sub(/^ +/, "", text)
            count = split(head, names, ", ")
            for (i = 1; i <= count; i++) {
                argument = ""
                if (at = index(names[i], " ")) { argument = substr(names[i], at + 1); names[i] = substr(names[i], 1, at - 1) }
                action = argument == "" ? "" : ":" argument ":" (argument == "PATH" ? "_files -/" : "_files")
                print names[i] (argument == "" ? "" : names[i] ~ /^--/ ? "=" : "+") "[" text "]" action
            }
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
}

_crit() {
    local service=${words[1]:-crit} command help
    local -a specs
    command=${words[(r)(decode|encode|info|show|x|explain)]}
    help=$(COLUMNS=500 $service $command --help 2>/dev/null) || return
    specs=("${(@f)$(_crit_specs "$help")}")
    case $command in
        "")
            specs+=("1:command:(${(j: :)${(f)"$(print -r -- "$help" | sed -nE 's/^    ([a-z]+) .*/\1/p')"}})") ;;
        x)
            specs+=("1:command:(x)" "2:directory:_files -/"
                    "3:view:($(print -r -- "$help" | sed -nE '1s/.*\{(.*)\}.*/\1/;1s/,/ /gp'))") ;;
        explain)
            specs+=("1:command:(explain)" "2:directory:_files -/") ;;
        info|show)
            specs+=("1:command:($command)" "2:image:_files") ;;
        *)
            specs+=("1:command:($command)") ;;
    esac
    _arguments -s "${specs[@]}"
}

[[ ${funcstack[1]} == _crit ]] && _crit "$@"
