// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/image_limits.hpp"

#include <sys/sysinfo.h>

#include <string_view>

#include "criu/base/error.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {
namespace {

/// Throws Error if the images ask for more than an option allows. A limit of 0 allows any amount.
void requireAllowed(std::uint64_t wanted, std::uint64_t limit, std::string_view what, std::string_view option) {
    if (limit == 0 || wanted <= limit)
        return;
    Error error(0, fmt::format("the images ask for {} {}, but --{} allows {}", wanted, what, option, limit));
    error.addHint(fmt::format("raise --{} if you trust the images; 0 means no limit", option));
    throw error;
}

/// Returns the default of --max-memory. Processes may share pages that the images store once for each process, so the
/// sum over all processes may exceed the memory of the machine many times.
std::uint64_t defaultMemory() {
    constexpr std::uint64_t kTimes = 16;
    struct sysinfo machine {};
    sys(::sysinfo(&machine), "read the size of the machine's memory");
    return (static_cast<std::uint64_t>(machine.totalram) + machine.totalswap) * machine.mem_unit * kTimes;
}

}  // namespace

void requireCountsAllowed(const RestoreImages& content, const model::Options& options) {
    std::uint64_t processes = 0;
    for (const auto& task : content.tree.tasks)
        processes += task->alive() ? task->threads.size() : 1;
    requireAllowed(processes, options.maxProcesses, "processes and threads", "max-processes");
    std::uint64_t descriptors = 0;
    for (const auto& [id, table] : content.tree.fdTables)
        descriptors += table->slots.size();
    requireAllowed(descriptors, options.maxFiles, "descriptors", "max-files");
    requireAllowed(content.files.size(), options.maxFiles, "open files", "max-files");
}

void requireMemoryAllowed(const RestoreImages& content, std::uint64_t shared, const model::Options& options) {
    std::uint64_t bytes = shared;
    for (const auto& [pid, pages] : content.pages)
        pages->addPresentBytes(bytes);
    requireAllowed(bytes, options.maxMemory ? *options.maxMemory : defaultMemory(), "bytes of memory", "max-memory");
}

}  // namespace criu::engine
