# SPDX-License-Identifier: GPL-2.0-only
"""Draws a sample of test cases by a seed, for runs without time for all."""

import math
import random


def draw(cases, labels_of, seed, share, labels_share=1):
    """Returns a share (0 to 1) of the cases, in their order.

    Each label has a case in the sample; with `labels_share` (0 to 1), only this share of the labels, which the seed
    draws. `labels_of(case)` returns the labels of a case, such as its program and its mode. The same seed draws the
    same cases from the same list.
    """
    shuffled = list(range(len(cases)))
    generator = random.Random(seed)
    generator.shuffle(shuffled)
    labels = {at: set(labels_of(cases[at])) for at in shuffled}
    if labels_share < 1:
        every = sorted(set().union(*labels.values()))
        wanted = set(generator.sample(every, math.ceil(labels_share * len(every))))
        labels = {at: each & wanted for at, each in labels.items()}
    chosen, seen = set(), set()
    for at in shuffled:
        if labels[at] - seen:
            chosen.add(at)
            seen |= labels[at]
    wanted = math.ceil(share * len(cases))
    chosen.update([at for at in shuffled if at not in chosen][:max(0, wanted - len(chosen))])
    return [cases[at] for at in sorted(chosen)]
