/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_LOGLEVELS_H
#define COMPEL_LOGLEVELS_H

/* Level of a line of the log. A log level shows lines of its own and of all smaller levels. */
enum __compel_log_levels {
    COMPEL_LOG_MSG = 0, /* always shown */
    COMPEL_LOG_ERROR = 1,
    COMPEL_LOG_WARN = 2,
    COMPEL_LOG_INFO = 3,
    COMPEL_LOG_DEBUG = 4,
    COMPEL_DEFAULT_LOGLEVEL = COMPEL_LOG_WARN
};

#endif
