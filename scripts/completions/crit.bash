# SPDX-License-Identifier: GPL-2.0-only
# Completion for bash. It gets commands, options and views from crit itself, so they fit the installed version.

_crit() {
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} command="" words=() options=()
    local at=1
    while ((at < COMP_CWORD)) && [[ ${COMP_WORDS[at]} == -* ]]; do
        ((at++))
    done
    ((at < COMP_CWORD)) && command=${COMP_WORDS[at]}
    COMPREPLY=()
    local name rest
    # Lines of options have fields; commands and views stand alone.
    while IFS=$'\037' read -r name rest; do
        [[ $rest ]] && options+=("--$name") || words+=("$name")
    done < <("$program" ${command:+"$command"} --list-options 2>/dev/null)
    if [[ $current == -* ]]; then
        words=("${options[@]}")
    elif [[ $command != "" && ! ($command == x && COMP_CWORD -eq $((at + 2))) ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$current")
}

complete -o filenames -F _crit crit
