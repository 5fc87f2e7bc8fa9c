// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_images.hpp"

#include <fcntl.h>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/engine.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

ImageDir openDumpImages(Run& run) {
    ImageDir images = takeImages(run);
    if (run.options.checksum.value_or(false))
        images.takeChecksums();
    if (!run.options.previousImages)
        return images;
    const std::string& previous = *run.options.previousImages;
    if (previous.starts_with('/'))
        run.log.warn("The earlier images {} are found by an absolute path: they can't be moved any more", previous);
    {
        const auto rights = images.takeRights();
        const UniqueFd there(sys(::openat(images.fd(), previous.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC),
                                 "open the earlier images {} (relative to {})", previous, images.name()));
    }
    images.linkParent(previous);
    images.openParents();
    return images;
}

}  // namespace criu::engine
