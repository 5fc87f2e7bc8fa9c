// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/image_limits.hpp"

#include <sys/stat.h>
#include <sys/sysinfo.h>

#include <limits>
#include <set>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/files/ghost_file.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "images/remap-file-path.hpp"

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
/// sum over all processes may exceed the memory of the machine many times. With --untrusted, it may not.
std::uint64_t defaultMemory(const model::Options& options) {
    const std::uint64_t kTimes = options.untrusted ? 1 : 16;
    struct sysinfo machine {};
    sys(::sysinfo(&machine), "read the size of the machine's memory");
    return (static_cast<std::uint64_t>(machine.totalram) + machine.totalswap) * machine.mem_unit * kTimes;
}

std::uint64_t maxFiles(const model::Options& options) {
    return options.maxFiles.value_or(options.untrusted ? 65'536 : 4'194'304);
}

std::uint64_t maxProcesses(const model::Options& options) {
    return options.maxProcesses.value_or(options.untrusted ? 4'096 : 262'144);
}

}  // namespace

void requireCountsAllowed(const RestoreImages& content, const model::Options& options) {
    std::uint64_t processes = 0;
    for (const auto& task : content.tree.tasks)
        processes += task->alive() ? task->threads.size() : 1;
    requireAllowed(processes, maxProcesses(options), "processes and threads", "max-processes");
    std::uint64_t descriptors = 0;
    for (const auto& [id, table] : content.tree.fdTables)
        descriptors += table->slots.size();
    requireAllowed(descriptors, maxFiles(options), "descriptors", "max-files");
    requireAllowed(content.files.size(), maxFiles(options), "open files", "max-files");
}

std::uint64_t mostMemory(const model::Options& options) {
    return options.maxMemory ? *options.maxMemory : defaultMemory(options);
}

ImageAmounts::ImageAmounts(const model::Options& options)
    : mostBytes_(mostMemory(options)), mostFiles_(maxFiles(options)) {}

void ImageAmounts::addPrivateMemory(const RestoreImages& content) {
    std::uint64_t bytes = 0;
    for (const auto& [pid, pages] : content.pages)
        pages->addPresentBytes(bytes);
    addMemory(bytes);
}

void ImageAmounts::addMemory(std::uint64_t bytes) {
    if (__builtin_add_overflow(bytes_, bytes, &bytes_))
        bytes_ = std::numeric_limits<std::uint64_t>::max();
    requireAllowed(bytes_, mostBytes_, "bytes of memory and files", "max-memory");
}

void ImageAmounts::addFile(std::uint64_t bytes) {
    requireAllowed(++files_, mostFiles_, "files", "max-files");
    addMemory(bytes);
}

void ImageAmounts::addDeletedFiles(const ImageDir& images) {
    auto remaps = images.openRead(ImageKind::RemapFpath);
    if (!remaps)
        return;
    std::set<std::uint32_t> ids;
    for (const auto& remap : remaps->all<RemapFilePathEntry>())
        if (const auto id = files::ghostOf(*remap); id && ids.insert(*id).second) {
            const auto image = images.openRead(ImageKind::GhostFile, *id);
            if (!image)
                continue;  // the restore later reports the missing image of the ghost file
            // The image stores the content of a ghost file uncompressed and without holes, so it isn't smaller.
            struct stat status {};
            sys(::fstat(image->fd(), &status), "stat {}", image->name());
            addFile(static_cast<std::uint64_t>(status.st_size));
        }
}

}  // namespace criu::engine
