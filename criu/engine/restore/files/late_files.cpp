// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/late_files.hpp"

#include <sys/mman.h>

#include "criu/base/error.hpp"

namespace criu::engine {

void LateFiles::add(FileId id) {
    slots_.emplace(id, slots_.size());
}

void LateFiles::share() {
    if (slots_.empty())
        return;
    board_ = Mapping::anonymous(slots_.size() * sizeof(FileHolder), MAP_SHARED);
}

void LateFiles::announce(FileId id, const FileHolder& holder) const {
    board_.as<FileHolder>()[slots_.at(id)] = holder;  // other processes read this after the next barrier
}

std::optional<FileHolder> LateFiles::find(FileId id) const {
    const FileHolder holder = board_.as<FileHolder>()[slots_.at(id)];
    return holder.pid ? std::optional(holder) : std::nullopt;
}

}  // namespace criu::engine
