# SPDX-License-Identifier: GPL-2.0-only
# Completion for bash. It gets commands, options and values from criu itself, so they fit the installed version.

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
    local line=${COMP_LINE:0:COMP_POINT} _criu_program=${COMP_WORDS[0]} command= word commands given=" "
    local current=${line##*[[:space:]]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    mapfile -t commands < <("$_criu_program" --list-options 2>/dev/null)
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
        -*) given+="$word " ;;
        cpuinfo) command="cpuinfo dump" ;;
        stream) command="stream pack" ;;
        pack | unpack) [[ $command == stream* ]] && command="stream $word" ;;
        *)
            [[ " ${commands[*]%% *} " == *" $word "* ]] || continue
            [[ $command == cpuinfo* ]] && command="cpuinfo $word"
            : "${command:=$word}"
            ;;
        esac
    done
    if [[ $current != -* && $previous == cpuinfo ]]; then
        mapfile -t COMPREPLY < <(compgen -W "dump check" -- "$current")
        return
    fi
    if [[ $current != -* && $previous == stream ]]; then
        mapfile -t COMPREPLY < <(compgen -W "pack unpack" -- "$current")
        return
    fi
    if [[ $current != -* && $previous =~ ^(explain|verify)$ ]]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
    fi
    if [[ $current != -* && -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(printf '%s\n' "${commands[@]%% *}" | uniq)" -- "$current")
        return
    fi

    local name letter no link argument text words=()
    # The value belongs to the option of --name=value, or to the previous word.
    [[ $current == --*=* ]] && previous=${current%%=*}
    while IFS=$'\037' read -r name letter no link argument text; do
        if [[ $previous == "--$name" || ($letter && $previous == "-$letter") ]]; then
            if [[ $current == --*=* ]]; then
                _criu_values "$argument" "$name" "${current#*=}"
                # If = doesn't separate words, bash replaces the whole word.
                [[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${COMPREPLY[@]/#/--$name=}")
                return
            elif [[ $link == apart ]]; then
                _criu_values "$argument" "$name" "$current"
                return
            fi
        fi
        # An option that was given isn't offered again, nor its opposite.
        [[ $text == *"may be repeated"* || $given != *" --$name "* && $given != *" --no-$name "* ]] || continue
        words+=("--$name")
        [[ $link == attached ]] && words[-1]+="="
        [[ $no ]] && words+=("--no-$name")
    # shellcheck disable=SC2086  # two words of a command
    done < <("$_criu_program" $command --list-options 2>/dev/null)
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$current")
        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    fi
    return 0
}

complete -F _criu criu
