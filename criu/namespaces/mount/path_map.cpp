// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/path_map.hpp"

namespace criu::namespaces {

std::vector<PathPrefix> prefixesOf(std::string_view path) {
    // Constants of FNV-1a. This hash works byte by byte, so that one pass yields the hashes of all prefixes.
    constexpr std::uint64_t kBasis = 0xcbf29ce484222325;
    constexpr std::uint64_t kPrime = 0x100000001b3;
    if (path == "/")
        path = {};
    std::vector<PathPrefix> prefixes;
    std::uint64_t hash = kBasis;
    for (std::size_t at = 0; at < path.size(); ++at) {
        if (path[at] == '/')
            prefixes.push_back({at, hash});
        hash = (hash ^ static_cast<unsigned char>(path[at])) * kPrime;
    }
    prefixes.push_back({path.size(), hash});
    return prefixes;
}

}  // namespace criu::namespaces
