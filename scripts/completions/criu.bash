# SPDX-License-Identifier: GPL-2.0-only
# Completion for bash. Commands and options are asked of criu itself, so they are those of the installed version.

# Options that a help text ($1) names, each with its no-form if it has one.
_criu_options() {
    local line name
    while read -r line; do
        name=${line#*--}
        case $line in
        *'--[no-]'*)
            name=${name#\[no-\]}
            name=${name%%[ =\[]*}
            printf -- '--%s\n--no-%s\n' "$name" "$name"
            ;;
        *)
            printf -- '--%s\n' "${name%%[ =\[]*}"
            ;;
        esac
    done < <(grep -E '^  (-.,|   ) --' <<<"$1")
}

# What the argument of option $2 is called in help text $1, e.g. DIR.
_criu_argument() {
    local option=$2
    case $option in
    --*) option="--${option#--}" ;;
    -?) option="$option, " ;;
    *) return ;;
    esac
    grep -E '^  (-.,|   ) --' <<<"$1" | grep -F -e " $option" | head -n 1 |
        sed -nE 's/^ +(-., )?--[^ ]+ ([^ ]+).*/\2/p'
}

_criu() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local program=${COMP_WORDS[0]} command= help word
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
        dump | restore | check | pre-dump | lazy-pages | page-server | service | dedup) command=$word ;;
        esac
    done
    help=$("$program" $command --help 2>/dev/null) || return

    case $(_criu_argument "$help" "$previous") in
    DIR)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
        ;;
    FILE | PROGRAM)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    ?*)
        return
        ;;
    esac

    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_criu_options "$help")" -- "$current")
    elif [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "$(sed -nE '/^Commands:/,/^$/s/^  ([a-z-]+) .*/\1/p' <<<"$help")" -- "$current"
        )
    fi
}

complete -F _criu criu
