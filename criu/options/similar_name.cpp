// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/similar_name.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace criu::options {
namespace {

/// Returns the number of letters to insert, remove, replace or swap to change `one` into `other`.
std::size_t distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> before;
    std::vector<std::size_t> last(other.size() + 1);
    std::iota(last.begin(), last.end(), 0);
    for (std::size_t i = 1; i <= one.size(); ++i) {
        std::vector<std::size_t> row(other.size() + 1, i);
        for (std::size_t j = 1; j <= other.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::move(last);
        last = std::move(row);
    }
    return last.back();
}

}  // namespace

std::string didYouMean(std::string_view word, std::span<const std::string> names, std::string_view prefix) {
    constexpr std::size_t kLongest = 64;
    if (word.size() > kLongest)
        return {};
    const std::size_t most = std::max<std::size_t>(1, word.size() / 4);
    const std::string* best = nullptr;
    std::size_t least = most + 1;
    for (const std::string& name : names)
        if (const std::size_t steps = distance(word, name); steps < least) {
            least = steps;
            best = &name;
        }
    return best == nullptr ? std::string() : fmt::format("; did you mean {}{}?", prefix, *best);
}

}  // namespace criu::options
