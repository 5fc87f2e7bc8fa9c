// SPDX-License-Identifier: GPL-2.0-only
#pragma once
// linux/kfd_ioctl.h includes this name. Debian has the file only in libdrm.
#include <libdrm/drm.h>
