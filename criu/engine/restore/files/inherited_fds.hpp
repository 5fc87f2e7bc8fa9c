// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Descriptors that the user passed by --inherit-fd, with their names.
class InheritedFds {
public:
    /// `options` must outlive this object.
    explicit InheritedFds(const model::Options& options) : options_(options) {}

    /// Copies the descriptors into the service range. Throws Error.
    void take(kernel::FdStore& store);
    /// Returns the copy of the descriptor with this name; -1 for an unknown name.
    [[nodiscard]] int find(std::string_view name) const;

    /// Records that an object of the images has this name. Call it for objects that aren't files, such as namespaces.
    void noteUsedName(std::string_view name) { usedNames_.emplace(name); }
    /// Warns of names that match no object of the images. Call it after noteUsedName() for all objects that aren't
    /// files.
    void warnOfUnknownNames(const RestoreImages& content, Log& log) const;

private:
    const model::Options& options_;
    std::map<std::string, UniqueFd, std::less<>> copies_;
    std::set<std::string, std::less<>> usedNames_;
};

}  // namespace criu::engine
