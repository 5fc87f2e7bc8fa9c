# SPDX-License-Identifier: GPL-2.0-only
# Lines of test/zdtm/run as results for test/vm/run. Programs that failed are tried again alone, and what happens then counts.
function say(state, name, line) {
    sub(/^(passed|failed|skipped) *[^ ]* ?/, "", line)
    print "::" state " " name (line == "" ? "" : " " line)
    fflush()
}
$1 ~ /^(passed|failed|skipped)$/ && $2 ~ /\/.*:/ {
    name = $2
    sub(/[:,]$/, "", name)
    if ($1 != "failed") {
        delete failed[name]
        say($1, name, $0)
    } else if (!(name in failed)) {
        failed[name] = $0
    }
}
END {
    for (name in failed)
        say("failed", name, failed[name])
}
