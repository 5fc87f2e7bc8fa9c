// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/unpacked_images.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/image_limits.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/spool.hpp"
#include "criu/kernel/confined_process.hpp"
#include "criu/kernel/landlock.hpp"
#include "criu/memory/pages/unpacked_pages.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/mount/file_archive.hpp"

namespace criu::engine {
namespace {

/// Converts all archives of a directory to lists of files, which have the same names in the spool `into`.
void unpackArchives(const ImageDir& images, const ImageDir& into, StopRequest& stop) {
    std::optional<namespaces::FileArchives> archives;
    for (const std::string& name : namesIn(images)) {
        const auto kind = imageKindOf(name);
        if (kind != ImageKind::Tmpfs && kind != ImageKind::TmpfsDev)
            continue;
        const auto archive = images.openNamed(name, O_RDONLY);
        if (!archive)
            continue;
        if (!archives)
            archives.emplace();
        const UniqueFd list = into.createNamed(name);
        kernel::runConfined(fmt::format("unpack {}/{}", images.name(), name), std::array{archive->get(), list.get()},
                            stop, [&] { archives->writeList(archive->get(), list.get()); });
    }
}

/// Returns true if a spool has no free memory. The error of a confined process is only a text.
bool isFull(const ImageDir& spool) noexcept {
    struct statvfs status {};
    return ::fstatvfs(spool.fd(), &status) == 0 && status.f_blocks != 0 && status.f_bavail == 0;
}

}  // namespace

void unpackConfined(ImageDir& images, const Run& run) {
    if (images.hasSupply())
        fail("--untrusted needs all images before the restore, and an external memory provider supplies them later");
    if (!kernel::hasLandlock())
        run.log.info("The kernel has no Landlock: only seccomp confines the processes that decode images");
    run.log.stage("unpack");
    const std::string name = fmt::format("the unpacked images of {}", images.name());
    ImageDir spool = makeSpool(mostMemory(run.options), name);
    try {
        memory::unpackPages(images, spool, run.stop);
        unpackArchives(images, spool, run.stop);
    } catch (Error& error) {
        if (isFull(spool))
            error.addHint("raise --max-memory if you trust the images; 0 means no limit");
        throw;
    }
    images.setUnpacked(std::move(spool));
}

}  // namespace criu::engine
