// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Descriptors of --inherit-fd, by their names.
class InheritedFds {
public:
    /// `options` outlives this object.
    explicit InheritedFds(const model::Options& options) : options_(options) {}

    /// Copies the descriptors to the service range. Throws Error.
    void take(kernel::FdStore& store);
    /// Returns the copy of a descriptor; -1 for an unknown name.
    [[nodiscard]] int find(std::string_view name) const;

    /// Records that an object that isn't a file, such as a namespace, uses a name.
    void noteUsedName(std::string_view name) { usedNames_.emplace(name); }
    /// Warns about names that match nothing in the images. Objects that aren't files must have been recorded by
    /// noteUsedName().
    void warnOfUnknownNames(const RestoreImages& content, Log& log) const;

private:
    const model::Options& options_;
    std::map<std::string, UniqueFd, std::less<>> copies_;
    std::set<std::string, std::less<>> usedNames_;
};

}  // namespace criu::engine
