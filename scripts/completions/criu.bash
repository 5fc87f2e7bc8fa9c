# SPDX-License-Identifier: GPL-2.0-only
# Completion for bash. It gets commands, options and values from criu itself, so they fit the installed version.

# Prints the options of a help text ($1), one per line: name, "no" if it has a no-form, "=" or " " before an argument,
# name of the argument, "again" if it may be repeated. The separator is a bar that help texts don't contain.
_criu_options() {
    awk '
        function flush() { if (name != "") print name "\037" no "\037" link "\037" argument "\037" (text ~ /may be repeated/ ? "again" : "") }
        /^  (-.,|   ) --/ {
            flush()
            head = substr($0, 9); text = ""
            if (at = index(head, "  ")) { text = substr(head, at); head = substr(head, 1, at - 1) }
            no = sub(/^\[no-\]/, "", head) ? "no" : ""
            link = argument = ""
            if (at = index(head, "[=")) { link = "="; argument = substr(head, at + 2, length(head) - at - 2); head = substr(head, 1, at - 1) }
            else if (at = index(head, " ")) { link = " "; argument = substr(head, at + 1); head = substr(head, 1, at - 1) }
            name = head
            next
        }
        /^                                  / { text = text " " $0; next }
        { flush(); name = "" }
        END { flush() }' <<<"$1"
}

# Sets COMPREPLY to values of an argument ($1: its name, $2: the option's name, $3: the typed text).
_criu_values() {
    local words=() word
    case $1 in
    DIR) mapfile -t COMPREPLY < <(compgen -d -- "$3") && return ;;
    FILE | PROGRAM) mapfile -t COMPREPLY < <(compgen -f -- "$3") && return ;;
    PID) words=(/proc/[0-9]*) && words=("${words[@]#/proc/}") ;;
    NAME)
        [[ $2 == feature ]] &&
            IFS=', ' read -r -a words < <("$_criu_program" check --feature '?' 2>&1 | sed -n 's/.*use one of: //p')
        ;;
    *'|'* | net)
        while read -r word; do
            case $word in
            *:*) words+=("${word%%:*}:") ;;
            *[A-Z]*) ;;
            *) words+=("$word") ;;
            esac
        done <<<"${1//|/$'\n'}"
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$3")
    [[ ${COMPREPLY[0]-} == *: ]] && compopt -o nospace 2>/dev/null
}

_criu() {
    local line=${COMP_LINE:0:COMP_POINT} _criu_program=${COMP_WORDS[0]} command= word help given=" "
    local current=${line##*[[:space:]]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
        -*) given+="$word " ;;
        cpuinfo) command="cpuinfo dump" ;;
        stream) command="stream pack" ;;
        pack | unpack) [[ $command == stream* ]] && command="stream $word" ;;
        dump | restore | check | pre-dump | lazy-pages | page-server | service | dedup | swrk | explain | verify | rescue)
            [[ $command == cpuinfo* ]] && command="cpuinfo $word"
            : "${command:=$word}"
            ;;
        esac
    done
    # shellcheck disable=SC2086  # two words of a command
    help=$("$_criu_program" $command --help 2>/dev/null) || return

    if [[ $current != -* && $previous == cpuinfo ]]; then
        mapfile -t COMPREPLY < <(compgen -W "dump check" -- "$current")
        return
    fi
    if [[ $current != -* && $previous == stream ]]; then
        mapfile -t COMPREPLY < <(compgen -W "pack unpack" -- "$current")
        return
    fi
    if [[ $current != -* && -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(sed -nE '/^Commands:/,/^$/s/^  ([a-z-]+) .*/\1/p' <<<"$help" | uniq)" -- "$current")
        return
    fi

    local name no link argument again letter= words=()
    # The value belongs to the option of --name=value, or to the previous word.
    [[ $current == --*=* ]] && previous=${current%%=*}
    [[ $previous == -? ]] && letter=$(sed -nE "s/^  ($previous), --(\[no-\])?([a-z-]+).*/\3/p" <<<"$help")
    while IFS=$'\037' read -r name no link argument again; do
        if [[ $previous == "--$name" || $letter == "$name" ]]; then
            if [[ $current == --*=* ]]; then
                _criu_values "$argument" "$name" "${current#*=}"
                # If = doesn't separate words, bash replaces the whole word.
                [[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${COMPREPLY[@]/#/--$name=}")
                return
            elif [[ $link == ' ' ]]; then
                _criu_values "$argument" "$name" "$current"
                return
            fi
        fi
        # An option that was given isn't offered again, nor its opposite.
        [[ $again || $given != *" --$name "* && $given != *" --no-$name "* ]] || continue
        words+=("--$name${link/ /}")
        [[ $no ]] && words+=("--no-$name")
    done < <(_criu_options "$help")
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$current")
        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    fi
    return 0
}

complete -F _criu criu
