/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_LOG_H
#define COMPEL_LOG_H

#include <compel/common/compiler.h>
#include <compel/loglevels.h>
#include <stdarg.h>

COMPEL_BEGIN_C

/* Function that writes one line of the log. The line is a format with arguments and ends with a newline. */
typedef void (*compel_log_fn)(unsigned int level, const char* format, va_list arguments);

/* Makes the library call `function` for each line of level `level` or below. Before this call, and with a null
 * `function`, the library logs nothing. */
extern void compel_log_init(compel_log_fn function, unsigned int level);
extern unsigned int compel_log_get_loglevel(void);
/* Logs a line if its level isn't above the log level. */
extern void compel_print_on_level(unsigned int level, const char* format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

COMPEL_END_C

#endif
