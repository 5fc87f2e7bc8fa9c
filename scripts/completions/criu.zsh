#compdef criu
# SPDX-License-Identifier: GPL-2.0-only
# Completion for zsh. It gets commands, options and values from criu itself, so they fit the installed version.

# Prints specifications for _arguments of the options of a help text ($1), one per line.
_criu_specs() {
    print -r -- "$1" | awk '
        function action(argument,   words, count, i, list) {
            if (argument == "DIR") return "_files -/"
            if (argument == "FILE" || argument == "PROGRAM") return "_files"
            if (argument == "PID") return "_criu_pids"
            if (argument == "NAME" && name == "feature") return "_criu_features"
            if (argument !~ /\|/ && argument != "net") return " "
            count = split(argument, words, "|")
            for (i = 1; i <= count; i++) {
                if (words[i] ~ /:/) { sub(/:.*/, "\\:", words[i]); list = list " " words[i] }
                else if (words[i] !~ /[A-Z]/) list = list " " words[i]
            }
            return "(" substr(list, 2) ")"
        }
        function flush(   star, suffix) {
            if (name == "") return
            gsub(/\[/, "(", text); gsub(/\]/, ")", text); gsub(/:/, "\\:", text); sub(/^ +/, "", text); gsub(/ +/, " ", text)
            star = text ~ /may be repeated/ ? "*" : ""
            shown = argument; gsub(/:/, "\\:", shown)
            suffix = "[" text "]" (link == "" ? "" : (link == "=" ? "::" : ":") shown ":" action(argument))
            print star "--" name (link == "=" ? "=-" : link == " " ? "=" : "") suffix
            if (no) print "--no-" name "[not\\: " text "]"
            if (letter) print star "-" letter (link == "=" ? "-" : link == " " ? "+" : "") suffix
        }
        /^  (-.,|   ) --/ {
            flush()
            letter = substr($0, 3, 1) == "-" ? substr($0, 4, 1) : ""
            head = substr($0, 9); text = ""
            if (at = index(head, "  ")) { text = substr(head, at); head = substr(head, 1, at - 1) }
            no = sub(/^\[no-\]/, "", head)
            link = argument = ""
            if (at = index(head, "[=")) { link = "="; argument = substr(head, at + 2, length(head) - at - 2); head = substr(head, 1, at - 1) }
            else if (at = index(head, " ")) { link = " "; argument = substr(head, at + 1); head = substr(head, 1, at - 1) }
            name = head
            next
        }
        /^                                  / { text = text " " $0; next }
        { flush(); name = "" }
        END { flush() }'
}

_criu_pids() {
    local -a pids
    pids=(/proc/<->(:t))
    compadd -a pids
}

_criu_features() {
    local -a features
    features=(${(s:, :)"$($service check --feature '?' 2>&1 | sed -n 's/.*use one of: //p')"})
    _values feature $features
}

_criu() {
    local service=${words[1]:-criu} command help
    local -a specs
    command=${words[(r)(dump|restore|check|pre-dump|lazy-pages|page-server|service|dedup|swrk|explain|verify|rescue|stream|cpuinfo)]}
    [[ $command == cpuinfo ]] && command="cpuinfo ${words[(r)(dump|check)]:-dump}"
    [[ $command == stream ]] && command="stream ${words[(r)(pack|unpack)]:-pack}"
    help=$($service ${=command} --help 2>/dev/null) || return
    specs=("${(@f)$(_criu_specs "$help")}")
    if [[ -z $command ]]; then
        specs+=("1:command:(${(j: :)${(fu)"$(print -r -- "$help" | sed -nE '/^Commands:/,/^$/s/^  ([a-z-]+) .*/\1/p')"}})")
    elif [[ $command == cpuinfo* ]]; then
        specs+=("1:command:(cpuinfo)" "2:action:(dump check)")
    elif [[ $command == stream* ]]; then
        specs+=("1:command:(stream)" "2:action:(pack unpack)")
    else
        specs+=("1:command:($command)")
    fi
    _arguments -s "${specs[@]}"
}

[[ ${funcstack[1]} == _criu ]] && _criu "$@"
