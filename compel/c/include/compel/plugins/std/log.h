/* SPDX-License-Identifier: LGPL-2.1-only */
/* Log of a blob. */
#ifndef COMPEL_PLUGINS_STD_LOG_H
#define COMPEL_PLUGINS_STD_LOG_H

#include <compel/common/compiler.h>
#include <compel/loglevels.h>
#include <sys/time.h>

#define STD_LOG_SIMPLE_CHUNK 256

COMPEL_BEGIN_C

/* Sets the descriptor of the log, which the blob then owns. Closes the descriptor that was set before. */
extern void std_log_set_fd(int fd);
extern void std_log_set_loglevel(enum __compel_log_levels level);
/* Sets the time that counts as 0 in the timestamps of log lines. */
extern void std_log_set_start(struct timeval* start);

typedef int (*gettimeofday_t)(struct timeval* tv, struct timezone* tz);
/* Sets the function that reads the clock. Null means the system call gettimeofday(2). */
extern void std_log_set_gettimeofday(gettimeofday_t function);
extern int std_gettimeofday(struct timeval* tv, struct timezone* tz);

/* Writes `number` as text to the end of a buffer. Returns the number of characters including the terminating zero.
 * `begin`: gets the start of the text. */
extern int std_vprint_num(char* buffer, int size, int number, char** begin);
extern void std_sprintf(char output[STD_LOG_SIMPLE_CHUNK], const char* format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
extern void print_on_level(unsigned int level, const char* format, ...) __attribute__((__format__(__printf__, 2, 3)));

COMPEL_END_C

#endif
