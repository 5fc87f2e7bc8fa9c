// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/inherited_fds.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/model/options.hpp"
#include "images/fdinfo.hpp"
#include "images/pipe.hpp"
#include "images/regfile.hpp"
#include "images/sk-inet.hpp"
#include "images/sk-unix.hpp"

namespace criu::engine {

void InheritedFds::take(kernel::FdStore& store) {
    for (const model::InheritMark& mark : options_.inheritMarks)
        if (::write(mark.fd, mark.text.data(), mark.text.size()) < 0)
            failErrno("write the mark of --inherit-fd debug[{}]", mark.fd);
    for (const model::InheritFd& given : options_.inheritFds) {
        UniqueFd copy(sys(::fcntl(given.fd, F_DUPFD_CLOEXEC, 0), "take over fd {} ({})", given.fd, given.name));
        copies_.emplace(given.name, store.inherit(kernel::FdKey::Given, std::move(copy)));
    }
}

int InheritedFds::find(std::string_view name) const {
    const auto found = copies_.find(name);
    return found == copies_.end() ? -1 : found->second.get();
}

void InheritedFds::warnOfUnknownNames(const RestoreImages& content, Log& log) const {
    std::set<std::string, std::less<>> names(usedNames_);
    std::vector<std::string> outside;
    for (const auto& [id, entry] : content.files) {
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
        // Doesn't warn of names that begin with "tty[": --inherit-fd names a terminal in this way, but the images name
        // its file differently.
        if (!names.contains(given.name) && !given.name.starts_with("tty["))
            log.warn("--inherit-fd fd[{}]:{}: the images have nothing of that name{}{}", given.fd, given.name,
                     outside.empty() ? "" : "; what led out of the tree is ", fmt::join(outside, ", "));
}

}  // namespace criu::engine
