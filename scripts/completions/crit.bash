# SPDX-License-Identifier: GPL-2.0-only
# Completion for bash. It gets commands, options and views from crit itself, so they fit the installed version.

# Prints the words that crit's help ($1...: words before --help) offers in braces or as options or commands.
_crit_words() {
    "$_crit_program" "$@" --help 2>/dev/null | awk '
        /^    [a-z]/ { print $1 }
        /^  -/ { gsub(",", " "); for (i = 1; i <= NF; i++) if ($i ~ /^-/) print $i }
        match($0, /\{[a-z,]+\}/) {
            count = split(substr($0, RSTART + 1, RLENGTH - 2), words, ",")
            for (i = 1; i <= count; i++) print words[i]
        }'
}

_crit() {
    local _crit_program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} command="" words=()
    local at=1
    while ((at < COMP_CWORD)) && [[ ${COMP_WORDS[at]} == -* ]]; do
        ((at++))
    done
    ((at < COMP_CWORD)) && command=${COMP_WORDS[at]}
    COMPREPLY=()
    if [[ $command == x && $current != -* ]] && ((COMP_CWORD == at + 2)); then
        mapfile -t words < <(_crit_words x | grep -v '^-')
    elif [[ $command != "" && $current != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    else
        mapfile -t words < <(_crit_words ${command:+"$command"})
        [[ $current == -* ]] || mapfile -t words < <(printf '%s\n' "${words[@]}" | grep -v '^-')
    fi
    mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$current")
}

complete -o filenames -F _crit crit
