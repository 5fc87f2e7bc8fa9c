// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/birth_shares.hpp"

#include <algorithm>

namespace criu::model {

BirthShares divideBirths(std::span<const TreePid> children, unsigned cores,
                         const std::function<bool(TreePid)>& isPlain) {
    BirthShares result;
    std::vector<TreePid> plain;
    for (const TreePid child : children)
        (isPlain(child) ? plain : result.single).push_back(child);
    const std::size_t shares = std::min<std::size_t>(cores, plain.size() / kLeastShare);
    if (shares < 2) {
        result.single.assign(children.begin(), children.end());
        return result;
    }
    result.shares.resize(shares);
    for (std::size_t i = 0; i < plain.size(); ++i)
        result.shares[i % shares].push_back(plain[i]);
    return result;
}

}  // namespace criu::model
