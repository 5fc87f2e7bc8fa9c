// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/retried_files.hpp"

#include <sys/mman.h>

#include "criu/base/error.hpp"

namespace criu::engine {

void RetriedFiles::add(FileId id) {
    slots_.emplace(id, slots_.size());
}

void RetriedFiles::share() {
    if (slots_.empty())
        return;
    board_ = Mapping::anonymous(slots_.size() * sizeof(FileHolder), MAP_SHARED);
}

void RetriedFiles::announce(FileId id, const FileHolder& holder) const {
    board_.as<FileHolder>()[slots_.at(id)] = holder;  // other processes read it after the next barrier
}

std::optional<FileHolder> RetriedFiles::find(FileId id) const {
    const FileHolder holder = board_.as<FileHolder>()[slots_.at(id)];
    return holder.pid ? std::optional(holder) : std::nullopt;
}

}  // namespace criu::engine
