#compdef criu
# SPDX-License-Identifier: GPL-2.0-only
# Completion for zsh. It gets commands, options and values from criu itself, so they fit the installed version.

# Sets REPLY to the completion of an option's argument ($1: name of the argument, $2: of the option).
_criu_action() {
    local word list=""
    REPLY=" "
    case $1 in
        DIR) REPLY="_files -/" ;;
        FILE|PROGRAM) REPLY="_files" ;;
        PID) REPLY="_criu_pids" ;;
        NAME) [[ $2 == feature ]] && REPLY="_criu_features" ;;
        *"|"*|net)
            for word in ${(s:|:)1}; do
                case $word in
                    *:*) list+=" ${word%%:*}\\:" ;;
                    *[A-Z]*) ;;
                    *) list+=" $word" ;;
                esac
            done
            REPLY="(${list# })" ;;
    esac
}

# Prints specifications for _arguments of the options of a command, one per line.
_criu_specs() {
    local name letter no link argument text star suffix REPLY
    while IFS=$'\x1f' read -r name letter no link argument text; do
        text=${${${text//\[/(}//\]/)}//:/\\:}
        star=""
        [[ $text == *"may be repeated"* ]] && star="*"
        suffix="[$text]"
        _criu_action "$argument" $name
        case $link in
            attached) suffix+="::${argument//:/\\:}:$REPLY" ;;
            apart) suffix+=":${argument//:/\\:}:$REPLY" ;;
        esac
        case $link in
            attached) print -r -- "$star--$name=-$suffix" ;;
            apart) print -r -- "$star--$name=$suffix" ;;
            *) print -r -- "$star--$name$suffix" ;;
        esac
        [[ -n $no ]] && print -r -- "--no-${name}[not\\: $text]"
        case $letter/$link in
            ""/*) ;;
            */attached) print -r -- "$star-$letter-$suffix" ;;
            */apart) print -r -- "$star-$letter+$suffix" ;;
            *) print -r -- "$star-$letter$suffix" ;;
        esac
    done
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
    local service=${words[1]:-criu} command
    local -a specs commands names
    commands=(${(f)"$($service --list-options 2>/dev/null)"})
    names=(${(u)commands%% *})
    command=${words[(r)(${(j:|:)~names})]}
    [[ $command == cpuinfo ]] && command="cpuinfo ${words[(r)(dump|check)]:-dump}"
    [[ $command == stream ]] && command="stream ${words[(r)(pack|unpack)]:-pack}"
    if [[ -z $command ]]; then
        _arguments -s "1:command:($names)"
        return
    fi
    specs=("${(@f)$($service ${=command} --list-options 2>/dev/null | _criu_specs)}")
    if [[ $command == cpuinfo* ]]; then
        specs+=("1:command:(cpuinfo)" "2:action:(dump check)")
    elif [[ $command == stream* ]]; then
        specs+=("1:command:(stream)" "2:action:(pack unpack)")
    elif [[ $command == (explain|verify) ]]; then
        specs+=("1:command:($command)" "2:directory:_files -/")
    else
        specs+=("1:command:($command)")
    fi
    _arguments -s "${specs[@]}"
}

[[ ${funcstack[1]} == _criu ]] && _criu "$@"
