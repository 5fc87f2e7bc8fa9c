// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/engine.hpp"
#include "criu/engine/lazy/lazy_restore.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::engine {

std::shared_ptr<LazyRestore> PlannedRestore::startLazyRestore() {
    if (options().lazyPages)
        return std::make_shared<LazyRestore>(content, surroundings.ids.isOwnNamespace(), run.stop, log());
    if (options().mapPages)
        return std::make_shared<LazyRestore>(content, images, surroundings.ids.isOwnNamespace(), run.stop, log());
    requireAllPages(content);
    return nullptr;
}

}  // namespace criu::engine
