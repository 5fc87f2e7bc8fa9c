// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/dedup.hpp"

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/engine.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/pages/page_dedup.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

int dedup(Run& run) {
    ImageDir images = takeImages(run);
    if (!images.exists(ImageKind::Inventory))
        failWith(ENOENT, "{} has no inventory: a dump that isn't complete may need all of its parents", images.name());
    images.openParents();
    if (images.parent() == nullptr)
        failWith(ENOENT, "{} has no earlier images (a link 'parent')", images.name());
    const std::uint64_t freed = memory::freeReplacedPages(images, [&run] { run.stop.throwIfRequested(); });
    run.log.info("Deduplicated: {} KiB in earlier images are replaced", freed >> 10);
    return 0;
}

void dedupParents(const ImageDir& images, Run& run) noexcept {
    if (!run.options.autoDedup || images.parent() == nullptr)
        return;
    try {
        const std::uint64_t freed = memory::freeReplacedPages(images, [&run] { run.stop.throwIfRequested(); });
        run.log.info("Deduplicated: {} KiB in earlier images are replaced", freed >> 10);
    } catch (const std::exception& error) {
        run.log.warn("Earlier images aren't deduplicated: {}", error.what());
    }
}

}  // namespace criu::engine
