// SPDX-License-Identifier: GPL-2.0-only
#include <fmt/ranges.h>

#include <set>
#include <string>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/model/options.hpp"
#include "images/fdinfo.hpp"
#include "images/pipe.hpp"
#include "images/regfile.hpp"
#include "images/sk-inet.hpp"
#include "images/sk-unix.hpp"

/// Names of --inherit-fd.
namespace criu::engine {

void RestoredFiles::warnOfUnknownNames() const {
    std::set<std::string, std::less<>> names(usedNames_);
    std::vector<std::string> outside;
    for (const auto& [id, entry] : content_.files) {
        if (entry->reg != nullptr) {
            const std::string_view name = entry->reg->name;
            names.emplace(name);
            names.emplace(name.substr(name.starts_with('/') ? 1 : 0));
        } else if (entry->pipe != nullptr) {
            const auto known = names.insert(fmt::format("pipe:[{}]", entry->pipe->pipe_id));
            if (entry->pipe->outside != 0 && known.second)
                outside.push_back(*known.first);
        } else if (entry->usk != nullptr) {
            names.insert(fmt::format("socket:[{}]", entry->usk->ino));
        } else if (entry->isk != nullptr) {
            names.insert(fmt::format("socket:[{}]", entry->isk->ino));
        }
    }
    for (const model::InheritFd& given : options_.inheritFds)
        // Names of terminals differ from the names of their files.
        if (!names.contains(given.name) && !given.name.starts_with("tty["))
            log_.warn("--inherit-fd fd[{}]:{}: the images have nothing of that name{}{}", given.fd, given.name,
                      outside.empty() ? "" : "; what led out of the tree is ", fmt::join(outside, ", "));
}

}  // namespace criu::engine
