// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/dump_images.hpp"

#include "criu/base/error.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/parent_images.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

ImageDir openDumpImages(Run& run) {
    ImageDir images = takeImages(run);
    if (run.options.checksum.value_or(false))
        images.takeChecksums();
    if (run.options.previousImages) {
        linkParentImages(run, images);
        if (areEncrypted(*images.parent()))
            fail("the images in {} are encrypted: what builds on them has to be, too (--encrypt)",
                 images.parent()->name());
    }
    return images;
}

}  // namespace criu::engine
