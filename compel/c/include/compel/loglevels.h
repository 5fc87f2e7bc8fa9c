/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_LOGLEVELS_H
#define COMPEL_LOGLEVELS_H

/* Levels of log lines. The library shows lines whose level is at most the log level. */
enum __compel_log_levels {
    COMPEL_LOG_MSG = 0, /* always shown */
    COMPEL_LOG_ERROR = 1,
    COMPEL_LOG_WARN = 2,
    COMPEL_LOG_INFO = 3,
    COMPEL_LOG_DEBUG = 4,
    COMPEL_DEFAULT_LOGLEVEL = COMPEL_LOG_WARN
};

#endif
