/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_PLUGINS_STD_FDS_H
#define COMPEL_PLUGINS_STD_FDS_H

#include <compel/common/scm.h>

#endif
