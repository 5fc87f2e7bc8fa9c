/* SPDX-License-Identifier: LGPL-2.1-only */
/* Short names for compiler attributes, and compile-time checks, for the other headers and for blobs. */
#ifndef COMPEL_COMMON_COMPILER_H
#define COMPEL_COMMON_COMPILER_H

#ifndef __used
#define __used __attribute__((__used__))
#endif
#ifndef __maybe_unused
#define __maybe_unused __attribute__((__unused__))
#endif
#ifndef __must_check
#define __must_check __attribute__((__warn_unused_result__))
#endif
#ifndef __packed
#define __packed __attribute__((__packed__))
#endif
#ifndef __aligned
#define __aligned(bytes) __attribute__((__aligned__(bytes)))
#endif
#ifndef noinline
#define noinline __attribute__((__noinline__))
#endif
#ifndef likely
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

/* Fails the compilation if the constant condition is true. */
#ifndef BUILD_BUG_ON
#define BUILD_BUG_ON(condition) ((void)sizeof(char[1 - 2 * !!(condition)]))
#endif

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif
#ifndef round_up
#define round_up(value, step) ((((value) + (step)-1) / (step)) * (step))
#endif

#ifdef __cplusplus
#define COMPEL_BEGIN_C extern "C" {
#define COMPEL_END_C }
#else
#define COMPEL_BEGIN_C
#define COMPEL_END_C
#endif

#endif
