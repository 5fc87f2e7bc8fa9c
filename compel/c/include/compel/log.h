/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_LOG_H
#define COMPEL_LOG_H

#include <compel/common/compiler.h>
#include <compel/loglevels.h>
#include <stdarg.h>

COMPEL_BEGIN_C

/* Receives each line as a format with arguments. A line ends in a newline. */
typedef void (*compel_log_fn)(unsigned int level, const char* format, va_list arguments);

/* Sends lines up to `level` to `function`. Before this call, and with a null function, the library logs nothing. */
extern void compel_log_init(compel_log_fn function, unsigned int level);
extern unsigned int compel_log_get_loglevel(void);
/* Logs a line if its level isn't above the log level. */
extern void compel_print_on_level(unsigned int level, const char* format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

COMPEL_END_C

#endif
