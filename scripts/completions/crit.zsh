#compdef crit
# SPDX-License-Identifier: GPL-2.0-only
# Completion for zsh. It gets commands, options and views from crit itself, so they fit the installed version.

_crit() {
    local service=${words[1]:-crit} command name letter argument text suffix
    local -a specs alone
    command=${words[(r)(decode|encode|info|show|x|explain)]}
    # Lines of options have fields; commands and views stand alone.
    while IFS=$'\x1f' read -r name letter argument text; do
        if [[ -z $text ]]; then
            alone+=($name)
            continue
        fi
        text=${${${text//\[/(}//\]/)}//:/\\:}
        case $argument in
            "") suffix="" ;;
            PATH) suffix=":$argument:_files -/" ;;
            *) suffix=":$argument:_files" ;;
        esac
        specs+=("--${name}${argument:+=}[$text]$suffix")
        [[ -n $letter ]] && specs+=("-${letter}${argument:++}[$text]$suffix")
    done < <($service $command --list-options 2>/dev/null)
    case $command in
        "")
            specs+=("1:command:($alone)") ;;
        x)
            specs+=("1:command:(x)" "2:directory:_files -/" "3:view:($alone)") ;;
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
