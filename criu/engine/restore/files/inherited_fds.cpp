// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/inherited_fds.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/model/options.hpp"
#include "criu/options/similar_name.hpp"
#include "images/fdinfo.hpp"
#include "images/pipe.hpp"
#include "images/regfile.hpp"
#include "images/sk-inet.hpp"
#include "images/sk-unix.hpp"

namespace criu::engine {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Returns the end of a message about an unknown name: a name that is similar, or the first of the `likely` names.
std::string otherNames(std::string_view unknown, const Names& names, std::vector<std::string> likely) {
    constexpr std::size_t kMost = 8;
    const std::vector<std::string> all(names.begin(), names.end());
    if (std::string similar = options::didYouMean(unknown, all); !similar.empty() || likely.empty())
        return similar;
    const std::size_t more = likely.size() > kMost ? likely.size() - kMost : 0;
    likely.resize(likely.size() - more);
    return fmt::format("; they have {}{}", fmt::join(likely, ", "), more != 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

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
    if (options_.inheritFds.empty())
        return;
    Names names(usedNames_);
    std::vector<std::string> likely;   // without programs and libraries, which are open for reading
    std::vector<std::string> outside;  // names of pipes whose other end was outside of the tree
    const auto add = [&](std::string name) {
        const auto known = names.insert(std::move(name));
        if (known.second)
            likely.push_back(*known.first);
        return known;
    };
    for (const auto& [id, entry] : content.files) {
        if (entry->reg != nullptr) {
            const std::string_view name = entry->reg->name;
            if ((entry->reg->flags & O_ACCMODE) == O_RDONLY)
                names.emplace(name);
            else
                add(std::string(name));
            names.emplace(name.substr(name.starts_with('/') ? 1 : 0));
        } else if (entry->pipe != nullptr) {
            const auto known = add(fmt::format("pipe:[{}]", entry->pipe->pipe_id));
            if (entry->pipe->outside != 0 && known.second)
                outside.push_back(*known.first);
        } else if (entry->usk != nullptr) {
            add(fmt::format("socket:[{}]", entry->usk->ino));
        } else if (entry->isk != nullptr) {
            add(fmt::format("socket:[{}]", entry->isk->ino));
        }
    }
    for (const model::InheritFd& given : options_.inheritFds)
        // Doesn't warn of names that begin with "tty[": --inherit-fd names a terminal in this way, but the images name
        // its file differently.
        if (!names.contains(given.name) && !given.name.starts_with("tty["))
            log.warn("--inherit-fd fd[{}]:{}: the images have nothing of that name{} (crit x DIR fds shows all names)",
                     given.fd, given.name,
                     outside.empty() ? otherNames(given.name, names, likely)
                                     : fmt::format("; what led out of the tree is {}", fmt::join(outside, ", ")));
}

}  // namespace criu::engine
