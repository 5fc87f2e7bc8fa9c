/* SPDX-License-Identifier: LGPL-2.1-only */
/* Functions for sets of signals in the kernel's format, where bit n-1 is signal n. */
#ifndef COMPEL_KSIGSET_H
#define COMPEL_KSIGSET_H

#include <compel/plugins/std/asm/syscall-types.h>

static inline void ksigfillset(k_rtsigset_t* set) {
    for (int word = 0; word < _KNSIG_WORDS; word++)
        set->sig[word] = ~(uint64_t)0;
}

static inline void ksigemptyset(k_rtsigset_t* set) {
    for (int word = 0; word < _KNSIG_WORDS; word++)
        set->sig[word] = 0;
}

static inline void ksigaddset(k_rtsigset_t* set, int signal) {
    set->sig[(signal - 1) / _NSIG_BPW] |= (uint64_t)1 << ((signal - 1) % _NSIG_BPW);
}

static inline void ksigdelset(k_rtsigset_t* set, int signal) {
    set->sig[(signal - 1) / _NSIG_BPW] &= ~((uint64_t)1 << ((signal - 1) % _NSIG_BPW));
}

#endif
