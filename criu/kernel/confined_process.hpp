// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace criu {
class StopRequest;
}

/// Process that decodes untrusted bytes. It can only use memory, and read and write the descriptors that it got:
/// - It has no other descriptors, and can't get any.
/// - A seccomp filter allows only calls that decoding needs. Another call kills the process (SECCOMP_RET_KILL_PROCESS).
///   Calls that open files fail with EACCES, because libc tries some files and works without them.
/// - It can't make memory executable, and shares no memory with criu that it could change. `work` must not use shared
///   memory, such as records in a RecordPool.
/// - It has no_new_privs, no capabilities, and a Landlock domain without rights, so that a hole in the filter isn't
///   enough to open a file.
namespace criu::kernel {

/// Throws Error if the kernel can't confine processes, because it lacks seccomp filters.
void requireConfinement();

/// Runs `work` in a new confined process, and waits for its end. `what`: the work, for messages ("decompress
/// pages-1.img"). `descriptors`: descriptors that the process keeps. `work` must not need other files or threads.
/// Libraries that it uses must be loaded. Throws Error with the message of `work` if `work` throws, if the kernel kills
/// the process, or if a stop is requested.
///
/// The process begins with a copy of the caller's memory. An exploited decoder can thus write secrets of this memory
/// into a descriptor of the list.
void runConfined(std::string_view what, std::span<const int> descriptors, StopRequest& stop,
                 const std::function<void()>& work);

}  // namespace criu::kernel
