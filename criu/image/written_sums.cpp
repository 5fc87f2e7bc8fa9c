// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/written_sums.hpp"

#include <utility>

namespace criu {

void WrittenSums::add(FileSum file) {
    const std::lock_guard lock(mutex_);
    std::string name = file.name;
    files_.insert_or_assign(std::move(name), std::move(file));
}

void WrittenSums::forget(const std::string& name) {
    const std::lock_guard lock(mutex_);
    files_.erase(name);
}

std::optional<FileSum> WrittenSums::find(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto file = files_.find(name);
    return file == files_.end() ? std::nullopt : std::optional(file->second);
}

std::vector<FileSum> WrittenSums::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<FileSum> files;
    for (const auto& [name, file] : files_)
        files.push_back(file);
    return files;
}

}  // namespace criu
