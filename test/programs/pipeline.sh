#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pipeline with a slow producer: subshells, functions, child processes that come and go. It ends by itself and leaves
# the sum of all lines in `sum`, the number of lines in `count`.
produce() {
    for ((i = 1; i <= 150; ++i)); do
        seq "$i" 40 100000 | sed "s/^/line $i: /"
        if ((i == 3)); then echo READY >&2; fi
        sleep 0.02
    done
}

produce | tee >(wc -l >count) | gzip -c | gunzip -c | sha256sum >sum
# tee's reader is not waited for by the pipeline.
while [[ ! -s count ]]; do sleep 0.05; done
echo PASS
