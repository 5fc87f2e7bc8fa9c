// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstdint>

/// Results of interrupted system calls, which only the kernel and tracers see (include/linux/errno.h of Linux).
namespace compel {

inline constexpr std::int64_t restartByAction = -512;   // ERESTARTSYS
inline constexpr std::int64_t restartAlways = -513;     // ERESTARTNOINTR
inline constexpr std::int64_t restartNoHandler = -514;  // ERESTARTNOHAND
inline constexpr std::int64_t restartByBlock = -516;    // ERESTART_RESTARTBLOCK

}  // namespace compel
