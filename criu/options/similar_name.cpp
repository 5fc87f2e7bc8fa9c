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

/// Returns true if `name` begins with the first letter of `word` and has the other letters in the same order, as
/// "mem_dirty_track" has those of "memtrk".
bool isShortenedFrom(std::string_view word, std::string_view name) {
    if (word.empty() || name.empty() || word.front() != name.front())
        return false;
    for (const char letter : name)
        if (!word.empty() && letter == word.front())
            word.remove_prefix(1);
    return word.empty();
}

/// Returns the shortest of the names from which `word` may have been shortened; nullptr if there is none.
const std::string* longerName(std::string_view word, std::span<const std::string> names) {
    constexpr std::size_t kFewest = 4;  // fewer letters fit too many names
    const std::string* best = nullptr;
    if (word.size() >= kFewest)
        for (const std::string& name : names)
            if (isShortenedFrom(word, name) && (best == nullptr || name.size() < best->size()))
                best = &name;
    return best;
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
    if (best == nullptr)
        best = longerName(word, names);
    return best == nullptr ? std::string() : fmt::format("; did you mean {}{}?", prefix, *best);
}

}  // namespace criu::options
