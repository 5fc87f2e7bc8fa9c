/* SPDX-License-Identifier: LGPL-2.1-only */
/* Text and memory functions for blobs. Formats may contain the conversions d i u x p s c %, the modifiers l and z, a
 * width and a leading zero. */
#ifndef COMPEL_PLUGINS_STD_STRING_H
#define COMPEL_PLUGINS_STD_STRING_H

#include <compel/common/compiler.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#ifndef STDIN_FILENO
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
#endif

COMPEL_BEGIN_C

extern void std_dputc(int fd, char c);
extern void std_dputs(int fd, const char* text);
extern void std_vdprintf(int fd, const char* format, va_list arguments);
extern void std_dprintf(int fd, const char* format, ...) __attribute__((__format__(__printf__, 2, 3)));

#define std_printf(format, ...) std_dprintf(STDOUT_FILENO, format, ##__VA_ARGS__)
#define std_puts(text) std_dputs(STDOUT_FILENO, text)
#define std_putchar(c) std_dputc(STDOUT_FILENO, c)

extern unsigned long std_strtoul(const char* text, char** end, int base);
extern int std_strcmp(const char* left, const char* right);
extern int std_strncmp(const char* left, const char* right, size_t count);

extern void* memcpy(void* to, const void* from, size_t count);
extern int memcmp(const void* left, const void* right, size_t count);
extern void* memset(void* to, int value, size_t count);

COMPEL_END_C

#endif
